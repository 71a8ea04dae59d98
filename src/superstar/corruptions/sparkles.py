"""Light with rays, of ImageNet-C̄ and CIFAR-10-C̄ (Mintun, Kirillov & Xie, 2021).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and one generator an image, and
returns float32 of the same shape. Lengths are in shorter sides of the image. A star has 50 to 199
rays; their lengths are normal around its radius, with a standard deviation of a quarter of it, and
run linearly from one to the next.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.corruptions.noise import Generators


def sparkles(
    images: NDArray[np.float32], generators: Generators, radius: float
) -> NDArray[np.float32]:
    """Whiten the image around five stars of `radius`, rays being at least a pixel long.

    White fades with the square of the distance and towards the edges of each ray.
    """
    rows, columns = images.shape[2:]
    out = np.empty_like(images)
    veil = np.empty((rows, columns), np.float32)
    for image, whitened, generator in zip(images, out, generators, strict=True):
        veil[:] = 1
        for _ in range(5):
            place = generator.uniform(0, [rows, columns])
            rays = np.maximum(_rays(generator, radius * min(rows, columns)), 1)
            veil *= 1 - _shine(place, rays, 1, rows, columns)
        _whiten(image, veil, whitened)
    return out


def inverse_sparkles(
    images: NDArray[np.float32], generators: Generators, power: float
) -> NDArray[np.float32]:
    """Whiten the image but for a star of radius 0.25 near its centre.

    Beyond a ray's length what is left of the image falls with twice the `power` of the distance.
    """
    rows, columns = images.shape[2:]
    out = np.empty_like(images)
    for image, whitened, generator in zip(images, out, generators, strict=True):
        place = generator.uniform(0.25, 0.75, size=2) * (rows, columns)
        rays = _rays(generator, 0.25 * min(rows, columns))
        _whiten(image, _shine(place, rays, power, rows, columns), whitened)
    return out


def _rays(generator: np.random.Generator, radius: float) -> NDArray[np.float32]:
    """Lengths of a star's rays in pixels, the first once more at the end."""
    lengths = radius * (1 + 0.25 * generator.standard_normal(generator.integers(50, 200)))
    return np.append(lengths, lengths[0]).astype(np.float32)


def _shine(
    place: NDArray[np.float64], rays: NDArray[np.float32], power: float, rows: int, columns: int
) -> NDArray[np.float32]:
    """How bright a star is at every pixel, float32 (H, W) in [0, 1]."""
    down = (np.arange(rows) - place[0]).astype(np.float32)[:, None]
    right = (np.arange(columns) - place[1]).astype(np.float32)
    at = np.arctan2(right, down)
    at += np.float32(np.pi)
    at *= np.float32((len(rays) - 1) / (2 * np.pi))
    near, across = down**2 + np.float32(1e-4) + right**2, np.empty_like(at)
    _along_rays(at.reshape(-1), rays, near.reshape(-1), across.reshape(-1))
    shine = near if power == 1 else np.power(near, np.float32(power), out=near)
    shine *= across
    return np.minimum(shine, 1, out=shine)


@njit(cache=True, nogil=True, error_model="numpy")
def _along_rays(
    at: NDArray[np.float32],
    rays: NDArray[np.float32],
    near: NDArray[np.float32],
    across: NDArray[np.float32],
) -> None:
    """Turn squared distances `near` into squares of (ray / distance), and say how far across a ray.

    `at` is the number of the ray, with its share of the way to the next; `across` becomes 1 in the
    middle of it and 0.75 at its edges.
    """
    last, half, one = len(rays) - 2, np.float32(0.5), np.float32(1)
    for i in range(len(at)):
        ray = min(int(at[i]), last)
        share = at[i] - np.float32(ray)
        length = rays[ray] + share * (rays[ray + 1] - rays[ray])
        near[i] = length * length / near[i]
        across[i] = one - (share - half) * (share - half)


def _whiten(
    image: NDArray[np.float32], veil: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Leave of the distance to white, (3, H, W), a share `veil` (H, W)."""
    np.subtract(1, image, out=out)
    out *= veil
    np.subtract(1, out, out=out)
