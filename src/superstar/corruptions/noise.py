"""Noise of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and one generator an image, and
returns float32 of the same shape, not yet clipped to [0, 1].
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import pdtr

from superstar.corruptions.normal import fill_normal

Generators = Sequence[np.random.Generator]


def uniform(images: NDArray[np.float32], generators: Generators) -> NDArray[np.float32]:
    """Values from [0, 1) in the shape of `images`, image i's from generator i."""
    out = np.empty_like(images)
    for image, generator in zip(out, generators, strict=True):
        generator.random(out=image, dtype=np.float32)
    return out


def _normal(images: NDArray[np.float32], generators: Generators) -> NDArray[np.float32]:
    out = np.empty_like(images)
    for image, generator in zip(out, generators, strict=True):
        fill_normal(image, generator)
    return out


def gaussian_noise(
    images: NDArray[np.float32], generators: Generators, sigma: float
) -> NDArray[np.float32]:
    """Add normal noise of standard deviation `sigma`, independent in every value."""
    out = _normal(images, generators)
    out *= sigma
    out += images
    return out


def speckle_noise(
    images: NDArray[np.float32], generators: Generators, sigma: float
) -> NDArray[np.float32]:
    """Multiply every value by 1 + noise, the noise normal of standard deviation `sigma`."""
    out = _normal(images, generators)
    out *= sigma
    out += 1
    out *= images
    return out


def shot_noise(
    images: NDArray[np.float32], generators: Generators, photons: float
) -> NDArray[np.float32]:
    """Count photons: Poisson(photons · x) / photons, `photons` being the mean count at x = 1.

    The count is the sum of two independent ones: at the 8-bit level at or below x, by inversion of
    its distribution from a table, and at the small rest, by inversion along its terms. Each uses 32
    random bits.
    """
    table, guide = _poisson_table(photons)
    out = np.empty_like(images)
    for image, noisy, generator in zip(images, out, generators, strict=True):
        bits = generator.bit_generator.random_raw(image.size)
        _count_photons(image.ravel(), bits, photons, table, guide, noisy.reshape(-1))
    return out


def impulse_noise(
    images: NDArray[np.float32], generators: Generators, amount: float
) -> NDArray[np.float32]:
    """Replace a share `amount` of all values, half of them by 1 (salt), half by 0 (pepper).

    Values, not pixels: each channel has its own impulses, as with
    `skimage.util.random_noise(mode="s&p")`.
    """
    out = uniform(images, generators)
    _set_impulses(images.ravel(), np.float32(amount), np.float32(amount / 2), out.reshape(-1))
    return out


@lru_cache(maxsize=16)
def _poisson_table(photons: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distributions of the counts at the 256 levels of 8 bits, and where to start in each.

    Returns:
        2^32 · P(count <= k) at level l, (256, K), the last 2^32; and the least k at which that
        exceeds 2^24 · b, (256, 256) by l and b.
    """
    most = int(photons + 10 * photons**0.5 + 20)
    rates = photons * np.arange(256) / 255
    table = np.rint(2.0**32 * pdtr(np.arange(most + 1), rates[:, None])).astype(np.int64)
    table[:, -1] = 2**32
    starts = 2**24 * np.arange(256)
    guide = np.stack([np.searchsorted(row, starts, side="right") for row in table])
    return table, guide


@njit(cache=True, nogil=True, error_model="numpy")
def _count_photons(
    values: NDArray[np.float32],
    bits: NDArray[np.uint64],
    photons: float,
    table: NDArray[np.int64],
    guide: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    for i in range(len(values)):
        # A float32 may lie a little below the level that it stands for.
        level = int(values[i] * (255 * (1 + 2.0**-22)))
        rest = max(photons * (np.float64(values[i]) - level / 255), 0.0)
        draw = np.int64(bits[i] >> np.uint64(32))
        count = guide[level, draw >> 24]
        while draw >= table[level, count]:
            count += 1
        share = np.float64(bits[i] & np.uint64(2**32 - 1)) * 2.0**-32
        if share >= 1 - rest:  # else below exp(-rest)
            term = np.exp(-rest)
            below, more = term, 0
            while share >= below and term > 0:
                more += 1
                term *= rest / more
                below += term
            count += more
        out[i] = np.float32(count) / np.float32(photons)


@njit(cache=True, nogil=True)
def _set_impulses(
    values: NDArray[np.float32],
    amount: np.float32,
    salt: np.float32,
    draws: NDArray[np.float32],
) -> None:
    """Put impulses in the place of draws below their shares, values in the place of the rest."""
    for i in range(len(values)):
        value = values[i] if draws[i] >= amount else np.float32(0)
        draws[i] = np.float32(1) if draws[i] < salt else value
