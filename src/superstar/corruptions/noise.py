"""Noise of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and one generator an image, and
returns float32 of the same shape, not yet clipped to [0, 1].
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
        generator.standard_normal(out=image, dtype=np.float32)
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
    """Count photons: Poisson(photons · x) / photons, `photons` being the mean count at x = 1."""
    out = np.empty_like(images)
    for image, counts, generator in zip(images, out, generators, strict=True):
        counts[...] = generator.poisson(image * photons)
    out /= photons
    return out


def impulse_noise(
    images: NDArray[np.float32], generators: Generators, amount: float
) -> NDArray[np.float32]:
    """Replace a share `amount` of all values, half of them by 1 (salt), half by 0 (pepper).

    Values, not pixels: each channel has its own impulses, as with
    `skimage.util.random_noise(mode="s&p")`.
    """
    draw = uniform(images, generators)
    out = np.where(draw < amount, np.float32(0), images)
    out[draw < amount / 2] = 1
    return out
