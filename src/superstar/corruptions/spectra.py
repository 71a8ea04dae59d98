"""Noise of a given spectrum, of ImageNet-C̄ and CIFAR-10-C̄ (Mintun, Kirillov & Xie, 2021).

Every function takes images, float32 (N, 3, H, W) in [0, 1], and one generator an image, and
returns float32 of the same shape, not yet clipped to [0, 1].

The noise is the real part of a sum of waves whose heights follow from their frequencies and whose
phases are random. As in the benchmark, wave (k, l) has the phase of wave (-1 - k, -1 - l), so that
the noise is not quite stationary: its variance is up to twice as high around the image's corners
and centre, and low around the middles of its sides. Frequencies are counted in the shorter side.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2

from superstar.corruptions.noise import Generators


def blue_noise_sample(
    images: NDArray[np.float32], generators: Generators, threshold: float
) -> NDArray[np.float32]:
    """Blacken the pixels at which blue noise, of standard deviation 1, is at most `threshold`.

    Waves of blue noise are as high as their frequency, so that black pixels keep apart.
    """
    heights = _frequencies(*images.shape[2:])
    out = np.empty_like(images)
    for image, struck, generator in zip(images, out, generators, strict=True):
        np.multiply(image, _noise(heights, generator, image.shape[2]) > threshold, out=struck)
    return out


def brownish_noise(
    images: NDArray[np.float32], generators: Generators, sigma: float
) -> NDArray[np.float32]:
    """Add noise of standard deviation `sigma` to each channel by itself, mostly broad stains.

    Waves are 1 / (f² + 1) high, f being their number in the shorter side. That of f = 0 shifts the
    whole channel; the standard deviation does not count it.
    """
    heights = np.reciprocal(_frequencies(*images.shape[2:]) ** 2 + 1)
    out = np.empty_like(images)
    for image, noisy, generator in zip(images, out, generators, strict=True):
        for channel, changed in zip(image, noisy, strict=True):
            noise = _noise(heights, generator, image.shape[2])
            noise *= np.float32(sigma)
            np.add(channel, noise, out=changed)
    return out


@lru_cache(maxsize=16)
def _frequencies(height: int, width: int) -> NDArray[np.float32]:
    """Waves in the shorter side, (H, W // 2 + 1), in the order of a real Fourier transform."""
    side = min(height, width)
    down, across = np.fft.fftfreq(height) * side, np.fft.rfftfreq(width) * side
    return np.hypot(down[:, None], across).astype(np.float32)


def _noise(
    heights: NDArray[np.float32], generator: np.random.Generator, width: int
) -> NDArray[np.float32]:
    """Waves of `heights` (H, W // 2 + 1) and random phases, (H, W), of standard deviation 1."""
    shape = (len(heights), width)
    count = shape[0] * width
    phases = generator.random((count + 1) // 2, dtype=np.float32)
    phases *= np.float32(2 * np.pi)
    waves = np.empty(count, np.complex64)
    half = waves[: len(phases)]
    half.real, half.imag = np.cos(phases), np.sin(phases)
    # The order of frequencies 0, 1, ..., -2, -1 puts -1 - k where k is from the other end.
    waves[count - len(phases) :] = half[::-1]
    waves = waves.reshape(shape)
    # The real part leaves of every wave its mean with the conjugate of the opposite one.
    opposite = np.roll(waves, (1, 1), (0, 1)).conj()
    columns = heights.shape[1]
    spectrum = (waves[:, :columns] + opposite[:, :columns]) * heights
    noise: NDArray[np.float32] = irfft2(spectrum, shape, overwrite_x=True)
    noise /= noise.std()
    return noise
