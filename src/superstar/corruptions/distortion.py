"""Elastic transform of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1)."""

from functools import lru_cache

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from superstar.corruptions.noise import Generators

_IDENTITY = np.array([[1, 0, 0], [0, 1, 0]], dtype=np.float64)


def elastic_transform(
    images: NDArray[np.float32], generators: Generators, height: float, sigma: float, reach: float
) -> NDArray[np.float32]:
    """Map the image by a random affine map, then move its pixels by smooth random waves.

    All constants are in shorter sides of the image. The affine map takes three points, a third of
    a side around the centre, to places up to `reach` away in x and in y. Pixels then move in x and
    in y by `height` times uniform noise in [-1, 1), smoothed with a Gaussian of `sigma` that is
    cut off at 3 sigma. So the affine map and the length of the waves scale with the image, while
    waves of noise on pixels, once smoothed, move these by height / sigma pixels at any size.
    Samples are linear; both maps mirror what lies beyond the border, the second with the outermost
    pixel repeated.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        generators: one an image.
        height: of the waves before smoothing; 0 for none.
        sigma: of the smoothing; 0 for none.
        reach: of the affine map's points.

    Returns:
        float32 (N, 3, H, W) in [0, 1].
    """
    rows, columns = images.shape[2:]
    side = min(rows, columns)
    responses = _response(rows, sigma * side), _response(columns, sigma * side)
    response = responses[0][:, None] * responses[1] * np.float32(height * side)
    out = np.empty_like(images)
    mapped, still = np.empty_like(images[0]), np.zeros((2, rows, columns), np.float32)
    for image, moved, generator in zip(images, out, generators, strict=True):
        _sample(image, _affine(generator, rows, columns, reach * side), still, 0, mapped)
        noise = generator.random((2, rows, columns), dtype=np.float32)
        noise *= 2
        noise -= 1
        waves = idctn(dctn(noise, axes=(1, 2)) * response, axes=(1, 2), overwrite_x=True)
        _sample(mapped, _IDENTITY, waves, 1, moved)
    return out


def _affine(
    generator: np.random.Generator, height: int, width: int, reach: float
) -> NDArray[np.float64]:
    """Where the pixels of the result come from: (2, 3), times (x, y, 1)."""
    third = min(height, width) // 3
    around = np.array([[1, 1], [1, -1], [-1, -1]]) * third
    before = (np.array([width // 2, height // 2]) + around).astype(np.float32)
    after = before + generator.uniform(-reach, reach, size=(3, 2)).astype(np.float32)
    return np.asarray(cv2.getAffineTransform(after, before), np.float64)


@lru_cache(maxsize=16)
def _response(side: int, sigma: float) -> NDArray[np.float32]:
    """What a Gaussian filter, edges mirrored, does to each coefficient of a DCT-II, (side,)."""
    steps = np.arange(1, int(3 * sigma + 0.5) + 1)
    weights = np.exp(-((steps / max(sigma, 1e-9)) ** 2) / 2)
    waves = np.cos(np.pi / side * np.outer(np.arange(side), steps))
    return ((1 + 2 * waves @ weights) / (1 + 2 * weights.sum())).astype(np.float32)


@njit(cache=True, nogil=True, error_model="numpy")
def _mirror(place: int, side: int, repeated: int) -> int:
    """The pixel seen at a place beyond the border, the outermost one `repeated` (0 or 1)."""
    period = 2 * (side - 1 + repeated)
    place %= period
    return place if place < side else period - repeated - place


@njit(cache=True, nogil=True, error_model="numpy")
def _sample(
    image: NDArray[np.float32],
    affine: NDArray[np.float64],
    waves: NDArray[np.float32],
    repeated: int,
    out: NDArray[np.float32],
) -> None:
    """Linear samples of `image` (3, H, W) at affine · (x, y, 1) + waves, (2, H, W) in x and in y.

    Beyond the border the image is mirrored, the outermost pixel `repeated` (0 or 1).
    """
    height, width = image.shape[1:]
    planes = image.reshape(3, height * width)
    corners = np.empty((4, width), np.uint32)
    right, down = np.empty(width, np.float32), np.empty(width, np.float32)
    for row in range(height):
        for column in range(width):
            x = affine[0, 0] * column + affine[0, 1] * row + affine[0, 2] + waves[0, row, column]
            y = affine[1, 0] * column + affine[1, 1] * row + affine[1, 2] + waves[1, row, column]
            left, top = int(np.floor(x)), int(np.floor(y))
            right[column], down[column] = x - left, y - top
            last, bottom = left + 1, top + 1
            if left < 0 or last >= width:
                left, last = _mirror(left, width, repeated), _mirror(last, width, repeated)
            if top < 0 or bottom >= height:
                top, bottom = _mirror(top, height, repeated), _mirror(bottom, height, repeated)
            corners[0, column], corners[1, column] = top * width + left, top * width + last
            corners[2, column], corners[3, column] = bottom * width + left, bottom * width + last
        for c in range(3):
            plane, line = planes[c], out[c, row]
            for column in range(width):
                a, b = plane[corners[0, column]], plane[corners[2, column]]
                upper = a + right[column] * (plane[corners[1, column]] - a)
                lower = b + right[column] * (plane[corners[3, column]] - b)
                line[column] = upper + down[column] * (lower - upper)
