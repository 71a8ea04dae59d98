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
_EPSILON = float(np.finfo(np.float32).eps)

# db2, analysis, high-pass: what the noise of VisuShrink is estimated with.
_DB2_HIGH = np.array(
    [-0.48296291314453416, 0.8365163037378079, -0.2241438680420134, -0.12940952255126037],
    dtype=np.float32,
)


@njit(cache=True)
def _noise(band: NDArray[np.float32]) -> float:
    """Noise by the median of the absolute coefficients that are not 0; 0 where all are."""
    values = np.abs(band).ravel()
    values = values[values > 0]
    if values.size == 0:
        return 0.0
    return float(np.median(values)) / _NORMAL_QUARTILE


@njit(cache=True)
def _db2_detail(plane: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """The db2 coefficients of a plane that are detail along both axes."""
    height, width = plane.shape
    rows, columns = (height + 3) // 2, (width + 3) // 2
    padded = np.empty((height + 6, width + 6), dtype=np.float32)
    for y in range(height + 6):
        source_y = y - 3
        if source_y < 0:
            source_y = -1 - source_y
        elif source_y >= height:
            source_y = 2 * height - 1 - source_y
        for x in range(width + 6):
            source_x = x - 3
            if source_x < 0:
                source_x = -1 - source_x
            elif source_x >= width:
                source_x = 2 * width - 1 - source_x
            padded[y, x] = plane[source_y, source_x]
    along = np.empty((rows, width + 6), dtype=np.float32)
    for i in range(rows):
        y = 2 * i + 4
        for x in range(width + 6):
            total = np.float32(0)
            for j in range(4):
                k = _tap(j, 2 * i + 1, height)
                total += high[k] * padded[y - k, x]
            along[i, x] = total
    detail = np.empty((rows, columns), dtype=np.float32)
    for i in range(rows):
        for j in range(columns):
            x = 2 * j + 4
            total = np.float32(0)
            for step in range(4):
                k = _tap(step, 2 * j + 1, width)
                total += high[k] * along[i, x - k]
            detail[i, j] = total
    return detail


@njit(cache=True)
def _tap(step: int, position: int, size: int) -> int:
    """The filter's tap that PyWavelets adds in `step`: beyond the end it starts with the last."""
    beyond = position - size
    if beyond >= 0 and step <= beyond:
        return beyond - step
    return step


@njit(cache=True)
def _soften(band: NDArray[np.float32], threshold: float) -> None:
    limit = np.float32(threshold)
    for y in range(band.shape[0]):
        for x in range(band.shape[1]):
            value = band[y, x]
            if value > limit:
                band[y, x] = value - limit
            elif value < -limit:
                band[y, x] = value + limit
            else:
                band[y, x] = 0


@njit(cache=True)
def _soften_bayes(band: NDArray[np.float32], variance: float) -> None:
    if variance == 0:
        return
    energy = 0.0
    for y in range(band.shape[0]):
        for x in range(band.shape[1]):
            energy += band[y, x] * band[y, x]
    signal = max(energy / band.size - variance, _EPSILON)
    _soften(band, variance / np.sqrt(signal))


@njit(cache=True)
def _shrink(plane: NDArray[np.float32], levels: int, bayes: bool, sigma: float) -> None:
    """Denoise a plane in place; BayesShrink estimates the noise from the finest band."""
    height, width = plane.shape
    rows, columns = (height + 1) // 2, (width + 1) // 2
    low_low = np.empty((rows, columns), dtype=np.float32)
    low_high = np.empty((rows, columns), dtype=np.float32)
    high_low = np.empty((rows, columns), dtype=np.float32)
    high_high = np.empty((rows, columns), dtype=np.float32)
    s = _SQRT_HALF
    for i in range(rows):
        y0, y1 = 2 * i, min(2 * i + 1, height - 1)
        for j in range(columns):
            x0, x1 = 2 * j, min(2 * j + 1, width - 1)
            low0 = s * plane[y1, x0] + s * plane[y0, x0]
            low1 = s * plane[y1, x1] + s * plane[y0, x1]
            high0 = s * plane[y0, x0] - s * plane[y1, x0]
            high1 = s * plane[y0, x1] - s * plane[y1, x1]
            low_low[i, j] = s * low1 + s * low0
            low_high[i, j] = s * low0 - s * low1
            high_low[i, j] = s * high1 + s * high0
            high_high[i, j] = s * high0 - s * high1
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
        for j in range(columns):
            low0 = s * low_low[i, j] + s * low_high[i, j]
            low1 = s * low_low[i, j] - s * low_high[i, j]
            high0 = s * high_low[i, j] + s * high_high[i, j]
            high1 = s * high_low[i, j] - s * high_high[i, j]
            y, x = 2 * i, 2 * j
            plane[y, x] = s * low0 + s * high0
            if y + 1 < height:
                plane[y + 1, x] = s * low0 - s * high0
            if x + 1 < width:
                plane[y, x + 1] = s * low1 + s * high1
                if y + 1 < height:
                    plane[y + 1, x + 1] = s * low1 - s * high1


@njit(cache=True, inline="always")
def _fused(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """a·b + c rounded once, as the matrix products behind scikit-image's colours do it."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


@njit(cache=True, parallel=True)
def _denoise(
    images: NDArray[np.float32],
    bayes: bool,
    levels: int,
    to_ycbcr: NDArray[np.float32],
    to_rgb: NDArray[np.float32],
    shift: NDArray[np.float32],
    db2_high: NDArray[np.float32],
) -> NDArray[np.float32]:
    count, _, height, width = images.shape
    denoised = np.empty_like(images)
    for n in prange(count):
        planes = np.empty((3, height, width), dtype=np.float32)
        for y in range(height):
            for x in range(width):
                red, green, blue = images[n, 0, y, x], images[n, 1, y, x], images[n, 2, y, x]
                for c in range(3):
                    weights = to_ycbcr[c]
                    partial = _fused(weights[1], green, weights[0] * red)
                    planes[c, y, x] = _fused(weights[2], blue, partial) + shift[c]
        noise = 0.0
        if not bayes:
            for c in range(3):
                noise += _VISU_SIGMA_SHARE / 3 * _noise(_db2_detail(images[n, c], db2_high))
        for c in range(3):
            plane = planes[c]
            low, high = plane.min(), plane.max()
            span = high - low
            if span == 0:
                continue
            for y in range(height):
                for x in range(width):
                    plane[y, x] = (plane[y, x] - low) / span
            threshold = -1.0
            if not bayes:
                variance = (to_ycbcr[c, 0] ** 2 + to_ycbcr[c, 1] ** 2 + to_ycbcr[c, 2] ** 2) * (
                    noise**2
                )
                threshold = np.sqrt(variance) / span * np.sqrt(2 * np.log(height * width))
            _shrink(plane, levels, bayes, threshold)
            for y in range(height):
                for x in range(width):
                    plane[y, x] = plane[y, x] * span + low
        for y in range(height):
            for x in range(width):
                luma = planes[0, y, x] - shift[0]
                blueness = planes[1, y, x] - shift[1]
                redness = planes[2, y, x] - shift[2]
                for c in range(3):
                    value = to_rgb[c, 0] * luma + to_rgb[c, 1] * blueness + to_rgb[c, 2] * redness
                    denoised[n, c, y, x] = min(max(value, np.float32(0)), np.float32(1))
    return denoised


def _apply(images: Tensor, bayes: bool) -> Tensor:
    check_images(images)
    smallest = min(images.shape[2:])
    levels = max(smallest.bit_length() - 1 - _COARSEST_LEVELS_KEPT, 1)
    pixels = images.detach().cpu().contiguous().numpy()
    denoised = _denoise(pixels, bayes, levels, _YCBCR, _RGB, _SHIFT, _DB2_HIGH)
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
