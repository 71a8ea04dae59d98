"""What denoisers make of noise and how fast: the tables of docs/denoiser.md, in Markdown."""

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from skimage.restoration import denoise_wavelet
from torch import Tensor

from superstar.actions import Denoiser, UNet, denoise, packaged_denoiser, read_denoiser
from superstar.classifiers import accuracy, load_named
from superstar.datasets import LabelledFilesDataset, LabelledImagesDataset
from superstar.decoding import read_image
from superstar.images import from_uint8, stream, to_uint8
from superstar.jpeg import through_jpeg
from superstar.splitting import split_by_class
from superstar.training import supports_bfloat16

PUBLISHED_SIGMAS = (15, 25, 35, 50, 75)
CLIPPED_SIGMAS = (15, 25, 50, 100)
GAUSSIAN_NOISE = (0.0, 0.08, 0.12, 0.18, 0.26, 0.38)
"""None, and the strengths of ImageNet-C's five severities."""
CLASSIFIER = "efficientnet_lite0"
SMALL_IMAGES = 5000
"""Of CIFAR-100's test images, the first."""
JPEG_QUALITY = 85
QUALITIES = (None, JPEG_QUALITY)
CROP, RESIZE = 224, 256
REPEATS = 5

Method = Callable[[Tensor, float], Tensor]
"""Noisy images (N, 3, H, W) and the true sigma of 255, of which only some make use."""


def unclipped(model: Denoiser, images: Tensor) -> Tensor:
    """The network itself, for noise that is not clipped."""
    half = torch.autocast("cpu", torch.bfloat16, enabled=supports_bfloat16())
    with torch.inference_mode(), half:
        return model(images.contiguous(memory_format=torch.channels_last)).float().clamp(0, 1)


def non_local_means(images: Tensor, sigma: float) -> Tensor:
    """OpenCV's for colour images, told the noise's strength."""
    pictures = [
        cv2.fastNlMeansDenoisingColored(picture, None, sigma, sigma, 7, 21)
        for picture in to_uint8(images)
    ]
    return from_uint8(np.stack(pictures))


def bayes_shrink(images: Tensor, sigma: float) -> Tensor:
    """scikit-image's, which estimates the noise."""
    restored = [
        denoise_wavelet(image, convert2ycbcr=True, channel_axis=2, rescale_sigma=True)
        for image in images.permute(0, 2, 3, 1).numpy()
    ]
    return torch.from_numpy(np.stack(restored)).permute(0, 3, 1, 2).float().clamp(0, 1)


def psnr(images: Tensor, clean: Tensor) -> Tensor:
    """Of each image, in dB, in float64."""
    errors = (images.double() - clean.double()).square().mean((1, 2, 3))
    return -10 * errors.log10()


def published_table(
    folders: Sequence[Path], denoisers: Mapping[str, Denoiser], reference: Path | None
) -> pd.DataFrame:
    """Mean PSNR on whole images with Gaussian noise that is not clipped, beside published ones."""
    rows = []
    for folder in folders:
        pictures = [from_uint8(read_image(path)[None]) for path in sorted(folder.iterdir())]
        for sigma in PUBLISHED_SIGMAS:
            row: dict[str, object] = {"images": folder.name, "sigma": sigma}
            if reference is not None:
                row |= _reference(reference, folder.name, sigma)
            for name, model in denoisers.items():
                reached = []
                for number, clean in enumerate(pictures):
                    noise = stream(0, "noise", sigma, number).standard_normal(clean.shape)
                    noisy = clean + torch.from_numpy(noise).float() * (sigma / 255)
                    reached.append(psnr(unclipped(model, noisy), clean).item())
                row[name] = round(float(np.mean(reached)), 2)
            rows.append(row)
    return pd.DataFrame(rows)


def _reference(path: Path, images: str, sigma: int) -> dict[str, float]:
    table = pd.read_csv(path)
    rows = table[(table["data"].str.lower() == images) & (table["sigma"] == sigma)]
    return dict(zip(rows["method"], rows["psnr"], strict=True))


def stored(clean: Tensor, sigma: float, quality: int | None) -> Tensor:
    """With Gaussian noise of sigma of 255, clipped, rounded to 8 bits, and as JPEG if so."""
    noise = stream(0, "noise", round(sigma)).standard_normal(clean.shape, dtype=np.float32)
    noisy = from_uint8(to_uint8((clean + torch.from_numpy(noise) * (sigma / 255)).clamp(0, 1)))
    return noisy if quality is None else through_jpeg(noisy, quality)


def clipped_table(clean: Tensor, methods: Mapping[str, Method]) -> pd.DataFrame:
    """Mean PSNR on images with noise clipped to 8 bits, through JPEG and not."""
    rows = []
    for quality in QUALITIES:
        for sigma in CLIPPED_SIGMAS:
            noisy = stored(clean, sigma, quality)
            row: dict[str, object] = {"jpeg": quality or "none", "sigma": sigma}
            row["noisy"] = round(psnr(noisy, clean).mean().item(), 2)
            for name, method in methods.items():
                row[name] = round(psnr(method(noisy, sigma), clean).mean().item(), 2)
            rows.append(row)
    return pd.DataFrame(rows)


def accuracy_table(
    clean: Tensor, labels: NDArray[np.int64], actions: Mapping[str, Method]
) -> pd.DataFrame:
    """Accuracy of the classifier in percent on noisy JPEG images, always with the action."""
    classifier = load_named(CLASSIFIER, CROP)
    rows = []
    for sigma in GAUSSIAN_NOISE:
        noisy = stored(clean, 255 * sigma, JPEG_QUALITY)
        seen = {"noisy": noisy, **{name: on(noisy, sigma) for name, on in actions.items()}}
        reached = {name: accuracy(classifier, each, labels) for name, each in seen.items()}
        percent = {name: round(100 * share, 1) for name, share in reached.items()}
        rows.append({"sigma": sigma, **percent})
    return pd.DataFrame(rows)


def unchanged_table(sets: Mapping[str, Tensor], actions: Mapping[str, Method]) -> pd.DataFrame:
    """How many clean images come back as they are, bit by bit."""
    rows = []
    for name, clean in sets.items():
        for quality in QUALITIES:
            images = clean if quality is None else through_jpeg(clean, quality)
            row: dict[str, object] = {"clean": name, "jpeg": quality or "none", "of": len(images)}
            for action, on in actions.items():
                row[action] = int((on(images, 0.0) == images).flatten(1).all(1).sum())
            rows.append(row)
    return pd.DataFrame(rows)


def speed_table(images: Tensor, methods: Mapping[str, Method]) -> pd.DataFrame:
    """Time of an image on one thread, the methods in turn, each one's best."""
    best = dict.fromkeys(methods, np.inf)
    for _ in range(REPEATS):
        for name, method in methods.items():
            started = time.thread_time()
            method(images, 25.0)
            best[name] = min(best[name], time.thread_time() - started)
    rows = [
        {
            "denoiser": name,
            "ms an image": round(1000 * seconds / len(images), 1),
            "images a second": round(len(images) / seconds, 1),
        }
        for name, seconds in best.items()
    ]
    return pd.DataFrame(rows)


def float32(model: Denoiser, images: Tensor, sigma: float) -> Tensor:
    """In float32, as on processors without bfloat16."""
    with torch.inference_mode():
        return model(images.contiguous(memory_format=torch.channels_last)).clamp(0, 1)


def named(pairs: Iterable[str], enlarge: int = 1) -> dict[str, Denoiser]:
    """Denoisers by name from NAME=FILE; `enlarge` is for published ones."""
    given = [pair.partition("=") for pair in pairs]
    return {name: read_denoiser(path, enlarge) for name, _, path in given}


def _action(model: Denoiser) -> Method:
    return lambda images, sigma: denoise(model, images)


def _network(model: Denoiser) -> Method:
    return lambda images, sigma: torch.cat([unclipped(model, part) for part in images.split(3)])


def _test_images(folder: Path, names: Path, count: int) -> tuple[Tensor, NDArray[np.int64]]:
    """Of classes that environment imagenet tests on, as conf/imagenet_sample.yml parts them."""
    files = LabelledFilesDataset(folder=str(folder), classes=str(names)).load()().design
    tested = np.flatnonzero(~split_by_class(files.labels, 300, 0))
    chosen = files.take(tested[:: max(1, len(tested) // count)][:count])
    pictures = [read_image(files.folder / name, RESIZE, CROP) for name in chosen.names]
    return from_uint8(np.stack(pictures)), chosen.labels


def _small_images(folder: Path) -> Tensor:
    images = LabelledImagesDataset(folder=str(folder)).load()().test
    return images.take(slice(0, SMALL_IMAGES)).batch()


def _print(table: pd.DataFrame) -> None:
    print(table.to_markdown(index=False), end="\n\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.denoiser", description=__doc__)
    parser.add_argument("--whole", type=Path, nargs="*", default=[], help="folders of test images")
    parser.add_argument("--reference", type=Path, help="published figures as CSV")
    parser.add_argument("--imagenet", type=Path, help="folder of classes, for its test classes")
    parser.add_argument("--classes", type=Path, help="list of all classes")
    parser.add_argument("--images", type=int, default=200, help="of ImageNet")
    parser.add_argument("--cifar100", type=Path, help="folder of CIFAR-100")
    parser.add_argument(
        "--also", nargs="*", default=[], metavar="NAME=FILE", help="denoisers of a run, say"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    denoisers: dict[str, Denoiser] = {"packaged": packaged_denoiser(), **named(given.also)}
    actions = {f"{name}, action": _action(model) for name, model in denoisers.items()}
    if given.whole:
        _print(published_table(given.whole, denoisers, given.reference))
    clean_sets = {}
    if given.imagenet is not None:
        clean, labels = _test_images(given.imagenet, given.classes, given.images)
        clean_sets["ImageNet"] = clean
        others: dict[str, Method] = {
            "OpenCV non-local means": non_local_means,
            "BayesShrink of scikit-image": bayes_shrink,
        }
        # A DnCNN has no gate: its action takes off all that it finds.
        gated = {name: model for name, model in denoisers.items() if isinstance(model, UNet)}
        whole = {f"{name}, network": _network(model) for name, model in gated.items()}
        plain = {f"{name}, float32": partial(float32, model) for name, model in denoisers.items()}
        _print(clipped_table(clean, whole | actions | others))
        _print(speed_table(clean[:8], actions | plain | others))
        _print(accuracy_table(clean, labels, actions))
    if given.cifar100 is not None:
        clean_sets["CIFAR-100"] = _small_images(given.cifar100)
    if clean_sets:
        _print(unchanged_table(clean_sets, actions))


if __name__ == "__main__":
    main()
