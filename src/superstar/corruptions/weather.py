"""Weather of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1), and spatter.

Every function takes images, float32 (N, 3, H, W) in [0, 1], and one generator an image, and
returns float32 of the same shape, not yet clipped to [0, 1]. Constants in pixels (the size of
flakes and drops, the length of a flake's trail, the crystals of frost) stay in pixels at every
size of image; clouds of fog grow with the longer side. Layers are not rounded to 8 bits on the
way, save where an algorithm on 8 bits decides their shape.
"""

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.corruptions.blur import blur_along_line, gaussian_blur, zoom_positions
from superstar.corruptions.noise import Generators
from superstar.corruptions.normal import fill_normal
from superstar.corruptions.plasma import plasma
from superstar.corruptions.textures import TEXTURES, frost_texture

_TURQUOISE = np.array([175, 238, 238], dtype=np.float32).reshape(3, 1, 1) / 255
_BROWN = np.array([63, 42, 20], dtype=np.float32).reshape(3, 1, 1) / 255


def fog(
    images: NDArray[np.float32], generators: Generators, density: float, decay: float
) -> NDArray[np.float32]:
    """Add clouds of height `density`, and scale back so that the image keeps its maximum.

    The clouds are cut from a map whose side is the power of two that holds the image's longer
    side; `decay` makes them smoother (see `plasma`). A black image has maximum 0 and stays black.
    """
    height, width = images.shape[2:]
    side = 1 << (max(height, width) - 1).bit_length()
    out = np.empty_like(images)
    for image, foggy, generator in zip(images, out, generators, strict=True):
        clouds = plasma(generator, side, decay)[:height, :width]
        brightest = image.max()
        share = brightest / (brightest + np.float32(density))
        clouds *= share * np.float32(density)
        np.multiply(image, share, out=foggy)
        foggy += clouds
    return out


def frost(
    images: NDArray[np.float32],
    generators: Generators,
    image_share: float,
    frost_share: float,
    scale: float,
) -> NDArray[np.float32]:
    """Weighted sum of the image and of a random part of one of five textures of frost.

    Textures are seen at `scale`, larger where the image would not fit. Where they come from says
    `frost_source`.
    """
    height, width = images.shape[2:]
    out = np.empty_like(images)
    for image, frosted, generator in zip(images, out, generators, strict=True):
        texture = frost_texture(int(generator.integers(TEXTURES)), height, width, scale)
        top = generator.integers(texture.shape[1] - height + 1)
        left = generator.integers(texture.shape[2] - width + 1)
        part = texture[:, top : top + height, left : left + width]
        np.multiply(part, np.float32(frost_share / 255), out=frosted)
        frosted += image * np.float32(image_share)
    return out


def snow(
    images: NDArray[np.float32], generators: Generators, *constants: float
) -> NDArray[np.float32]:
    """Whiten the image and add flakes, once as they fall and once turned by 180 degrees.

    Constants: `mean`, `deviation`, `zoom`, `threshold`, `radius`, `sigma`, `keep`. Flakes are
    normal noise, enlarged by `zoom`, cut to 0 below `threshold`, and drawn out along a line
    steeper than the diagonals (see `blur_along_line` for `radius` and `sigma`). Of the image, a
    share `keep` stays; the rest is lightened to 1.5 · gray + 0.5.
    """
    mean, deviation, zoom, threshold, radius, sigma, keep = constants
    height, width = images.shape[2:]
    # Only the centre of the noise is enlarged, so only that is drawn.
    cut = (int(np.ceil(height / zoom)), int(np.ceil(width / zoom)))
    rows = zoom_positions(height, zoom) - (height - cut[0]) // 2
    columns = zoom_positions(width, zoom) - (width - cut[1]) // 2
    out = np.empty_like(images)
    trails = np.empty((1, height, width), np.float32)
    for image, snowy, generator in zip(images, out, generators, strict=True):
        noise = _noise(cut, generator, mean, deviation)
        flakes = _flakes(noise, rows, columns, np.float32(threshold))
        blur_along_line(flakes[None], radius, sigma, generator.uniform(-135, -45), trails)
        _settle(image, trails[0], np.float32(keep), snowy)
    return out


def spatter(
    images: NDArray[np.float32],
    generators: Generators,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    strength: float,
    muddy: float,
) -> NDArray[np.float32]:
    """Splash water (`muddy` = 0) or mud (1) on the image.

    Liquid is where normal noise, smoothed with `sigma`, exceeds `threshold`. Water adds pale
    turquoise, at most `strength` of it. Mud covers with brown, its rim softened with a sigma of
    `strength` and cut off below 0.8.
    """
    out = np.empty_like(images)
    for image, wet, generator in zip(images, out, generators, strict=True):
        liquid = _smooth(_noise(image.shape[1:], generator, mean, deviation), sigma)
        if muddy:
            puddles = _threshold(liquid, threshold, cv2.THRESH_BINARY)
            cover = _threshold(_smooth(puddles, strength), 0.8, cv2.THRESH_TOZERO)
            np.multiply(image, 1 - cover, out=wet)
            wet += cover * _BROWN
        else:
            light = _water(_threshold(liquid, threshold, cv2.THRESH_TOZERO))
            np.multiply(light * np.float32(strength), _TURQUOISE, out=wet)
            wet += image
    return out


def _noise(
    shape: tuple[int, ...], generator: np.random.Generator, mean: float, deviation: float
) -> NDArray[np.float32]:
    noise = np.empty(shape, np.float32)
    fill_normal(noise, generator)
    noise *= deviation
    noise += mean
    return noise


def _water(liquid: NDArray[np.float32]) -> NDArray[np.float32]:
    """Light in drops of water, float32 (H, W) from 0 to 1: embossed distance from their rims."""
    drops = np.minimum(liquid * 255, 255).astype(np.uint8)
    rims = cv2.Canny(drops, 50, 150)
    distance = cv2.distanceTransform(255 - rims, cv2.DIST_L2, 5)
    distance = cv2.blur(np.minimum(distance, 20), (3, 3)).astype(np.uint8)
    emboss = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
    relief = cv2.filter2D(cv2.equalizeHist(distance), cv2.CV_8U, emboss)
    light = drops * cv2.blur(relief, (3, 3)).astype(np.float32)
    # A small image may hold no drop at all.
    return np.asarray(light / max(light.max(), 1), dtype=np.float32)


def _threshold(plane: NDArray[np.float32], threshold: float, kind: int) -> NDArray[np.float32]:
    """0 up to `threshold`; above it 1 (THRESH_BINARY) or as it was (THRESH_TOZERO)."""
    return np.asarray(cv2.threshold(plane, threshold, 1, kind)[1], dtype=np.float32)


def _smooth(plane: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    return gaussian_blur(plane[None, None], sigma)[0, 0]


@njit(cache=True, nogil=True, error_model="numpy")
def _flakes(
    noise: NDArray[np.float32],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    threshold: np.float32,
) -> NDArray[np.float32]:
    """Linear samples of `noise` at rows (H,) × columns (W,), 0 below the threshold, at most 1."""
    last_row, last_column = noise.shape[0] - 1, noise.shape[1] - 1
    height, width = len(rows), len(columns)
    flakes = np.empty((height, width), np.float32)
    line = np.empty(noise.shape[1], np.float32)
    for y in range(height):
        top = int(rows[y])
        upper, lower = noise[top], noise[min(top + 1, last_row)]
        weight = np.float32(rows[y] - top)
        for x in range(len(line)):
            line[x] = upper[x] + weight * (lower[x] - upper[x])
        for x in range(width):
            left = int(columns[x])
            share = np.float32(columns[x] - left)
            value = line[left] + share * (line[min(left + 1, last_column)] - line[left])
            flakes[y, x] = min(max(value, np.float32(0)), np.float32(1))
            if value < threshold:
                flakes[y, x] = 0
    return flakes


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(
    image: NDArray[np.float32],
    flakes: NDArray[np.float32],
    keep: np.float32,
    out: NDArray[np.float32],
) -> None:
    """The whitened image plus the flakes (H, W) and the flakes turned by 180 degrees."""
    height, width = flakes.shape
    for y in range(height):
        red, green, blue = image[0, y], image[1, y], image[2, y]
        flipped = flakes[height - 1 - y, ::-1].copy()
        for x in range(width):
            gray = np.float32(0.299) * red[x] + np.float32(0.587) * green[x]
            light = np.float32(1.5) * (gray + np.float32(0.114) * blue[x]) + np.float32(0.5)
            fallen = flakes[y, x] + flipped[x]
            for c in range(3):
                value = image[c, y, x]
                white = max(value, light)
                out[c, y, x] = value + (np.float32(1) - keep) * (white - value) + fallen
