"""Image patches of the photographs that ship inside scikit-image and scikit-learn.

The protocol of texture classification on Brodatz's album: a patch's label is the photograph it
was cut from. Each photograph is cut into five bands across its longer side with a gap between
neighbours, so that no pixel is seen by two splits; training bands stand on both sides of the
held-out ones, so that what these show is not new. Patches are native pixels: neither rescaled nor
flipped nor rotated, which keeps the statistics of photographs. Training may mirror them left to
right, which leaves a photograph plausible; turning would not, and rescaling changes the statistics.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import skimage
import sklearn
from numpy.typing import NDArray
from PIL import Image

from superstar.errors import InputError, check_name
from superstar.images import SMALLEST_SIDE, ImageSet, stream
from superstar.integers import whole

_SKIMAGE = Path(skimage.__file__).parent / "data"
_SKLEARN = Path(sklearn.__file__).parent / "datasets" / "images"
_FILES = {
    "astronaut": _SKIMAGE / "astronaut.png",
    "brick": _SKIMAGE / "brick.png",
    "camera": _SKIMAGE / "camera.png",
    "chelsea": _SKIMAGE / "chelsea.png",
    "china": _SKLEARN / "china.jpg",
    "coffee": _SKIMAGE / "coffee.png",
    "coins": _SKIMAGE / "coins.png",
    "flower": _SKLEARN / "flower.jpg",
    "grass": _SKIMAGE / "grass.png",
    "gravel": _SKIMAGE / "gravel.png",
    "hubble": _SKIMAGE / "hubble_deep_field.jpg",
    "ihc": _SKIMAGE / "ihc.png",
    "moon": _SKIMAGE / "moon.png",
    "motorcycle": _SKIMAGE / "motorcycle_left.png",
    "retina": _SKIMAGE / "retina.jpg",
    "rocket": _SKIMAGE / "rocket.jpg",
    "text": _SKIMAGE / "text.png",
}
PHOTO_NAMES = tuple(_FILES)
"""Names of the photographs; a label is an index into this tuple."""

SPLITS = ("train", "validation", "test")
PHOTO_COUNTS = {"train": 6800, "validation": 2000, "test": 1020}
LAYOUT = ("train", "validation", "train", "test", "train")
"""The split of each band, from left to right or from top to bottom."""


@dataclass(frozen=True)
class Band:
    """A rectangle of a photograph that belongs to one split, in pixels."""

    split: str
    top: int
    left: int
    height: int
    width: int


@cache
def load_photo(name: str) -> NDArray[np.uint8]:
    """A photograph in colour; one in shades of gray comes with three equal channels.

    Args:
        name: one of `PHOTO_NAMES`.

    Returns:
        Read-only uint8 (H, W, 3).

    Raises:
        InputError: no such photograph, or the installed scikit-image or scikit-learn lacks it.
    """
    check_name("photograph", name, PHOTO_NAMES)
    try:
        with Image.open(_FILES[name]) as file:
            pixels = np.array(file.convert("RGB"))
    except OSError as error:
        raise InputError(
            f"photograph {name!r} cannot be read from {_FILES[name]}: "
            "reinstall scikit-image and scikit-learn"
        ) from error
    pixels.setflags(write=False)
    return pixels


def photo_bands(height: int, width: int, size: int, gap: int) -> tuple[Band, ...]:
    """The bands of a photograph: five of equal extent across its longer side, as in `LAYOUT`.

    Args:
        height: of the photograph, in pixels.
        width: of the photograph, in pixels.
        size: side of the patches; every band takes at least one.
        gap: pixels between neighbouring bands that belong to none.

    Raises:
        InputError: a negative gap, or a photograph too small for patches of that size.
    """
    gap = whole(gap, "gap")
    extent = (max(height, width) - (len(LAYOUT) - 1) * gap) // len(LAYOUT)
    if min(extent, height, width) < size:
        raise InputError(
            f"a photograph of {height}x{width} has no room for bands of {size}x{size} patches "
            f"with gaps of {gap}: choose a smaller size or gap"
        )
    starts = [place * (extent + gap) for place in range(len(LAYOUT))]
    if height > width:
        return tuple(
            Band(split, start, 0, extent, width)
            for split, start in zip(LAYOUT, starts, strict=True)
        )
    return tuple(
        Band(split, 0, start, height, extent) for split, start in zip(LAYOUT, starts, strict=True)
    )


def patch_positions(
    size: int = 64,
    counts: Mapping[str, int] = PHOTO_COUNTS,
    seed: int = 0,
    gap: int = 8,
) -> dict[str, NDArray[np.int64]]:
    """Where the patches of each split lie: photograph, top and left, int64 (N, 3).

    Photographs take turns, so any run of consecutive patches is balanced to within one. No
    position occurs twice. Arguments and errors are those of `photo_patches`.
    """
    for split in counts:
        check_name("split", split, SPLITS)
    size = whole(size, "size", SMALLEST_SIDE)
    positions = {}
    for split, count in counts.items():
        count = whole(count, f"the count of {split}", 1)
        rows = np.empty((count, 3), dtype=np.int64)
        for label, name in enumerate(PHOTO_NAMES):
            turns = np.arange(label, count, len(PHOTO_NAMES))
            height, width = load_photo(name).shape[:2]
            bands = photo_bands(height, width, size, gap)
            corners = _corners([band for band in bands if band.split == split], size)
            if len(turns) > len(corners):
                raise InputError(
                    f"photograph {name!r} has {len(corners)} {split} patches of {size}x{size}, "
                    f"but {len(turns)} are asked for: choose a smaller count or size"
                )
            drawn = stream(seed, "photo_patches", split, name).permutation(len(corners))
            rows[turns, 0] = label
            rows[turns, 1:] = corners[drawn[: len(turns)]]
        positions[split] = rows
    return positions


def photo_patches(
    size: int = 64,
    counts: Mapping[str, int] = PHOTO_COUNTS,
    seed: int = 0,
    gap: int = 8,
) -> dict[str, ImageSet]:
    """Patches of the embedded photographs, labelled by photograph.

    Args:
        size: side of the patches in pixels, at least 16.
        counts: number of patches of each split; splits are `train`, `validation`, `test`.
        seed: a patch depends on it, the split and its own place in the split alone.
        gap: least distance in pixels between patches of different splits.

    Returns:
        For each split asked for, its patches: uint8 (N, size, size, 3), labels 0 to 16 in turn.

    Raises:
        InputError: an unknown split, a count below 1, or a size, gap or count for which the
            photographs have no room.
    """
    sets = {}
    for split, positions in patch_positions(size, counts, seed, gap).items():
        images = np.empty((len(positions), size, size, 3), dtype=np.uint8)
        for label, name in enumerate(PHOTO_NAMES):
            chosen = np.flatnonzero(positions[:, 0] == label)
            windows = np.lib.stride_tricks.sliding_window_view(
                load_photo(name), (size, size), (0, 1)
            )
            tops, lefts = positions[chosen, 1], positions[chosen, 2]
            images[chosen] = windows[tops, lefts].transpose(0, 2, 3, 1)
        sets[split] = ImageSet(images, positions[:, 0].copy())
    return sets


def _corners(bands: list[Band], size: int) -> NDArray[np.int64]:
    """Top and left of every patch that lies within one of the bands: int64 (N, 2)."""
    grids = [
        np.mgrid[
            band.top : band.top + band.height - size + 1,
            band.left : band.left + band.width - size + 1,
        ].reshape(2, -1)
        for band in bands
    ]
    return np.concatenate(grids, axis=1).T
