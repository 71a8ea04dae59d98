"""State features: brightness, standard deviation and entropy of each image (paper, section 4).

Gray image, one level of the 2-D wavelet transform bior1.3, mean and standard deviation of its LL
band, mean local entropy of its HH band. The state of a set of images is the mean of the rows.
"""

import numpy as np
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.images import check_images

FEATURES = ("brightness", "std", "entropy")

RADIUS = 10
"""Radius, in coefficients, of the disk in which local entropy is taken."""

_HALF_WIDTHS = np.array(
    [int(np.sqrt(RADIUS**2 - dy**2)) for dy in range(-RADIUS, RADIUS + 1)], dtype=np.int64
)
_AREA = int((2 * _HALF_WIDTHS + 1).sum())

# bior1.3, analysis. The high-pass filter is that of Haar.
_OUTER = 0.08838834764831845
_INNER = 0.7071067811865476

# n·log2 n in fixed point: sums of it are exact, so a sliding sum does not drift and the order of
# additions does not matter. The largest sum, _AREA·log2(_AREA) < 2**12, leaves room in 63 bits.
_SCALE = 2.0**44
_COUNTS = np.arange(1, _AREA + 1, dtype=np.float64)
_N_LOG_N = np.concatenate([[0], np.rint(_SCALE * _COUNTS * np.log2(_COUNTS))]).astype(np.int64)
_STEPS = np.diff(_N_LOG_N)

_OUTSIDE = 256
_BORDER = RADIUS + 1


@njit(cache=True, inline="always")
def _mirror(index: int, size: int) -> int:
    """The sample that half-sample symmetric extension puts at `index`."""
    if index < 0:
        return -1 - index
    if index >= size:
        return 2 * size - 1 - index
    return index


@njit(cache=True)
def _wavelet_bands(
    gray: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.uint16]
) -> None:
    """LL of one image into `low`, and HH into `high` as 8 bits with negatives cut to 0."""
    height, width = gray.shape
    rows, columns = low.shape
    row_low = np.empty(width + 10)
    row_high = np.empty(width + 10)
    for i in range(rows):
        r0 = _mirror(2 * i - 4, height)
        r1 = _mirror(2 * i - 3, height)
        r2 = _mirror(2 * i - 2, height)
        r3 = _mirror(2 * i - 1, height)
        r4 = _mirror(2 * i, height)
        r5 = _mirror(2 * i + 1, height)
        for x in range(width):
            inner = gray[r2, x] + gray[r3, x]
            outer = gray[r1, x] + gray[r4, x] - gray[r0, x] - gray[r5, x]
            row_low[x + 4] = _INNER * inner + _OUTER * outer
            # Half of all HH values lie midway between two levels, so the rounding error decides
            # which one they take: these products and sums are PyWavelets', in its order.
            row_high[x + 4] = _INNER * gray[r2, x] - _INNER * gray[r3, x]
        for x in range(4):
            row_low[x] = row_low[7 - x]
            row_high[x] = row_high[7 - x]
        for x in range(6):
            row_low[width + 4 + x] = row_low[width + 3 - x]
            row_high[width + 4 + x] = row_high[width + 3 - x]
        for j in range(columns):
            x = 2 * j
            inner = row_low[x + 2] + row_low[x + 3]
            outer = row_low[x + 1] + row_low[x + 4] - row_low[x] - row_low[x + 5]
            low[i, j] = _INNER * inner + _OUTER * outer
            detail = _INNER * row_high[x + 2] - _INNER * row_high[x + 3]
            high[i, j] = np.uint16(max(0.0, np.rint(255.0 * detail)))


@njit(cache=True)
def _slide(
    levels: NDArray[np.uint16],
    centre: int,
    leaving: NDArray[np.int64],
    entering: NDArray[np.int64],
    histogram: NDArray[np.uint32],
    steps: NDArray[np.int64],
) -> np.int64:
    """Move the disk by one position; the change of the sum of n·log n over the histogram.

    `leaving` and `entering` are offsets from `centre`, the position before the move. Unsigned
    numbers spare the look-ups numba's treatment of negative indices.
    """
    change = np.int64(0)
    for i in range(leaving.shape[0]):
        old = levels[np.uint64(centre + leaving[i])]
        count = histogram[old] - np.uint32(1)
        histogram[old] = count
        change -= steps[count]
        new = levels[np.uint64(centre + entering[i])]
        count = histogram[new]
        histogram[new] = count + np.uint32(1)
        change += steps[count]
    return change


@njit(cache=True)
def _mean_local_entropy(
    padded: NDArray[np.uint16],
    half_widths: NDArray[np.int64],
    n_log_n: NDArray[np.int64],
    steps: NDArray[np.int64],
) -> float:
    """Mean over all positions of the entropy, in bits, of the levels in the disk around each.

    `padded` holds the levels within a border, `_BORDER` wide, of the level `_OUTSIDE`, which
    does not count: the disk is clipped at the border of the image. One histogram slides over the
    image in serpentine order.
    """
    radius = half_widths.shape[0] // 2
    width = padded.shape[1]
    rows, columns = padded.shape[0] - 2 * _BORDER, width - 2 * _BORDER
    levels = padded.ravel()
    along = (np.arange(half_widths.shape[0]) - radius) * width
    across = np.arange(half_widths.shape[0]) - radius
    first, last = along - half_widths, along + half_widths
    before_first, after_last = first - 1, last + 1
    top, below = across - half_widths * width, across + (half_widths + 1) * width

    centre = _BORDER * width + _BORDER
    histogram = np.zeros(_OUTSIDE + 1, dtype=np.uint32)
    total = np.int64(0)
    area = 0
    for i in range(half_widths.shape[0]):
        for position in range(centre + first[i], centre + last[i] + 1):
            level = levels[position]
            total += steps[histogram[level]]
            histogram[level] += np.uint32(1)
            area += 1
    entropy = 0.0
    for row in range(rows):
        for column in range(columns):
            if column > 0 and row % 2 == 0:
                total += _slide(levels, centre, first, after_last, histogram, steps)
                centre += 1
            elif column > 0:
                total += _slide(levels, centre, last, before_first, histogram, steps)
                centre -= 1
            outside = np.int64(histogram[_OUTSIDE])
            pixels = area - outside
            entropy += np.log2(pixels) - (total - n_log_n[outside]) / _SCALE / pixels
        total += _slide(levels, centre, top, below, histogram, steps)
        centre += width
    return entropy / (rows * columns)


@njit(cache=True, parallel=True)
def _features(
    images: NDArray[np.float32],
    half_widths: NDArray[np.int64],
    n_log_n: NDArray[np.int64],
    steps: NDArray[np.int64],
) -> NDArray[np.float64]:
    count, _, height, width = images.shape
    rows, columns = (height + 5) // 2, (width + 5) // 2
    features = np.empty((count, 3))
    for n in prange(count):
        gray = np.empty((height, width))
        for y in range(height):
            for x in range(width):
                red = np.int32(images[n, 0, y, x] * np.float32(255))
                green = np.int32(images[n, 1, y, x] * np.float32(255))
                blue = np.int32(images[n, 2, y, x] * np.float32(255))
                # 0.114 R + 0.587 G + 0.299 B in OpenCV's 15-bit fixed point. Red and blue are
                # swapped on purpose: the published trees and policies were trained so.
                swapped = (3735 * red + 19235 * green + 9798 * blue + 16384) >> 15
                gray[y, x] = swapped / 255.0
        low = np.empty((rows, columns))
        high = np.full((rows + 2 * _BORDER, columns + 2 * _BORDER), _OUTSIDE, dtype=np.uint16)
        _wavelet_bands(gray, low, high[_BORDER:-_BORDER, _BORDER:-_BORDER])
        features[n, 0] = low.mean()
        features[n, 1] = low.std()
        features[n, 2] = _mean_local_entropy(high, half_widths, n_log_n, steps)
    return features


def state_features(images: Tensor) -> Tensor:
    """Brightness, standard deviation and entropy of each image.

    Images are truncated to 8 bits and turned gray with the weights of red and blue swapped, as
    in the authors' release.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].

    Returns:
        float64 (N, 3): mean of LL in [0, 2], standard deviation of LL in [0, 1], mean local
        entropy of HH in bits.

    Raises:
        InputError: not a batch of images.
    """
    check_images(images)
    pixels = images.detach().cpu().contiguous().numpy()
    return torch.from_numpy(_features(pixels, _HALF_WIDTHS, _N_LOG_N, _STEPS))
