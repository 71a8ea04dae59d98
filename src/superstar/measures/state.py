"""State features: brightness, standard deviation and entropy of each image (paper, section 4).

Gray image, one level of the 2-D wavelet transform bior1.3, mean and standard deviation of its LL
band, mean local entropy of its HH band. The state of a set of images is the mean of the rows.
"""

from dataclasses import dataclass
from functools import lru_cache

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

_LEVELS = 256
_DIAMETER = 2 * RADIUS + 1
_BINS = _LEVELS + _DIAMETER**2
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
def _disk_counts(
    marks: NDArray[np.uint16], half_widths: NDArray[np.int64], counts: NDArray[np.uint16]
) -> None:
    """How many of the marks (0 or 1, within a border of `_BORDER`) the disk around each holds."""
    rows, columns = counts.shape
    height, width = marks.shape
    before = np.zeros((height, width + 1), dtype=np.uint16)
    for y in range(height):
        total = np.uint16(0)
        for x in range(width):
            total += marks[y, x]
            before[y, x + 1] = total
    for y in range(rows):
        line = counts[y]
        line[:] = 0
        for i in range(half_widths.shape[0]):
            reach, sums = half_widths[i], before[y + 1 + i]
            left = sums[_BORDER - reach : _BORDER - reach + columns]
            right = sums[_BORDER + reach + 1 : _BORDER + reach + 1 + columns]
            for x in range(columns):
                line[x] += right[x] - left[x]


@njit(cache=True, inline="always")
def _slide(
    bins: NDArray[np.uint16],
    upper: int,
    lower: int,
    leaving: NDArray[np.int64],
    entering: NDArray[np.int64],
    upper_histogram: NDArray[np.uint32],
    lower_histogram: NDArray[np.uint32],
    steps: NDArray[np.int64],
) -> tuple[np.int64, np.int64]:
    """Move both disks by one position; the changes of the sums of n·log n over their histograms.

    `leaving` and `entering` are offsets from the positions before the move. The two disks share
    nothing, so the processor works on both at once while either waits for its counts. Unsigned
    numbers spare the look-ups numba's treatment of negative indices.
    """
    upper_change = np.int64(0)
    lower_change = np.int64(0)
    for i in range(_DIAMETER):
        out, into = leaving[i], entering[i]
        old = bins[np.uint64(upper + out)]
        count = upper_histogram[old] - np.uint32(1)
        upper_histogram[old] = count
        upper_change -= steps[count]
        old = bins[np.uint64(lower + out)]
        count = lower_histogram[old] - np.uint32(1)
        lower_histogram[old] = count
        lower_change -= steps[count]
        new = bins[np.uint64(upper + into)]
        count = upper_histogram[new]
        upper_histogram[new] = count + np.uint32(1)
        upper_change += steps[count]
        new = bins[np.uint64(lower + into)]
        count = lower_histogram[new]
        lower_histogram[new] = count + np.uint32(1)
        lower_change += steps[count]
    return upper_change, lower_change


@njit(cache=True)
def _fill(
    bins: NDArray[np.uint16],
    centre: int,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    histogram: NDArray[np.uint32],
    steps: NDArray[np.int64],
) -> np.int64:
    """Count the disk around `centre` into an empty histogram; its sum of n·log n."""
    total = np.int64(0)
    for i in range(_DIAMETER):
        for position in range(centre + first[i], centre + last[i] + 1):
            value = bins[position]
            total += steps[histogram[value]]
            histogram[value] += np.uint32(1)
    return total


@njit(cache=True)
def _sums_of_n_log_n(
    padded: NDArray[np.uint16],
    half_widths: NDArray[np.int64],
    steps: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """For every position the sum of n·log n over the bins in the disk around it, into `sums`.

    One disk goes through the upper half of the image and one through the lower, in serpentine
    order; of an odd number of rows both see the middle one.
    """
    width = padded.shape[1]
    rows, columns = sums.shape
    bins = padded.ravel()
    across = np.arange(_DIAMETER) - RADIUS
    along = across * width
    first, last = along - half_widths, along + half_widths
    before_first, after_last = first - 1, last + 1
    top, below = across - half_widths * width, across + (half_widths + 1) * width

    half = (rows + 1) // 2
    offset = rows - half
    upper = _BORDER * width + _BORDER
    lower = upper + offset * width
    upper_histogram = np.zeros(_BINS, dtype=np.uint32)
    lower_histogram = np.zeros(_BINS, dtype=np.uint32)
    upper_sum = _fill(bins, upper, first, last, upper_histogram, steps)
    lower_sum = _fill(bins, lower, first, last, lower_histogram, steps)
    for row in range(half):
        rightwards = row % 2 == 0
        leaving, entering = (first, after_last) if rightwards else (last, before_first)
        step = 1 if rightwards else -1
        column = 0 if rightwards else columns - 1
        sums[row, column], sums[offset + row, column] = upper_sum, lower_sum
        for _ in range(columns - 1):
            upper_change, lower_change = _slide(
                bins, upper, lower, leaving, entering, upper_histogram, lower_histogram, steps
            )
            upper_sum += upper_change
            lower_sum += lower_change
            upper += step
            lower += step
            column += step
            sums[row, column], sums[offset + row, column] = upper_sum, lower_sum
        upper_change, lower_change = _slide(
            bins, upper, lower, top, below, upper_histogram, lower_histogram, steps
        )
        upper_sum += upper_change
        lower_sum += lower_change
        upper += width
        lower += width


@dataclass(frozen=True)
class _Disks:
    """What all images of a size share.

    Attributes:
        mean_log_area: of the disks, which are clipped at the border of the image, in bits.
        weights: what a sum of n·log n takes off the mean entropy, (rows, columns).
        single: bins that hold one pixel of a disk at most, (rows, columns) with a border.
    """

    mean_log_area: float
    weights: NDArray[np.float64]
    single: NDArray[np.uint16]


@lru_cache(maxsize=8)
def _disks(rows: int, columns: int) -> _Disks:
    marks = np.pad(np.ones((rows, columns), dtype=np.uint16), _BORDER)
    counts = np.empty((rows, columns), dtype=np.uint16)
    _disk_counts(marks, _HALF_WIDTHS, counts)
    areas = counts.astype(np.float64)
    y, x = np.indices(marks.shape) % _DIAMETER
    single = np.asarray(_LEVELS + y * _DIAMETER + x, dtype=np.uint16)
    return _Disks(float(np.log2(areas).mean()), 1 / (_SCALE * rows * columns * areas), single)


@njit(cache=True, parallel=True)
def _features(
    images: NDArray[np.float32],
    half_widths: NDArray[np.int64],
    n_log_n: NDArray[np.int64],
    steps: NDArray[np.int64],
    mean_log_area: float,
    weights: NDArray[np.float64],
    single: NDArray[np.uint16],
) -> NDArray[np.float64]:
    count, _, height, width = images.shape
    rows, columns = weights.shape
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
        high = np.empty((rows, columns), dtype=np.uint16)
        _wavelet_bands(gray, low, high)

        # Level 0, that of most coefficients, would chain every update of the histogram to the
        # one before. So zeros, like what lies outside, go into bins that hold one pixel of a disk
        # at most and add 1·log 1 = 0; how many zeros a disk holds is counted apart.
        bins = single.copy()
        zero = np.zeros(single.shape, dtype=np.uint16)
        for y in range(rows):
            for x in range(columns):
                level = high[y, x]
                zero[y + _BORDER, x + _BORDER] = level == 0
                if level != 0:
                    bins[y + _BORDER, x + _BORDER] = level
        zeros = np.empty((rows, columns), dtype=np.uint16)
        _disk_counts(zero, half_widths, zeros)
        sums = np.empty((rows, columns), dtype=np.int64)
        _sums_of_n_log_n(bins, half_widths, steps, sums)
        entropy = mean_log_area
        for y in range(rows):
            for x in range(columns):
                entropy -= (sums[y, x] + n_log_n[zeros[y, x]]) * weights[y, x]
        features[n, 0] = low.mean()
        features[n, 1] = low.std()
        features[n, 2] = max(entropy, 0.0)
    return features


def state_features(images: Tensor) -> Tensor:
    """Brightness, standard deviation and entropy of each image.

    Images are truncated to 8 bits and turned gray with the weights of red and blue swapped, as
    in the authors' release.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].

    Returns:
        float64 (N, 3), on the CPU: mean of LL in [0, 2], standard deviation of LL in [0, 1], mean
        local entropy of HH in bits.

    Raises:
        InputError: not a batch of images.
    """
    check_images(images)
    pixels = images.detach().cpu().contiguous().numpy()
    disks = _disks((pixels.shape[2] + 5) // 2, (pixels.shape[3] + 5) // 2)
    shared = (disks.mean_log_area, disks.weights, disks.single)
    return torch.from_numpy(_features(pixels, _HALF_WIDTHS, _N_LOG_N, _STEPS, *shared))
