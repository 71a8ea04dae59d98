"""Structural similarity (Z. Wang et al., IEEE TIP 2004), as the reward uses it (paper, section 4).

Gaussian window of 11 pixels and sigma 1.5, K1 = 0.01, K2 = 0.03, only windows that lie within the
image, each channel on its own, mean over all.
"""

from math import inf

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError
from superstar.images import check_images

WINDOW = 11
SIGMA = 1.5
K1, K2 = 0.01, 0.03
SMALLEST_DATA_RANGE = 1e-6
"""Below this the constants vanish in single precision, and flat images give 0 / 0."""

_OFFSETS = np.arange(WINDOW) - WINDOW // 2
_KERNEL = np.exp(-0.5 * (_OFFSETS / SIGMA) ** 2)
_KERNEL = (_KERNEL / _KERNEL.sum()).astype(np.float32)
_W0, _W1, _W2, _W3, _W4, _W5 = (np.float32(weight) for weight in _KERNEL[: WINDOW // 2 + 1])

_MOMENTS = 4

# Loops below touch seven arrays at most: of more, the compiler will not check that they do not
# overlap, and so not use vector instructions.


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _products(
    a: NDArray[np.float32], b: NDArray[np.float32], products: NDArray[np.float32]
) -> None:
    """Products of two rows about mid-gray: u, u - v, u² + v², (u - v)²."""
    half = np.float32(0.5)
    means, differences, squares, changes = products[0], products[1], products[2], products[3]
    for x in range(a.shape[0]):
        means[x] = a[x] - half
    for x in range(a.shape[0]):
        differences[x] = a[x] - b[x]
    for x in range(a.shape[0]):
        u, v = a[x] - half, b[x] - half
        squares[x] = u * u + v * v
    for x in range(a.shape[0]):
        changes[x] = differences[x] * differences[x]


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _across(values: NDArray[np.float32], means: NDArray[np.float32]) -> None:
    """Weighted means of the windows of a row, which is `WINDOW` - 1 longer than the means."""
    for x in range(means.shape[0]):
        means[x] = (
            _W0 * (values[x] + values[x + 10])
            + _W1 * (values[x + 1] + values[x + 9])
            + _W2 * (values[x + 2] + values[x + 8])
            + _W3 * (values[x + 3] + values[x + 7])
            + _W4 * (values[x + 4] + values[x + 6])
            + _W5 * values[x + 5]
        )


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _down(ring: NDArray[np.float32], oldest: int, means: NDArray[np.float32]) -> None:
    """Weighted means of the eleven rows of a ring."""
    r0, r1, r2 = ring[oldest], ring[(oldest + 1) % WINDOW], ring[(oldest + 2) % WINDOW]
    r3, r4 = ring[(oldest + 3) % WINDOW], ring[(oldest + 4) % WINDOW]
    r5, r6 = ring[(oldest + 5) % WINDOW], ring[(oldest + 6) % WINDOW]
    r7, r8 = ring[(oldest + 7) % WINDOW], ring[(oldest + 8) % WINDOW]
    r9, r10 = ring[(oldest + 9) % WINDOW], ring[(oldest + 10) % WINDOW]
    for x in range(means.shape[0]):
        means[x] = _W0 * (r0[x] + r10[x]) + _W1 * (r1[x] + r9[x]) + _W2 * (r2[x] + r8[x])
    for x in range(means.shape[0]):
        means[x] += _W3 * (r3[x] + r7[x]) + _W4 * (r4[x] + r6[x]) + _W5 * r5[x]


@njit(cache=True, fastmath={"reassoc"})
def _sum(values: NDArray[np.float32]) -> float:
    total = 0.0
    for x in range(values.shape[0]):
        total += values[x]
    return total


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _shortfall(
    moments: NDArray[np.float32], c1: np.float32, c2: np.float32, shortfall: NDArray[np.float32]
) -> None:
    """1 - SSIM of the windows of a row, from their moments (see `_plane_mean`)."""
    half, zero = np.float32(0.5), np.float32(0)
    means, differences, squares, changes = moments[0], moments[1], moments[2], moments[3]
    for x in range(shortfall.shape[0]):
        mean_a, difference = means[x], differences[x]
        mean_b = mean_a - difference
        variances = max(squares[x] - mean_a * mean_a - mean_b * mean_b, zero)
        # Between 0 and twice the variances, where rounding does not have its way.
        change = min(max(changes[x] - difference * difference, zero), variances + variances)
        mean_a += half
        mean_b += half
        # l + s - l·s, of luminance l = square / luminances and structure s, in one division.
        square = difference * difference
        luminances = mean_a * mean_a + mean_b * mean_b + c1
        structures = variances + c2
        shortfall[x] = (square * (structures - change) + change * luminances) / (
            luminances * structures
        )


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _plane_mean(
    a: NDArray[np.float32], b: NDArray[np.float32], c1: np.float32, c2: np.float32
) -> float:
    """Mean SSIM of two planes (H, W).

    Both factors of SSIM are taken from one: with d = a - b their shortfalls are
    mean(d)² / (mean(a)² + mean(b)² + c1) and var(d) / (var(a) + var(b) + c2), exactly 0 for equal
    planes and precise where SSIM is close to 1. Moments are about mid-gray, 0.5, so that
    variances lose less to rounding. A row is read once; what its windows need stays in the
    processor's nearest cache, eleven rows of means.
    """
    height, width = a.shape
    columns = width - WINDOW + 1
    products = np.empty((_MOMENTS, width), dtype=np.float32)
    rings = np.empty((_MOMENTS, WINDOW, columns), dtype=np.float32)
    moments = np.empty((_MOMENTS, columns), dtype=np.float32)
    shortfall = np.empty(columns, dtype=np.float32)
    total = 0.0
    for y in range(height):
        _products(a[y], b[y], products)
        for m in range(_MOMENTS):
            _across(products[m], rings[m, y % WINDOW])
        if y < WINDOW - 1:
            continue
        for m in range(_MOMENTS):
            _down(rings[m], (y + 1) % WINDOW, moments[m])
        _shortfall(moments, c1, c2, shortfall)
        total += _sum(shortfall)
    return 1 - total / ((height - WINDOW + 1) * columns)


@njit(cache=True, parallel=True)
def _plane_means(
    a: NDArray[np.float32], b: NDArray[np.float32], c1: np.float32, c2: np.float32
) -> NDArray[np.float64]:
    """Mean SSIM of each pair of planes (P, H, W)."""
    means = np.empty(a.shape[0])
    for p in prange(a.shape[0]):
        means[p] = _plane_mean(a[p], b[p], c1, c2)
    return means


def ssim(a: Tensor, b: Tensor, data_range: float = 1.0) -> float:
    """Mean structural similarity of two batches, image by image.

    Args:
        a: float32 (N, 3, H, W) in [0, 1].
        b: the same shape.
        data_range: the L of the constants (K1·L)² and (K2·L)². 1 is the textbook's choice for
            images in [0, 1]. The paper's rewards rest on 255 with images in [0, 1]: the constants
            then dominate, every value lies near 0.99, and λ = 20 and ω = 0.994 fit only so.
            Below 0.1 the constants drown in the rounding of single precision.

    Returns:
        The mean over images and channels, in [−1, 1]; 1 for equal batches.

    Raises:
        InputError: not batches of images, different shapes, or a data range not above 0.
    """
    check_images(a, "the first images")
    check_images(b, "the second images")
    if a.shape != b.shape:
        raise InputError(f"SSIM compares like with like, not {tuple(a.shape)} and {tuple(b.shape)}")
    if not SMALLEST_DATA_RANGE <= data_range < inf:
        raise InputError(
            f"data_range must be a number of at least {SMALLEST_DATA_RANGE:g}, not {data_range}"
        )
    first, second = (x.detach().cpu().flatten(0, 1).contiguous().numpy() for x in (a, b))
    c1, c2 = (np.float32((k * data_range) ** 2) for k in (K1, K2))
    return float(_plane_means(first, second, c1, c2).mean())
