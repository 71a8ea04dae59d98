"""Changes of light and colour of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and returns float32 of the same
shape. Changes of value or saturation in HSV need no hue: a channel is V · (1 - S · w), where w
in [0, 1] depends on the hue alone and is the same before and after.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


def brightness(images: NDArray[np.float32], offset: float) -> NDArray[np.float32]:
    """Add `offset` to the value of HSV, at most to 1."""
    value = images.max(axis=1, keepdims=True)
    relative = np.divide(images, value, out=np.ones_like(images), where=value > 0)
    relative *= np.minimum(value + np.float32(offset), 1)
    return relative


def saturate(images: NDArray[np.float32], factor: float, offset: float) -> NDArray[np.float32]:
    """Take the saturation S of HSV to factor · S + offset, kept in [0, 1].

    Gray pixels have hue 0, so a positive offset tints them red.
    """
    value = images.max(axis=1, keepdims=True)
    chroma = value - images.min(axis=1, keepdims=True)
    red = np.array([0, 1, 1], dtype=np.float32).reshape(1, 3, 1, 1)
    depth = np.broadcast_to(red, images.shape).copy()
    np.divide(value - images, chroma, out=depth, where=chroma > 0)
    saturation = np.divide(chroma, value, out=np.zeros_like(value), where=value > 0)
    saturation = np.clip(saturation * np.float32(factor) + np.float32(offset), 0, 1)
    return value - value * saturation * depth


def contrast(images: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Keep `share` of each value's distance from the mean of its image's channel."""
    out = np.empty_like(images)
    flat = (images.shape[0] * images.shape[1], -1)
    _contract(images.reshape(flat), np.float32(share), out.reshape(flat))
    return out


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _mean(values: NDArray[np.float32]) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total / len(values)


@njit(cache=True, nogil=True)
def _contract(planes: NDArray[np.float32], share: np.float32, out: NDArray[np.float32]) -> None:
    for p in range(len(planes)):
        plane, contracted = planes[p], out[p]
        mean = np.float32(_mean(plane))
        for i in range(len(plane)):
            contracted[i] = (plane[i] - mean) * share + mean
