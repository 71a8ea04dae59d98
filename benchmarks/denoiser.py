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

from superstar.actions import Denoiser, denoise, packaged_denoiser, read_denoiser
from superstar.datasets import LabelledFilesDataset
from superstar.decoding import read_image
from superstar.images import from_uint8, stream, to_uint8
from superstar.jpeg import through_jpeg
from superstar.splitting import split_by_class
from superstar.training import supports_bfloat16

PUBLISHED_SIGMAS = (15, 25, 35, 50, 75)
CLIPPED_SIGMAS = (15, 25, 50, 100)
JPEG_QUALITY = 85
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


def clipped_table(clean: Tensor, methods: Mapping[str, Method]) -> pd.DataFrame:
    """Mean PSNR on images with noise clipped to 8 bits, through JPEG and not."""
    rows = []
    for quality in (None, JPEG_QUALITY):
        for sigma in CLIPPED_SIGMAS:
            noise = stream(0, "noise", sigma).standard_normal(clean.shape, dtype=np.float32)
            noisy = (clean + torch.from_numpy(noise) * (sigma / 255)).clamp(0, 1)
            noisy = from_uint8(to_uint8(noisy))
            if quality is not None:
                noisy = through_jpeg(noisy, quality)
            row: dict[str, object] = {"jpeg": quality or "none", "sigma": sigma}
            row["noisy"] = round(psnr(noisy, clean).mean().item(), 2)
            for name, method in methods.items():
                row[name] = round(psnr(method(noisy, sigma), clean).mean().item(), 2)
            rows.append(row)
    return pd.DataFrame(rows)


def speed_table(images: Tensor, methods: Mapping[str, Method]) -> pd.DataFrame:
    """Images a second on one thread, the methods in turn, each one's best."""
    best = dict.fromkeys(methods, np.inf)
    for _ in range(REPEATS):
        for name, method in methods.items():
            started = time.thread_time()
            method(images, 25.0)
            best[name] = min(best[name], time.thread_time() - started)
    speeds = {name: round(len(images) / seconds, 1) for name, seconds in best.items()}
    return pd.DataFrame({"denoiser": speeds.keys(), "images a second": speeds.values()})


def float32(model: Denoiser, images: Tensor, sigma: float) -> Tensor:
    """In float32, as on processors without bfloat16."""
    with torch.inference_mode():
        return model(images.contiguous(memory_format=torch.channels_last)).clamp(0, 1)


def _named(pairs: Iterable[str]) -> dict[str, Denoiser]:
    return {name: read_denoiser(path) for name, _, path in (p.partition("=") for p in pairs)}


def _method(model: Denoiser) -> Method:
    return lambda images, sigma: denoise(model, images)


def _network(model: Denoiser) -> Method:
    return lambda images, sigma: torch.cat([unclipped(model, part) for part in images.split(3)])


def _test_images(folder: Path, names: Path, count: int) -> NDArray[np.uint8]:
    """Of classes that environment imagenet tests on, as conf/imagenet_sample.yml parts them."""
    files = LabelledFilesDataset(folder=str(folder), classes=str(names)).load()().design
    tested = files.take(np.flatnonzero(~split_by_class(files.labels, 300, 0)))
    chosen = tested.names[:: max(1, len(tested) // count)][:count]
    return np.stack([read_image(files.folder / name, RESIZE, CROP) for name in chosen])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.denoiser", description=__doc__)
    parser.add_argument("--whole", type=Path, nargs="*", default=[], help="folders of test images")
    parser.add_argument("--reference", type=Path, help="published figures as CSV")
    parser.add_argument("--imagenet", type=Path, help="folder of classes, for its test classes")
    parser.add_argument("--classes", type=Path, help="list of all classes")
    parser.add_argument("--images", type=int, default=100, help="of ImageNet")
    parser.add_argument("--also", nargs="*", default=[], metavar="NAME=FILE", help="denoisers")
    given = parser.parse_args()
    torch.set_num_threads(1)
    denoisers: dict[str, Denoiser] = {"packaged": packaged_denoiser(), **_named(given.also)}
    if given.whole:
        print(published_table(given.whole, denoisers, given.reference).to_markdown(index=False))
    if given.imagenet is not None:
        clean = from_uint8(_test_images(given.imagenet, given.classes, given.images))
        methods: dict[str, Method] = {
            f"{name}, action": _method(model) for name, model in denoisers.items()
        }
        whole = {f"{name}, network": _network(model) for name, model in denoisers.items()}
        others: dict[str, Method] = {
            "OpenCV non-local means": non_local_means,
            "BayesShrink of scikit-image": bayes_shrink,
        }
        print(clipped_table(clean, whole | methods | others).to_markdown(index=False))
        plain = {f"{name}, float32": partial(float32, model) for name, model in denoisers.items()}
        print(speed_table(clean[:8], methods | plain | others).to_markdown(index=False))


if __name__ == "__main__":
    main()
