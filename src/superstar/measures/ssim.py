"""Structural similarity (Z. Wang et al., IEEE TIP 2004), as the reward uses it (paper, section 4).

Gaussian window of 11 pixels and sigma 1.5, K1 = 0.01, K2 = 0.03, only windows that lie within the
image, each channel on its own, mean over all.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError
from superstar.images import check_images

WINDOW = 11
SIGMA = 1.5
K1, K2 = 0.01, 0.03

_OFFSETS = np.arange(WINDOW) - WINDOW // 2
_KERNEL = np.exp(-0.5 * (_OFFSETS / SIGMA) ** 2)
_KERNEL = (_KERNEL / _KERNEL.sum()).astype(np.float32)


@njit(cache=True, parallel=True, fastmath={"contract"})
def _plane_means(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    kernel: NDArray[np.float32],
    c1: float,
    c2: float,
) -> NDArray[np.float64]:
    """Mean SSIM of each pair of planes (P, H, W)."""
    planes, height, width = a.shape
    taps = kernel.shape[0]
    out_height, out_width = height - taps + 1, width - taps + 1
    half = np.float32(0.5)
    luminance_floor, structure_floor = np.float32(c1), np.float32(c2)
    means = np.empty(planes)
    for p in prange(planes):
        # Both factors are taken from one: with d = a - b their shortfalls are
        # mean(d)² / (mean(a)² + mean(b)² + c1) and var(d) / (var(a) + var(b) + c2), exactly 0 for
        # equal planes and precise where SSIM is close to 1. Moments are about mid-gray, 0.5, so
        # that variances lose less to rounding.
        products = np.empty((4, height, width), dtype=np.float32)
        for y in range(height):
            for x in range(width):
                u, v = a[p, y, x] - half, b[p, y, x] - half
                products[0, y, x] = u
                products[1, y, x] = u - v
                products[2, y, x] = u * u + v * v
                products[3, y, x] = (u - v) * (u - v)
        row = np.empty(width, dtype=np.float32)
        moments = np.empty((4, out_width), dtype=np.float32)
        total = 0.0
        for y in range(out_height):
            for m in range(4):
                row[:] = 0
                for k in range(taps):
                    weight, source = kernel[k], products[m, y + k]
                    for x in range(width):
                        row[x] += weight * source[x]
                moment = moments[m]
                moment[:] = 0
                for k in range(taps):
                    weight, shifted = kernel[k], row[k : k + out_width]
                    for x in range(out_width):
                        moment[x] += weight * shifted[x]
            for x in range(out_width):
                mean_a, difference = moments[0, x], moments[1, x]
                mean_b = mean_a - difference
                variances = moments[2, x] - mean_a * mean_a - mean_b * mean_b
                change = max(moments[3, x] - difference * difference, np.float32(0))
                mean_a += half
                mean_b += half
                luminances = mean_a * mean_a + mean_b * mean_b
                luminance = difference * difference / (luminances + luminance_floor)
                structure = change / (max(variances, np.float32(0)) + structure_floor)
                moments[0, x] = luminance + structure - luminance * structure
            for x in range(out_width):
                total += moments[0, x]
        means[p] = 1 - total / (out_height * out_width)
    return means


def ssim(a: Tensor, b: Tensor, data_range: float = 1.0) -> float:
    """Mean structural similarity of two batches, image by image.

    Args:
        a: float32 (N, 3, H, W) in [0, 1].
        b: the same shape.
        data_range: the L of the constants (K1·L)² and (K2·L)². 1 is the textbook's choice for
            images in [0, 1]. The paper's rewards rest on 255 with images in [0, 1]: the constants
            then dominate, every value lies near 0.99, and λ = 20 and ω = 0.994 fit only so.

    Returns:
        The mean over images and channels, in [−1, 1]; 1 for equal batches.

    Raises:
        InputError: not batches of images, different shapes, or a data range not above 0.
    """
    check_images(a, "the first images")
    check_images(b, "the second images")
    if a.shape != b.shape:
        raise InputError(f"SSIM compares like with like, not {tuple(a.shape)} and {tuple(b.shape)}")
    # Below this the constants vanish in float32, and flat images give 0 / 0.
    if not 1e-6 <= data_range < float("inf"):
        raise InputError(f"data_range must be a number of at least 1e-6, not {data_range}")
    first, second = (x.detach().cpu().flatten(0, 1).contiguous().numpy() for x in (a, b))
    c1, c2 = (K1 * data_range) ** 2, (K2 * data_range) ** 2
    return float(_plane_means(first, second, _KERNEL, c1, c2).mean())
