"""The noise that a blind denoiser learns from: several kinds, stored as 8 bits or JPEG or not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from superstar.errors import InputError, check_name
from superstar.images import from_uint8, to_uint8
from superstar.jpeg import through_jpeg

LEAST_NOISE = 2 / 255
"""What is added to the noise's root mean square before the loss is divided by it."""


@dataclass(frozen=True)
class NoiseMix:
    """What may happen to an image. All strengths are drawn anew for every image.

    Attributes:
        shares: how often each of `KINDS` occurs; they need not sum to 1.
        largest_sigma: strongest Gaussian and uniform noise, as a standard deviation, of 255.
        lean: power of the uniform draw that sigma follows; above 1 weak noise is more frequent.
        photons: fewest and most photons that the brightest pixels count, of Poisson noise.
        impulse: largest share of the values that become 0 or 1.
        speckle: largest standard deviation, as a share of the value.
        stored: share of the images with Gaussian noise that are clipped to [0, 1] and rounded to 8
            bits, as images of all other kinds are.
        jpeg: share of the stored images that go through JPEG.
        jpeg_qualities: lowest and highest quality of JPEG.

    Raises:
        InputError: an unknown kind.
    """

    shares: Mapping[str, float]
    largest_sigma: float
    lean: float
    photons: tuple[float, float]
    impulse: float
    speckle: float
    stored: float
    jpeg: float
    jpeg_qualities: tuple[int, int]

    def __post_init__(self) -> None:
        for name in self.shares:
            check_name("kind of noise", name, KINDS)
        if not sum(self.shares.values()) > 0:
            raise InputError("some kind of noise must have a share above 0")

    def __call__(self, clean: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Add noise to clean images.

        Args:
            clean: float32 (N, 3, H, W) in [0, 1].
            generator: where the draws come from.

        Returns:
            The noisy images; what is to be made of them, which is the clean ones, or the noisy ones
            themselves where nothing but JPEG was done; and the weight of each squared error, (N, 1,
            1, 1). Errors grow about as the noise's standard deviation does, and the weight is the
            reciprocal of it, so that all strengths count alike.
        """
        count = len(clean)
        names = list(self.shares)
        odds = torch.tensor([self.shares[name] for name in names])
        kinds = torch.multinomial(odds, count, replacement=True, generator=generator)
        noisy = clean.clone()
        for index, name in enumerate(names):
            which = (kinds == index).nonzero()[:, 0]
            if len(which):
                noisy[which] = KINDS[name](self, clean[which], generator)
        rms = (noisy - clean).square().mean((1, 2, 3), keepdim=True).sqrt()
        gaussian = torch.tensor([name == "gaussian" for name in names])[kinds]
        stored = ~gaussian | (torch.rand(count, generator=generator) < self.stored)
        noisy[stored] = from_uint8(to_uint8(noisy[stored]))
        through = stored & (torch.rand(count, generator=generator) < self.jpeg)
        low, high = self.jpeg_qualities
        qualities = torch.randint(low, high + 1, (count,), generator=generator).tolist()
        for index in through.nonzero()[:, 0].tolist():
            noisy[index] = through_jpeg(noisy[index : index + 1], qualities[index])[0]
        untouched = torch.tensor([name == "none" for name in names])[kinds]
        target = torch.where(untouched[:, None, None, None], noisy, clean)
        return noisy, target, 1 / (rms + LEAST_NOISE)

    def _sigma(self, count: int, generator: torch.Generator) -> Tensor:
        return _uniform(count, generator) ** self.lean * (self.largest_sigma / 255)


def _uniform(count: int, generator: torch.Generator) -> Tensor:
    return torch.rand(count, 1, 1, 1, generator=generator)


def _none(mix: NoiseMix, clean: Tensor, generator: torch.Generator) -> Tensor:
    return clean


def _gaussian(mix: NoiseMix, clean: Tensor, generator: torch.Generator) -> Tensor:
    sigma = mix._sigma(len(clean), generator)
    return clean + sigma * torch.randn(clean.shape, generator=generator)


def _uniform_noise(mix: NoiseMix, clean: Tensor, generator: torch.Generator) -> Tensor:
    reach = mix._sigma(len(clean), generator) * 3**0.5
    return clean + reach * (2 * torch.rand(clean.shape, generator=generator) - 1)


def _poisson(mix: NoiseMix, clean: Tensor, generator: torch.Generator) -> Tensor:
    low, high = torch.tensor(mix.photons).log()
    photons = (low + (high - low) * _uniform(len(clean), generator)).exp()
    return torch.poisson(clean * photons, generator=generator) / photons


def _speckle(mix: NoiseMix, clean: Tensor, generator: torch.Generator) -> Tensor:
    strength = mix.speckle * _uniform(len(clean), generator)
    return clean * (1 + strength * torch.randn(clean.shape, generator=generator))


def _impulse(mix: NoiseMix, clean: Tensor, generator: torch.Generator) -> Tensor:
    share = mix.impulse * _uniform(len(clean), generator)
    drawn = torch.rand(clean.shape, generator=generator)
    struck = torch.where(drawn < share / 2, torch.zeros(()), clean)
    return torch.where(drawn > 1 - share / 2, torch.ones(()), struck)


KINDS: dict[str, Callable[[NoiseMix, Tensor, torch.Generator], Tensor]] = {
    "none": _none,
    "gaussian": _gaussian,
    "uniform": _uniform_noise,
    "poisson": _poisson,
    "speckle": _speckle,
    "impulse": _impulse,
}
"""Kinds of noise by name; `none` leaves the image as it is."""
