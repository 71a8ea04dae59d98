"""Refraction by waves of water, of ImageNet-C̄ (Mintun, Kirillov & Xie, 2021)."""

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.corruptions.noise import Generators

_REFRACTION = 4.0
"""Index of the water's refraction."""


def caustic_refraction(
    images: NDArray[np.float32], generators: Generators, depth: float, light: float
) -> NDArray[np.float32]:
    """See the image through a wavy surface that bends and scatters light.

    The surface is as high as a network of caustics is bright, smoothed by a Gaussian of one pixel,
    and 0 outside the image. A pixel shows, by linear samples, the place to which a ray is bent that
    falls on the surface from above, `depth` above the image; where the surface is within 2.6
    degrees of level, rays go straight. Beyond the border is black. Slopes are lit by `light` times
    the surface's change from the upper right to the lower left.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        generators: one an image.
        depth: of the water, in shorter sides of the image.
        light: on slopes.

    Returns:
        float32 (N, 3, H, W), not yet clipped to [0, 1].
    """
    rows, columns = images.shape[2:]
    side = min(rows, columns)
    out = np.empty_like(images)
    for image, refracted, generator in zip(images, out, generators, strict=True):
        time = generator.uniform(0.5, 2)
        period = generator.uniform(0.75, 1.25) * side
        surface = caustics(rows, columns, time, period)
        smooth = cv2.GaussianBlur(surface, (9, 9), 1, borderType=cv2.BORDER_REFLECT)
        _refract(image, np.pad(smooth, 1), np.float32(depth * side), np.float32(light), refracted)
    return out


def caustics(rows: int, columns: int, time: float, period: float) -> NDArray[np.float32]:
    """Bright lines as on the ground of a pool at a time, float32 (H, W) in [0, 1].

    The pattern repeats itself after `period` pixels in both directions. As a well-known shader
    draws it: places, as angles, are moved five times by waves of where they were moved to before,
    and it is bright where the movements' sines and cosines stay small.
    """
    places = (np.arange(rows)[:, None], np.arange(columns))
    # The shader counts angles from -250; waves see whole turns less of it.
    angles = [place / period % 1 * (2 * np.pi) - 250 for place in places]
    far_y, far_x = ((0.005 * angle).astype(np.float32) for angle in angles)
    y, x = ((angle + 80 * np.pi).astype(np.float32) for angle in angles)
    down, right = y, x
    total = np.ones((rows, columns), np.float32)
    for i in range(1, 6):
        t = np.float32(time * (1 - 3.5 / i))
        down, right = (
            y + np.cos(t - down) + np.sin(t + right),
            x + np.sin(t - right) + np.cos(t + down),
        )
        sine, cosine = np.sin(down + t), np.cos(right + t)
        far = np.sqrt((far_y * cosine) ** 2 + (far_x * sine) ** 2)
        total += np.abs(sine * cosine) / far
    total /= 5
    dark = np.float32(1.17) - total ** np.float32(1.4)
    for _ in range(3):  # the eighth power
        dark *= dark
    return np.minimum(dark, 1, out=dark)


@njit(cache=True, nogil=True, error_model="numpy")
def _refract(
    image: NDArray[np.float32],
    surface: NDArray[np.float32],
    depth: np.float32,
    light: np.float32,
    out: NDArray[np.float32],
) -> None:
    """Look at `image` (3, H, W) through `surface` (H + 2, W + 2), one pixel larger on all sides."""
    height, width = image.shape[1:]
    planes = image.reshape(3, height * width)
    one, index = np.float32(1), np.float32(_REFRACTION)
    # Places and weights of the four pixels around the place that is seen.
    corners = np.empty((4, width), np.uint32)
    weights, lit = np.empty((4, width), np.float32), np.empty(width, np.float32)
    for row in range(height):
        above, here, below = surface[row], surface[row + 1], surface[row + 2]
        for column in range(width):
            slope_y = below[column + 1] - above[column + 1]
            slope_x = here[column + 2] - here[column]
            # Cosine of the ray's angle to the surface's normal.
            cosine = one / np.sqrt(one + slope_y * slope_y + slope_x * slope_x)
            sine = np.sqrt(one - cosine * cosine) / index
            bend = depth * cosine * (np.sqrt(one - sine * sine) - cosine / index)
            if cosine >= np.float32(0.999):
                bend = np.float32(0)
            lit[column] = light * (slope_y - slope_x)
            y, x = np.float32(row) + bend * slope_y, np.float32(column) + bend * slope_x
            top, left = int(np.floor(y)), int(np.floor(x))
            down, right = y - np.float32(top), x - np.float32(left)
            for k in range(4):
                v, h = top + k // 2, left + k % 2
                inside = 0 <= v < height and 0 <= h < width
                corners[k, column] = v * width + h if inside else 0
                weight = (down if k // 2 else one - down) * (right if k % 2 else one - right)
                weights[k, column] = weight if inside else np.float32(0)
        for c in range(3):
            plane, line = planes[c], out[c, row]
            for column in range(width):
                total = lit[column]
                for k in range(4):
                    total += weights[k, column] * plane[corners[k, column]]
                line[column] = total
