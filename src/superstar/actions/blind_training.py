"""Training of a denoiser for noise of every kind and strength, from images of several sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from superstar.actions.noise_mix import NoiseMix
from superstar.errors import InputError
from superstar.muon import Muon
from superstar.training import Schedule, fit, random_windows

WARM_UP = 0.03
"""Share of the training in which the learning rate rises."""


@dataclass(frozen=True)
class Crops:
    """Where crops come from.

    Attributes:
        images: uint8 (N, H, W, 3); may be memory-mapped.
        side: of the crops, in pixels.
        share: how often a step takes its crops from here; shares need not sum to 1.
    """

    images: NDArray[np.uint8]
    side: int
    share: float


@dataclass(frozen=True)
class BlindSchedule(Schedule):
    """A schedule of rounds, which are its epochs, with Muon; a checkpoint follows each round.

    Attributes:
        steps: a round.
        pixels: of all crops of a step together.
    """

    epochs: int = 70
    batch_size: int = field(default=1, init=False)
    learning_rate: float = 2e-3
    warm_up: float = WARM_UP
    clip_norm: float | None = 0.5
    optimizer: type[torch.optim.AdamW] = Muon
    steps: int = 100
    pixels: int = 2**16


def train_blind_denoiser(
    network: nn.Module, sources: Sequence[Crops], noise: NoiseMix, schedule: BlindSchedule
) -> list[float]:
    """Train a network in place to take all noise off that a mix may add.

    Args:
        network: from images to images, as `UNet`.
        sources: of the crops. All crops of a step come from one; they are mirrored and turned.
        noise: what is done to the crops.
        schedule: of the training.

    Returns:
        Mean loss of each round.

    Raises:
        InputError: no sources, or an argument out of its range.
    """
    if not sources:
        raise InputError("a denoiser cannot be trained without images")
    shares = torch.tensor([source.share for source in sources])
    tensors = [torch.from_numpy(source.images) for source in sources]

    def make_batch(_: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        chosen = int(torch.multinomial(shares, 1, generator=generator))
        images, side = tensors[chosen], sources[chosen].side
        count = max(1, schedule.pixels // side**2)
        indices = torch.randint(len(images), (count,), generator=generator)
        clean = random_windows(images, indices, generator, size=(side, side))
        if torch.rand((), generator=generator) < 0.5:
            clean = clean.transpose(2, 3)
        if torch.rand((), generator=generator) < 0.5:
            clean = clean.flip(2)
        return noise(clean, generator)

    def loss(model: nn.Module, noisy: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        return ((model(noisy).float() - target).square() * weight).mean()

    return fit(
        network,
        make_batch,
        loss,
        schedule.steps,
        schedule,
        description="denoiser",
    )
