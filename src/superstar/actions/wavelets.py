"""Wavelet denoising by BayesShrink and VisuShrink (paper, appendix E).

Each channel of YCbCr is brought to [0, 1], transformed with the Haar wavelet, soft-thresholded and
brought back. BayesShrink: S. G. Chang et al., IEEE TIP 2000, one threshold a band. VisuShrink:
D. L. Donoho and I. M. Johnstone, Biometrika 1994, one threshold a channel, here from half of the
estimated noise. Numerically this is `skimage.restoration.denoise_wavelet(mode="soft",
convert2ycbcr=True, rescale_sigma=True)`, a whole batch at a time, but for flat areas, where
scikit-image returns NaN: a threshold that cannot be estimated is 0 here, and leaves the band alone.
"""

import numpy as np
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.images import check_images

YCBCR_FROM_RGB = np.array(
    [[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]]
)
YCBCR_OFFSET = np.array([16.0, 128.0, 128.0])

# Arithmetic is in float32 and in PyWavelets' order: which coefficients count as exactly 0, and so
# are left out of the estimate of the noise, hangs on it.
_YCBCR = YCBCR_FROM_RGB.astype(np.float32)
_RGB = np.linalg.inv(YCBCR_FROM_RGB).astype(np.float32)
_SHIFT = YCBCR_OFFSET.astype(np.float32)

_NORMAL_QUARTILE = 0.6744897501960817
_VISU_SIGMA_SHARE = 0.5
_COARSEST_LEVELS_KEPT = 3
_SQRT_HALF = np.float32(0.7071067811865476)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_BIN_SHIFT = np.uint32(18)
_EPSILON = float(np.finfo(np.float32).eps)

# db2, analysis, high-pass: what the noise of VisuShrink is estimated with.
_DB2_HIGH = np.array(
    [-0.48296291314453416, 0.8365163037378079, -0.2241438680420134, -0.12940952255126037],
    dtype=np.float32,
)


# The loops below run along whole rows or planes and touch few arrays, which lets the compiler use
# vector instructions. Only sums of squares may be reordered.


@njit(cache=True)
def _noise(band: NDArray[np.float32]) -> float:
    """Noise by the median of the absolute coefficients that are not 0; 0 where all are.

    Positive floats are ordered as their bits are, so the leading bits sort them into bins, and
    only the bin that holds the median needs a closer look. Zeros come before all others.
    """
    bits = band.reshape(-1).view(np.uint32)
    counts = np.zeros(1 << (31 - _BIN_SHIFT), dtype=np.int32)
    zeros = 0
    for i in range(bits.size):
        magnitude = bits[i] & _MAGNITUDE
        zeros += magnitude == 0
        counts[magnitude >> _BIN_SHIFT] += 1
    others = bits.size - zeros
    if others == 0:
        return 0.0
    # The median of an even count is the mean of the middle two, which may lie in two bins.
    lower, upper = zeros + (others - 1) // 2, zeros + others // 2
    below, first = 0, 0
    while below + counts[first] <= lower:
        below += counts[first]
        first += 1
    last, up_to = first, below + counts[first]
    while up_to <= upper:
        last += 1
        up_to += counts[last]
    middle = np.empty(up_to - below, dtype=np.uint32)
    taken = 0
    for i in range(bits.size):
        magnitude = bits[i] & _MAGNITUDE
        if first <= magnitude >> _BIN_SHIFT <= last:
            middle[taken] = magnitude
            taken += 1
    middle.sort()
    values = middle.view(np.float32)
    median = (values[lower - below] + values[upper - below]) / np.float32(2)
    return float(median) / _NORMAL_QUARTILE


@njit(cache=True)
def _extend(row: NDArray[np.float32], extended: NDArray[np.float32]) -> None:
    """A row with three mirrored values at either end."""
    size = row.size
    extended[3 : 3 + size] = row
    for x in range(3):
        extended[2 - x] = row[x]
        extended[3 + size + x] = row[size - 1 - x]


@njit(cache=True)
def _combine(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    c: NDArray[np.float32],
    d: NDArray[np.float32],
    weights: NDArray[np.float32],
    total: NDArray[np.float32],
) -> None:
    """The weighted sum of four rows, added in their order."""
    wa, wb, wc, wd = weights[0], weights[1], weights[2], weights[3]
    for x in range(total.size):
        total[x] = wa * a[x] + wb * b[x] + wc * c[x] + wd * d[x]


@njit(cache=True)
def _db2_detail(plane: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """The db2 coefficients of a plane that are detail along both axes."""
    height, width = plane.shape
    rows, columns = (height + 3) // 2, (width + 3) // 2
    taps = np.empty(4, dtype=np.int64)
    weights = np.empty(4, dtype=np.float32)
    along = np.empty(width, dtype=np.float32)
    extended = np.empty(width + 6, dtype=np.float32)
    detail = np.empty((rows, columns), dtype=np.float32)
    h0, h1, h2, h3 = high[0], high[1], high[2], high[3]
    for i in range(rows):
        for step in range(4):
            taps[step] = _tap(step, 2 * i + 1, height)
            weights[step] = high[taps[step]]
        _combine(
            plane[_mirror(2 * i + 1 - taps[0], height)],
            plane[_mirror(2 * i + 1 - taps[1], height)],
            plane[_mirror(2 * i + 1 - taps[2], height)],
            plane[_mirror(2 * i + 1 - taps[3], height)],
            weights,
            along,
        )
        _extend(along, extended)
        line = detail[i]
        for j in range(columns):
            x = 2 * j + 1
            line[j] = (
                h0 * extended[x + 3]
                + h1 * extended[x + 2]
                + h2 * extended[x + 1]
                + h3 * extended[x]
            )
        for j in range(max((width - 1) // 2, 0), columns):
            total = np.float32(0)
            for step in range(4):
                k = _tap(step, 2 * j + 1, width)
                total += high[k] * extended[2 * j + 4 - k]
            line[j] = total
    return detail


@njit(cache=True)
def _mirror(index: int, size: int) -> int:
    """The sample that half-sample symmetric extension puts at `index`."""
    if index < 0:
        return -1 - index
    if index >= size:
        return 2 * size - 1 - index
    return index


@njit(cache=True)
def _tap(step: int, position: int, size: int) -> int:
    """The filter's tap that PyWavelets adds in `step`: beyond the end it starts with the last."""
    beyond = position - size
    if beyond >= 0 and step <= beyond:
        return beyond - step
    return step


@njit(cache=True)
def _soften(band: NDArray[np.float32], threshold: float) -> None:
    limit, zero = np.float32(threshold), np.float32(0)
    values = band.reshape(-1)
    for i in range(values.size):
        value = values[i]
        above = value - limit if value > limit else zero
        values[i] = value + limit if value < -limit else above


@njit(cache=True, fastmath={"reassoc"})
def _energy(values: NDArray[np.float32]) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i] * values[i]
    return total


@njit(cache=True)
def _soften_bayes(band: NDArray[np.float32], variance: float) -> None:
    if variance == 0:
        return
    signal = max(_energy(band.reshape(-1)) / band.size - variance, _EPSILON)
    _soften(band, variance / np.sqrt(signal))


@njit(cache=True)
def _split_rows(
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
) -> None:
    """Haar between two rows; an odd width is made even by its last value."""
    s, width = _SQRT_HALF, upper.size
    for x in range(width):
        low[x] = s * lower[x] + s * upper[x]
        high[x] = s * upper[x] - s * lower[x]
    low[-1], high[-1] = low[width - 1], high[width - 1]


@njit(cache=True)
def _split_pairs(
    row: NDArray[np.float32], low: NDArray[np.float32], high: NDArray[np.float32]
) -> None:
    """Haar between neighbours in a row."""
    s = _SQRT_HALF
    for j in range(low.size):
        low[j] = s * row[2 * j + 1] + s * row[2 * j]
        high[j] = s * row[2 * j] - s * row[2 * j + 1]


@njit(cache=True)
def _merge_pairs(
    low: NDArray[np.float32], high: NDArray[np.float32], row: NDArray[np.float32]
) -> None:
    s = _SQRT_HALF
    for j in range(low.size):
        row[2 * j] = s * low[j] + s * high[j]
        row[2 * j + 1] = s * low[j] - s * high[j]


@njit(cache=True)
def _merge_rows(
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
) -> None:
    s = _SQRT_HALF
    for x in range(upper.size):
        # At an odd height upper and lower are one row, whose value is the upper one.
        lower[x] = s * low[x] - s * high[x]
    for x in range(upper.size):
        upper[x] = s * low[x] + s * high[x]


@njit(cache=True)
def _shrink(plane: NDArray[np.float32], levels: int, bayes: bool, sigma: float) -> None:
    """Denoise a plane in place; BayesShrink estimates the noise from the finest band."""
    height, width = plane.shape
    rows, columns = (height + 1) // 2, (width + 1) // 2
    low_low = np.empty((rows, columns), dtype=np.float32)
    low_high = np.empty((rows, columns), dtype=np.float32)
    high_low = np.empty((rows, columns), dtype=np.float32)
    high_high = np.empty((rows, columns), dtype=np.float32)
    low = np.empty(2 * columns, dtype=np.float32)
    high = np.empty(2 * columns, dtype=np.float32)
    for i in range(rows):
        _split_rows(plane[2 * i], plane[min(2 * i + 1, height - 1)], low, high)
        _split_pairs(low, low_low[i], low_high[i])
        _split_pairs(high, high_low[i], high_high[i])
    if bayes and sigma < 0:
        sigma = _noise(high_high)
    if levels > 1:
        _shrink(low_low, levels - 1, bayes, sigma)
    for band in (low_high, high_low, high_high):
        if bayes:
            _soften_bayes(band, sigma * sigma)
        else:
            _soften(band, sigma)
    for i in range(rows):
        _merge_pairs(low_low[i], low_high[i], low)
        _merge_pairs(high_low[i], high_high[i], high)
        _merge_rows(low, high, plane[2 * i], plane[min(2 * i + 1, height - 1)])


@njit(cache=True, inline="always")
def _fused(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """a·b + c rounded once, as the matrix products behind scikit-image's colours do it."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


@njit(cache=True)
def _to_ycbcr(
    image: NDArray[np.float32],
    weights: NDArray[np.float32],
    offset: np.float32,
    plane: NDArray[np.float32],
) -> None:
    """One channel of YCbCr of a flattened image (3, n)."""
    red, green, blue = image[0], image[1], image[2]
    w0, w1, w2 = weights[0], weights[1], weights[2]
    for i in range(plane.size):
        plane[i] = _fused(w2, blue[i], _fused(w1, green[i], w0 * red[i])) + offset


@njit(cache=True)
def _to_rgb(
    planes: NDArray[np.float32],
    weights: NDArray[np.float32],
    shift: NDArray[np.float32],
    channel: NDArray[np.float32],
) -> None:
    """One channel of RGB, clipped to [0, 1], of the flattened planes (3, n) of YCbCr."""
    luma, blueness, redness = planes[0], planes[1], planes[2]
    w0, w1, w2 = weights[0], weights[1], weights[2]
    s0, s1, s2 = shift[0], shift[1], shift[2]
    zero, one = np.float32(0), np.float32(1)
    for i in range(channel.size):
        value = w0 * (luma[i] - s0) + w1 * (blueness[i] - s1) + w2 * (redness[i] - s2)
        channel[i] = min(max(value, zero), one)


@njit(cache=True)
def _range(plane: NDArray[np.float32]) -> tuple[np.float32, np.float32]:
    low, high = plane[0].copy(), plane[0].copy()
    for y in range(1, plane.shape[0]):
        row = plane[y]
        for x in range(row.size):
            value = row[x]
            low[x] = value if value < low[x] else low[x]
            high[x] = value if value > high[x] else high[x]
    return low.min(), high.max()


@njit(cache=True, error_model="numpy")
def _to_unit(plane: NDArray[np.float32], low: np.float32, span: np.float32) -> None:
    for i in range(plane.size):
        plane[i] = (plane[i] - low) / span


@njit(cache=True)
def _from_unit(plane: NDArray[np.float32], low: np.float32, span: np.float32) -> None:
    for i in range(plane.size):
        plane[i] = plane[i] * span + low


@njit(cache=True)
def _denoise_image(
    image: NDArray[np.float32],
    bayes: bool,
    levels: int,
    to_ycbcr: NDArray[np.float32],
    to_rgb: NDArray[np.float32],
    shift: NDArray[np.float32],
    db2_high: NDArray[np.float32],
    denoised: NDArray[np.float32],
) -> None:
    _, height, width = image.shape
    flat = image.reshape(3, -1)
    planes = np.empty(flat.shape, dtype=np.float32)
    noise = 0.0
    if not bayes:
        for c in range(3):
            noise += _VISU_SIGMA_SHARE / 3 * _noise(_db2_detail(image[c], db2_high))
    for c in range(3):
        plane = planes[c]
        _to_ycbcr(flat, to_ycbcr[c], shift[c], plane)
        low, high = _range(plane.reshape(height, width))
        span = high - low
        if span == 0:
            continue
        _to_unit(plane, low, span)
        threshold = -1.0
        if not bayes:
            variance = (to_ycbcr[c, 0] ** 2 + to_ycbcr[c, 1] ** 2 + to_ycbcr[c, 2] ** 2) * (
                noise**2
            )
            threshold = np.sqrt(variance) / span * np.sqrt(2 * np.log(height * width))
        _shrink(plane.reshape(height, width), levels, bayes, threshold)
        _from_unit(plane, low, span)
    for c in range(3):
        _to_rgb(planes, to_rgb[c], shift, denoised[c].reshape(-1))


@njit(cache=True, parallel=True)
def _denoise(
    images: NDArray[np.float32],
    bayes: bool,
    levels: int,
    to_ycbcr: NDArray[np.float32],
    to_rgb: NDArray[np.float32],
    shift: NDArray[np.float32],
    db2_high: NDArray[np.float32],
    denoised: NDArray[np.float32],
) -> None:
    for n in prange(images.shape[0]):
        _denoise_image(images[n], bayes, levels, to_ycbcr, to_rgb, shift, db2_high, denoised[n])


def _apply(images: Tensor, bayes: bool) -> Tensor:
    check_images(images)
    smallest = min(images.shape[2:])
    levels = max(smallest.bit_length() - 1 - _COARSEST_LEVELS_KEPT, 1)
    pixels = images.detach().cpu().contiguous().numpy()
    denoised = np.empty(pixels.shape, dtype=np.float32)
    _denoise(pixels, bayes, levels, _YCBCR, _RGB, _SHIFT, _DB2_HIGH, denoised)
    return torch.from_numpy(denoised).to(images.device)


def wavelet_bayes(images: Tensor) -> Tensor:
    """BayesShrink: one threshold for each band, from the noise seen in the finest.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].

    Returns:
        The same shape, clipped to [0, 1].

    Raises:
        InputError: not a batch of images.
    """
    return _apply(images, bayes=True)


def wavelet_visu(images: Tensor) -> Tensor:
    """VisuShrink: the universal threshold σ·√(2 ln HW), σ being half of the estimated noise.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].

    Returns:
        The same shape, clipped to [0, 1].

    Raises:
        InputError: not a batch of images.
    """
    return _apply(images, bayes=False)
