"""Contrast-limited adaptive histogram equalisation (K. Zuiderveld, 1994; paper, appendix E)."""

import cv2
import numpy as np
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.images import check_images

CHUNK_PIXELS = 2**19
"""Pixels that are equalised together: what they need stays in the processor's cache."""


@njit(cache=True, parallel=True)
def _quantise(images: NDArray[np.float32], planes: NDArray[np.uint8]) -> None:
    """Images (N, 3, H, W) in [0, 1] to the nearest of 256 levels, one plane a channel."""
    count, channels, height, width = images.shape
    for n in prange(count):
        for c in range(channels):
            for y in range(height):
                for x in range(width):
                    planes[c, n, y, x] = np.uint8(np.rint(images[n, c, y, x] * np.float32(255)))


@njit(cache=True, parallel=True, error_model="numpy")
def _restore(planes: NDArray[np.uint8], images: NDArray[np.float32]) -> None:
    """The reverse of `_quantise`: values k/255."""
    count, channels, height, width = images.shape
    for n in prange(count):
        for c in range(channels):
            for y in range(height):
                for x in range(width):
                    images[n, c, y, x] = np.float32(planes[c, n, y, x]) / np.float32(255)


def clahe(images: Tensor, grid: int, clip_limit: float) -> Tensor:
    """Equalise the lightness of each image, tile by tile.

    Images are rounded to 8 bits, and equalised on the L channel of 8-bit Lab.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        grid: tiles along each side. (The paper's "tile size" is a count in the release.)
        clip_limit: highest bar of a tile's histogram, in units of its mean.

    Returns:
        The same shape, values k/255.

    Raises:
        InputError: not a batch of images.
    """
    check_images(images)
    pixels = images.detach().cpu().contiguous().numpy()
    count, _, height, width = pixels.shape
    equalised = np.empty(pixels.shape, dtype=np.float32)
    equaliser = cv2.createCLAHE(clipLimit=clip_limit, tileGridSize=(grid, grid))
    step = max(1, CHUNK_PIXELS // (height * width))
    for start in range(0, count, step):
        part = pixels[start : start + step]
        planes = np.empty((3, len(part), height, width), dtype=np.uint8)
        _quantise(part, planes)
        # Colour conversion looks at single pixels: the images pass as one tall image.
        tall = [plane.reshape(-1, width) for plane in planes]
        lab = cv2.cvtColor(cv2.merge(tall), cv2.COLOR_RGB2LAB)
        lightness = cv2.extractChannel(lab, 0)
        for plane in lightness.reshape(len(part), height, width):
            equaliser.apply(plane, plane)
        cv2.insertChannel(lightness, lab, 0)
        cv2.split(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), tall)
        _restore(planes, equalised[start : start + step])
    return torch.from_numpy(equalised).to(images.device)
