"""Which images go through what, as in the authors' release."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from pyarrow import ArrowException

from superstar.errors import InputError
from superstar.images import stream
from superstar.measures import Projection

Images = NDArray[np.uint8]
Indices = NDArray[np.int64]

SEED = 0
DRAWS = 10
SIDE, CROP, QUALITY = 256, 224, 85
MOST_STATES = 2000
"""Images that the released states were taken over."""
MOST_POINTS = 1000
"""Images on each side of the released distances."""
CIFAR_OVERLAP = 10
"""One in so many images of CIFAR-100 stands on both sides of a distance."""
KERNELS = (5, 6)
"""Kernels of the median blur between which the released entropy on ImageNet lies."""

_SUFFIXES = {".jpeg", ".jpg", ".png"}


@dataclass(frozen=True)
class Setup:
    """A data set made ready.

    Attributes:
        benchmark: its name in the released tables.
        constants: whose constants `corrupt` takes.
        validation: clean images V of the distances, uint8 (N, H, W, 3).
        originals: the same images before they are corrupted, uint8 (N, H, W, 3).
        served: from corrupted 8-bit images to those that are measured.
        strengths: instead of the preset, by surrogate and severity.
        kernels: of the median blur, tried beside the preset.
        projection: of the distances.
        for_states: positions of the images that the states are taken over.
        draws: positions of the clean and of the shifted images of each distance.
    """

    benchmark: str
    constants: str
    validation: Images
    originals: Images
    served: Callable[[Images], Images]
    projection: Projection
    for_states: Indices
    draws: Sequence[tuple[Indices, Indices]]
    strengths: Mapping[tuple[str, int], float] = field(default_factory=dict)
    kernels: tuple[int, ...] = ()


def imagenet_files(folder: Path) -> list[Path]:
    """The images of `<folder>/<wnid>/`, 2,000 of them at random if there are more.

    Raises:
        InputError: the folder is missing, or holds fewer than two images.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} with ImageNet images")
    files = sorted(path for path in folder.glob("*/*") if path.suffix.lower() in _SUFFIXES)
    if len(files) < 2:
        raise InputError(f"{folder} holds {len(files)} images in <wnid>/: two are needed at least")
    return [files[i] for i in _some(len(files))]


def imagenet(files: Sequence[Path], draws: int = DRAWS) -> Setup:
    """ImageNet as the release treats it: clean images are resized without antialiasing; shifted
    ones with, then they are corrupted, saved as JPEG, and resized once more without.

    Raises:
        InputError: a file is not an image.
    """
    clean, originals = [], []
    for file in files:
        image = _decode(file, str(file))
        clean.append(_resized(np.asarray(image)))
        scale = SIDE / min(image.size)
        size = (round(image.width * scale), round(image.height * scale))
        originals.append(_cropped(np.asarray(image.resize(size, Image.Resampling.BILINEAR))))
    points = min(MOST_POINTS, len(files) // 2)
    return Setup(
        benchmark="imagenet",
        constants="imagenet",
        validation=np.stack(clean),
        originals=np.stack(originals),
        served=lambda images: np.stack([_resized(_through_jpeg(image)) for image in images]),
        projection=Projection.create(
            "dct",
            n=CROP**2,
            m=5000,
            seed=SEED,
            mean=(0.485, 0.456, 0.406),
            std=(0.229, 0.224, 0.225),
        ),
        for_states=np.arange(len(files)),
        draws=_draws(len(files), points, shared=0, draws=draws),
        strengths={("uniform_noise", 4): 0.5},
        kernels=KERNELS,
    )


def cifar100(folder: Path, draws: int = DRAWS) -> Setup:
    """CIFAR-100 as the release treats it, with mean and standard deviation of CIFAR-10.

    Args:
        folder: holds the test images as `*test*.parquet` with a column `img{bytes, path}`.
        draws: distances for each shift.

    Raises:
        InputError: the folder or its test images are missing or not such a table.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} with CIFAR-100")
    files = sorted(folder.glob("*test*.parquet"))
    if not files:
        raise InputError(f"{folder} holds no *test*.parquet with CIFAR-100's test images")
    return cifar100_setup(np.concatenate([read_parquet_images(file) for file in files]), draws)


def cifar100_setup(images: Images, draws: int = DRAWS) -> Setup:
    """Images of CIFAR-100 as the release treats them: uint8 (N, 32, 32, 3)."""
    points = int(min(MOST_POINTS, len(images) / (2 - 1 / CIFAR_OVERLAP)))
    return Setup(
        benchmark="cifar100",
        constants="cifar",
        validation=images,
        originals=images,
        served=lambda images: images,
        projection=Projection.create(
            "dct",
            n=32**2,
            m=100,
            seed=SEED,
            mean=[value / 255 for value in (125.3, 123.0, 113.9)],
            std=[value / 255 for value in (63.0, 62.1, 66.7)],
        ),
        for_states=_some(len(images)),
        draws=_draws(len(images), points, shared=points // CIFAR_OVERLAP, draws=draws),
    )


def _some(count: int) -> Indices:
    """Positions of the images to take: all, or 2,000 of them at random, in order."""
    chosen = stream(SEED, "agreement", "images").permutation(count)[:MOST_STATES]
    return np.sort(chosen)


def _draws(count: int, size: int, shared: int, draws: int) -> list[tuple[Indices, Indices]]:
    """`size` images on either side, `shared` of them on both."""
    orders = [stream(SEED, "agreement", "draw", k).permutation(count) for k in range(draws)]
    return [(order[:size], order[size - shared : 2 * size - shared]) for order in orders]


def _decode(source: Path | io.BytesIO, name: str) -> Image.Image:
    try:
        with Image.open(source) as image:
            return image.convert("RGB")
    except OSError as error:
        raise InputError(f"{name} is not an image ({error})") from error


def read_parquet_images(file: Path) -> Images:
    """The images of a table of the Hugging Face hub, uint8 (N, 32, 32, 3).

    Raises:
        InputError: no such table, or images of other sizes.
    """
    try:
        rows = pd.read_parquet(file, columns=["img"])["img"]
        encoded = [row["bytes"] for row in rows]
    except (OSError, ArrowException, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{file} is no table with a column img{{bytes, path}} ({reason})"
        ) from None
    images = [
        np.asarray(_decode(io.BytesIO(content), f"{file}, row {i}"))
        for i, content in enumerate(encoded)
    ]
    if len(images) < 2 or {image.shape for image in images} != {(32, 32, 3)}:
        raise InputError(f"{file} must hold two images at least, all of 32x32 pixels")
    return np.stack(images)


def _resized(image: Images) -> Images:
    """Shorter side to 256 without antialiasing, then the central 224 x 224."""
    height, width = image.shape[:2]
    scale = SIDE / min(height, width)
    size = (round(width * scale), round(height * scale))
    resized = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    return _cropped(np.asarray(resized, np.uint8))


def _cropped(image: Images) -> Images:
    top, left = (image.shape[0] - CROP) // 2, (image.shape[1] - CROP) // 2
    return image[top : top + CROP, left : left + CROP]


def _through_jpeg(image: Images) -> Images:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=QUALITY)
    return np.asarray(Image.open(file))
