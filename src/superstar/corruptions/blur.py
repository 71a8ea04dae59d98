"""Blur of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and returns float32 of the same
shape. Every channel is blurred by itself.
"""

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray


def gaussian_blur(images: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Gaussian of `sigma` pixels, cut off at 4 sigma, edges continued by their own values.

    As `skimage.filters.gaussian` with its defaults.
    """
    side = 2 * int(4 * sigma + 0.5) + 1
    out = np.empty_like(images)
    for plane, blurred in zip(_planes(images), _planes(out), strict=True):
        cv2.GaussianBlur(plane, (side, side), sigma, dst=blurred, borderType=cv2.BORDER_REPLICATE)
    return out


def defocus_blur(
    images: NDArray[np.float32], radius: float, antialias: float
) -> NDArray[np.float32]:
    """Convolve with a disk of `radius` pixels, its rim softened by a Gaussian of `antialias`.

    Edges are mirrored without repeating the outermost pixel (OpenCV's default).
    """
    kernel = _disk(radius, antialias)
    out = np.empty_like(images)
    for plane, blurred in zip(_planes(images), _planes(out), strict=True):
        cv2.filter2D(plane, -1, kernel, dst=blurred)
    return out


def zoom_blur(images: NDArray[np.float32], stop: float, step: float) -> NDArray[np.float32]:
    """Mean of the image and of its centre enlarged by 1, 1 + step, ... short of `stop`.

    Enlargement is linear and maps corner pixels of the cut-out to corner pixels of the result
    (`scipy.ndimage.zoom(order=1)`); what exceeds the image is trimmed on both sides.
    """
    factors = np.arange(1, stop, step)
    rows = [_zoom_positions(images.shape[2], factor) for factor in factors]
    columns = [_zoom_positions(images.shape[3], factor) for factor in factors]
    out = np.empty_like(images)
    _mean_of_zooms(_planes(images), np.stack(rows), np.stack(columns), _planes(out))
    return out


def _planes(images: NDArray[np.float32]) -> NDArray[np.float32]:
    return images.reshape(-1, *images.shape[2:])


def _disk(radius: float, antialias: float) -> NDArray[np.float32]:
    """The kernel of a defocused lens, float32 (2 r + 1, 2 r + 1), sum 1."""
    reach = max(8, int(radius))
    axis = np.arange(-reach, reach + 1)
    kernel = np.asarray(axis**2 + axis[:, None] ** 2 <= radius**2, dtype=np.float32)
    kernel /= kernel.sum()
    rim = 3 if radius <= 8 else 5
    kernel = np.asarray(cv2.GaussianBlur(kernel, (rim, rim), antialias), dtype=np.float32)
    # Margins of zeros cost time and change nothing.
    used = int(np.abs(axis[kernel.any(axis=0)]).max())
    inside = slice(reach - used, reach + used + 1)
    return np.ascontiguousarray(kernel[inside, inside])


def _zoom_positions(side: int, factor: float) -> NDArray[np.float64]:
    """Where along a side each pixel of the enlarged and trimmed image comes from, (side,)."""
    cut = int(np.ceil(side / factor))
    enlarged = round(cut * factor)
    trimmed = (enlarged - side) // 2 + np.arange(side)
    return np.asarray((side - cut) // 2 + trimmed * ((cut - 1) / (enlarged - 1)), np.float64)


@njit(cache=True, nogil=True)
def _mean_of_zooms(
    planes: NDArray[np.float32],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """Mean of each plane (P, H, W) and its linear samples at rows (Z, H) × columns (Z, W)."""
    height, width = planes.shape[1:]
    zooms = len(rows)
    left = np.empty((zooms, width), np.int64)
    right = np.empty((zooms, width), np.int64)
    share = np.empty((zooms, width), np.float32)
    for z in range(zooms):
        for x in range(width):
            left[z, x] = int(columns[z, x])
            right[z, x] = min(left[z, x] + 1, width - 1)
            share[z, x] = columns[z, x] - left[z, x]
    line = np.empty(width, np.float32)
    total = np.empty(width, np.float32)
    for p in range(len(planes)):
        for y in range(height):
            total[:] = planes[p, y]
            for z in range(zooms):
                top = int(rows[z, y])
                upper, lower = planes[p, top], planes[p, min(top + 1, height - 1)]
                weight = np.float32(rows[z, y] - top)
                for x in range(width):
                    line[x] = upper[x] + weight * (lower[x] - upper[x])
                for x in range(width):
                    a, b = line[left[z, x]], line[right[z, x]]
                    total[x] += a + share[z, x] * (b - a)
            for x in range(width):
                out[p, y, x] = total[x] / np.float32(zooms + 1)
