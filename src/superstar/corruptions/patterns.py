"""Patterns laid over images, of ImageNet-C̄ (Mintun, Kirillov & Xie, 2021).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and one generator an image, and
returns float32 of the same shape, not yet clipped to [0, 1]. Lengths are in shorter sides of the
image, so that patterns grow with it; waves of a single frequency alone are in pixels.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.corruptions.noise import Generators

_GRAY = np.float32(128 / 255)


def single_frequency_greyscale(
    images: NDArray[np.float32], generators: Generators, height: float
) -> NDArray[np.float32]:
    """Add a plane wave from -`height` to `height`, the same to all channels.

    It has two frequencies, down and across. One is uniform up to π a pixel, the other up to the
    first.
    """
    rows, columns = (np.arange(side) for side in images.shape[2:])
    out = np.empty_like(images)
    for image, waved, generator in zip(images, out, generators, strict=True):
        most = generator.uniform(0, np.pi)
        down, across = generator.permutation([most, generator.uniform(-most, most)])
        phase = generator.uniform(0, 2 * np.pi)
        first = np.stack([np.sin(down * rows + phase), np.cos(down * rows + phase)], axis=1)
        second = np.stack([np.cos(across * columns), np.sin(across * columns)])
        np.add(image, (height * first @ second).astype(np.float32), out=waved)
    return out


def cocentric_sine_waves(
    images: NDArray[np.float32], generators: Generators, height: float
) -> NDArray[np.float32]:
    """Add wavy rings around a random place, each a ramp from -`height` / 2 to `height` / 2.

    Rings are up to 0.1 wide. Their radius varies by up to 0.1 with a sine of up to 10 periods a
    turn, which need not be whole.
    """
    rows, columns = images.shape[2:]
    side = min(rows, columns)
    out = np.empty_like(images)
    for image, ringed, generator in zip(images, out, generators, strict=True):
        down, right = _from(generator.uniform(0, [rows, columns]), rows, columns)
        periods = generator.uniform(0, 10)
        wave, width = generator.uniform(0, 0.1 * side, size=2)
        rings = np.arctan2(right, down)
        rings *= np.float32(periods)
        np.sin(rings, out=rings)
        rings *= np.float32(wave)
        rings += np.sqrt(down**2 + right**2)
        rings /= np.float32(width)
        rings -= np.floor(rings)
        rings -= np.float32(0.5)
        rings *= np.float32(height)
        np.add(image, rings, out=ringed)
    return out


def plasma_noise(
    images: NDArray[np.float32], generators: Generators, share: float
) -> NDArray[np.float32]:
    """Weighted sum of the image and, with weight `share`, of swirling colours from -1 to 1.

    The places of pixels, measured in 0.075 to 0.2, are moved four to six times, each time by waves
    of the place, finer and lower than before; the channels are sines of where they end.
    """
    rows, columns = images.shape[2:]
    out = np.empty_like(images)
    for image, coloured, generator in zip(images, out, generators, strict=True):
        turn = generator.uniform(0, 6 * np.pi)
        rounds = generator.integers(4, 7)
        sharpness = generator.uniform(0.5, 1)
        unit = generator.uniform(0.075, 0.2) * min(rows, columns)
        y = (np.arange(rows, dtype=np.float32) / np.float32(unit))[:, None]
        x = np.arange(columns, dtype=np.float32) / np.float32(unit)
        for i in range(rounds):
            finer, phase = np.float32(1.93**i), np.float32(turn / 1.15**i)
            lower = np.float32((2.25 - sharpness) ** -i)
            right, down = np.cos(finer * y + phase) * lower, np.sin(finer * x + phase) * lower
            x = x + (right - np.float32(0.3) * down)
            y = y + (down + np.float32(0.3) * right)
        single = np.float32(turn)
        np.sin(x - single, out=coloured[0])
        np.sin((x + y + np.sin(single)) / 2, out=coloured[1])
        np.sin(y + single, out=coloured[2])
        coloured *= np.float32(share)
        coloured += np.float32(1 - share) * image
    return out


def perlin_noise(
    images: NDArray[np.float32], generators: Generators, share: float
) -> NDArray[np.float32]:
    """Weighted sum of the image and, with weight `share`, of gray turbulence from 0.5 to 1.

    Turbulence is the sum of five octaves of Perlin's (1985) gradient noise, without sign; the first
    has seven cells in the shorter side, each further one cells half as wide and half the height.
    """
    rows, columns = (np.arange(side, dtype=np.float32) for side in images.shape[2:])
    scale = np.float32(7 / min(images.shape[2:]))
    out = np.empty_like(images)
    clouds = np.empty(images.shape[2:], np.float32)
    for image, cloudy, generator in zip(images, out, generators, strict=True):
        order = generator.permutation(256)
        gradients = generator.uniform(-1, 1, size=(256, 2))
        gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
        _turbulence(rows * scale, columns * scale, order, gradients.astype(np.float32), clouds)
        # Octaves are 1.5 times as high as their sums of gradients, and enter by half.
        np.minimum(np.float32(0.5) + np.float32(0.75) * clouds, 1, out=clouds)
        clouds *= np.float32(share)
        np.add(np.float32(1 - share) * image, clouds, out=cloudy)
    return out


def checkerboard_cutout(
    images: NDArray[np.float32], generators: Generators, share: float
) -> NDArray[np.float32]:
    """Cover a share of the black fields of a turned checkerboard with gray.

    Fields are 0.1 to 0.25 wide, the corner of four of them in the image's first pixel.
    """
    rows, columns = images.shape[2:]
    down, right = _from((0, 0), rows, columns)
    out = np.empty_like(images)
    for image, covered, generator in zip(images, out, generators, strict=True):
        angle = generator.uniform(0, 2 * np.pi)
        field = max(generator.uniform(0.1, 0.25) * min(rows, columns), 1)
        reach = int(np.hypot(rows, columns) / field) + 1
        chosen = generator.random((2 * reach, 2 * reach), dtype=np.float32) < share
        chosen[(np.add.outer(*2 * [np.arange(2 * reach)]) % 2) == 1] = False
        cosine, sine = np.float32(np.cos(angle) / field), np.float32(np.sin(angle) / field)
        one = np.floor(cosine * down + sine * right).astype(np.int32)
        other = np.floor(cosine * right - sine * down).astype(np.int32)
        covered[:] = image
        covered[:, chosen[one + reach, other + reach]] = _GRAY
    return out


def _from(
    place: tuple[float, float] | NDArray[np.float64], rows: int, columns: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How far pixels lie below and right of a place, float32 (H, 1) and (W,)."""
    down, right = np.arange(rows) - place[0], np.arange(columns) - place[1]
    return down.astype(np.float32)[:, None], right.astype(np.float32)


@njit(cache=True, nogil=True, error_model="numpy")
def _turbulence(
    rows: NDArray[np.float32],
    columns: NDArray[np.float32],
    order: NDArray[np.int64],
    gradients: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Sum of octaves at rows (H,) × columns (W,), in cells of the first, into `out`, (H, W).

    The gradient of a cell's corner (row, column) is gradients[order[order[row] + column]], of 256.
    """
    mask = len(order) - 1
    two, three = np.float32(2), np.float32(3)
    out[:] = 0
    finer = np.float32(1)
    for _ in range(5):
        corners = int(columns[-1] * finer) + 2
        upper = np.empty((2, corners), np.float32)
        lower = np.empty((2, corners), np.float32)
        for y in range(len(rows)):
            place = rows[y] * finer
            cell = int(place)
            down = place - np.float32(cell)
            for k in range(corners):
                for c in range(2):
                    upper[c, k] = gradients[order[(order[cell & mask] + k) & mask], c]
                    lower[c, k] = gradients[order[(order[(cell + 1) & mask] + k) & mask], c]
            weight = down * down * (three - two * down)
            for x in range(len(columns)):
                place = columns[x] * finer
                k = int(place)
                right = place - np.float32(k)
                share = right * right * (three - two * right)
                up = down - np.float32(1)
                left = right - np.float32(1)
                a = down * upper[0, k] + right * upper[1, k]
                b = down * upper[0, k + 1] + left * upper[1, k + 1]
                c = up * lower[0, k] + right * lower[1, k]
                d = up * lower[0, k + 1] + left * lower[1, k + 1]
                above, below = a + share * (b - a), c + share * (d - c)
                out[y, x] += abs(above + weight * (below - above)) / finer
        finer *= two
