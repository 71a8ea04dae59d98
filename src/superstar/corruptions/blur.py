"""Blur of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], random ones also one generator an
image, and returns float32 of the same shape. Every channel is blurred by itself. Constants in
pixels act in pixels at every size of image; those of zoom blur are relative to it.
"""

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.corruptions.noise import Generators


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


def glass_blur(
    images: NDArray[np.float32],
    generators: Generators,
    sigma: float,
    reach: float,
    rounds: float,
) -> NDArray[np.float32]:
    """Shuffle pixels locally, `rounds` times, between two Gaussian blurs of `sigma` pixels.

    The first blur is cut off to 8 bits. Then each pixel further than `reach` from the border, from
    the lower right to the upper left, takes the colour that a random pixel has at that moment, at
    most `reach` above or left, or `reach` - 1 below or right of it. The benchmark's code means to
    swap the two, but swaps views of one array, so that the other pixel keeps its colour; its
    images were made so.
    """
    reach, rounds = int(reach), int(rounds)
    height, width = images.shape[2:]
    places = (rounds, height - 2 * reach, width - 2 * reach)
    out = gaussian_blur(images, sigma)
    for image, generator in zip(out, generators, strict=True):
        sources = generator.integers((2 * reach) ** 2, size=places, dtype=np.uint8)
        _shuffle(image, reach, sources)
    return gaussian_blur(out, sigma)


def motion_blur(
    images: NDArray[np.float32], generators: Generators, radius: float, sigma: float
) -> NDArray[np.float32]:
    """Blur along a line at a random angle of at most 45 degrees to the horizontal.

    See `blur_along_line` for `radius` and `sigma`, in pixels.
    """
    out = np.empty_like(images)
    for image, blurred, generator in zip(images, out, generators, strict=True):
        blur_along_line(image, radius, sigma, generator.uniform(-45, 45), blurred)
    return out


def line_blur(images: NDArray[np.float32], length: float, angle: float) -> NDArray[np.float32]:
    """Average along a line of `length` pixels through each pixel, at `angle` degrees.

    No shift of a benchmark: one more surrogate, of a blur that has a direction. Edges are mirrored
    without repeating the outermost pixel (OpenCV's default).
    """
    side = int(np.ceil(length)) | 1
    cells, middle = np.arange(side), side // 2 + 0.5
    ends = np.minimum(cells + 1, middle + length / 2) - np.maximum(cells, middle - length / 2)
    across = np.zeros((side, side), dtype=np.float32)
    across[side // 2] = ends.clip(0, 1)
    turn = cv2.getRotationMatrix2D((side // 2, side // 2), angle, 1)
    turned = np.asarray(cv2.warpAffine(across, turn, (side, side)))
    kernel = turned / turned.sum()
    out = np.empty_like(images)
    for plane, blurred in zip(_planes(images), _planes(out), strict=True):
        cv2.filter2D(plane, -1, kernel, dst=blurred)
    return out


def blur_along_line(
    planes: NDArray[np.float32],
    radius: float,
    sigma: float,
    angle: float,
    out: NDArray[np.float32],
) -> None:
    """Blur planes (P, H, W) along a line at `angle` degrees, clockwise from the right, into `out`.

    Weights are the right half of a Gaussian of `sigma` pixels, cut off after 2 `radius` + 1.
    Positions are rounded to whole pixels and edges continued by their own values, as ImageMagick
    does it.
    """
    steps = np.arange(2 * int(radius) + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights = (weights / weights.sum()).astype(np.float32)
    rows = np.ceil(steps * np.sin(np.deg2rad(angle)) - 0.5).astype(np.int64)
    columns = np.ceil(steps * np.cos(np.deg2rad(angle)) - 0.5).astype(np.int64)
    (top, bottom), (left, right) = ((max(-to, 0), max(to, 0)) for to in (rows[-1], columns[-1]))
    padded = np.pad(planes, ((0, 0), (top, bottom), (left, right)), mode="edge")
    _sum_of_parts(padded, rows + top, columns + left, weights, out)


def zoom_blur(images: NDArray[np.float32], stop: float, step: float) -> NDArray[np.float32]:
    """Mean of the image and of its centre enlarged by 1, 1 + step, ... short of `stop`.

    Enlargement is linear and maps corner pixels of the cut-out to corner pixels of the result
    (`scipy.ndimage.zoom(order=1)`); what exceeds the image is trimmed on both sides.
    """
    factors = np.arange(1, stop, step)
    rows = [zoom_positions(images.shape[2], factor) for factor in factors]
    columns = [zoom_positions(images.shape[3], factor) for factor in factors]
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


def zoom_positions(side: int, factor: float) -> NDArray[np.float64]:
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


@njit(cache=True, nogil=True, error_model="numpy")
def _shuffle(image: NDArray[np.float32], reach: int, sources: NDArray[np.uint8]) -> None:
    """Move colours within an image (3, H, W), cut off to 8 bits, in place.

    `sources` (rounds, H - 2 reach, W - 2 reach) number the pixels of a square of 2 reach, row by
    row, for each pixel in the order in which they are moved.
    """
    height, width = image.shape[1:]
    colours = np.empty((height, width), np.uint32)
    for y in range(height):
        red, green, blue = image[0, y], image[1, y], image[2, y]
        for x in range(width):
            colours[y, x] = (_level(red[x]) << 16) | (_level(green[x]) << 8) | _level(blue[x])
    side = 2 * reach
    flat = colours.ravel()
    steps = np.empty(side * side, np.int64)
    for i in range(side * side):
        steps[i] = (i // side - reach) * width + i % side - reach
    for rounds in range(sources.shape[0]):
        for row in range(sources.shape[1]):
            here = (height - reach - row) * width + width - reach
            for source in sources[rounds, row]:
                flat[here] = flat[here + steps[source]]
                here -= 1
    for y in range(height):
        red, green, blue = image[0, y], image[1, y], image[2, y]
        for x in range(width):
            colour = colours[y, x]
            red[x] = np.float32((colour >> 16) & 255) / np.float32(255)
            green[x] = np.float32((colour >> 8) & 255) / np.float32(255)
            blue[x] = np.float32(colour & 255) / np.float32(255)


@njit(cache=True, nogil=True)
def _level(value: np.float32) -> np.uint32:
    """The 8-bit level at or below a value; what a float32 misses a level by does not count."""
    return np.uint32(min(value * np.float32(255) + np.float32(1e-3), np.float32(255)))


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_of_parts(
    padded: NDArray[np.float32],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Weighted sum of the parts of each plane that begin at (rows[i], columns[i]), into `out`."""
    height, width = out.shape[1:]
    for p in range(len(out)):
        for y in range(height):
            total = out[p, y]
            total[:] = 0
            for i in range(len(weights)):
                part = padded[p, y + rows[i], columns[i] : columns[i] + width]
                weight = weights[i]
                for x in range(width):
                    total[x] += weight * part[x]
