"""Training of the denoiser on clean images, and what it gains."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.actions.denoiser import Denoiser, denoise
from superstar.actions.dncnn import DnCNN
from superstar.errors import InputError
from superstar.images import ImageSet, check_images, stream
from superstar.jpeg import through_jpeg
from superstar.training import Schedule, fit, global_seed, random_windows

SMALLEST_ERROR = 1 / (12 * 255**2)
"""Mean squared error of rounding to 8 bits; a smaller error counts as this one (59 dB)."""

WARM_UP = 0.1
"""Share of the training in which the learning rate rises; a longer rise learns nothing in it."""


@dataclass(frozen=True)
class DenoiserSchedule(Schedule):
    """A schedule, and the crops that a denoiser learns from.

    Attributes:
        crop: side in pixels of the windows that are cut from the images.
        largest_sigma: strongest noise, in units of 1/255.
        jpeg_quality: of the JPEG that noisy crops go through, from 1 to 100; None for none.
    """

    epochs: int = 24
    batch_size: int = 32
    learning_rate: float = 4e-3
    warm_up: float = WARM_UP
    crop: int = 32
    largest_sigma: float = 55.0
    jpeg_quality: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.largest_sigma > 0:
            raise InputError(f"largest_sigma must be positive, but is {self.largest_sigma}")


def train_denoiser(
    images: ImageSet,
    schedule: DenoiserSchedule,
    *,
    depth: int = 8,
    width: int = 48,
    unshuffle: int = 2,
    enlarge: int = 1,
) -> tuple[DnCNN, list[float]]:
    """Train a blind Gaussian denoiser (Zhang et al., IEEE TIP 2017, section III).

    Every crop gets noise of its own strength, uniform in [0, largest_sigma], and is clipped to
    [0, 1] as the images of a camera are. Where what it is to restore comes as JPEG, so do the
    crops: a network that was trained on noise alone leaves what JPEG makes of it. The loss is the
    mean squared error of the predicted noise.

    Args:
        images: clean training images; a pass takes one crop of each.
        schedule: of the training; its seed is that of the network's first weights too.
        depth: of the network.
        width: of the network.
        unshuffle: of the network.
        enlarge: of the network.

    Returns:
        The denoiser, its batch norm folded in, in eval mode, and the mean loss of each epoch.

    Raises:
        InputError: an argument out of its range, or no progress.
    """
    pixels = torch.from_numpy(np.array(images.images))
    with global_seed(schedule.seed):
        model = DnCNN(depth, width, unshuffle, enlarge=enlarge)

    largest, window = schedule.largest_sigma / 255, (schedule.crop, schedule.crop)

    def make_batch(indices: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        clean = random_windows(pixels, indices, generator, size=window)
        sigma = torch.rand(len(clean), 1, 1, 1, generator=generator) * largest
        noise = torch.randn(clean.shape, generator=generator)
        return _stored((clean + sigma * noise).clamp_(0, 1), schedule.jpeg_quality), clean

    def loss(network: nn.Module, noisy: Tensor, clean: Tensor) -> Tensor:
        return functional.mse_loss(network(noisy).float(), clean)

    history = fit(
        model,
        make_batch,
        loss,
        len(images),
        schedule,
        description="denoiser",
    )
    return model.fuse(), history


def psnr_gains(
    model: Denoiser,
    images: Tensor,
    sigmas: Sequence[float] = (15, 25, 50),
    seed: int = 0,
    device: str | torch.device = "cpu",
    jpeg_quality: int | None = None,
) -> dict[float, float]:
    """What the denoiser gains in PSNR over the noisy image, clipped to [0, 1].

    Args:
        model: a trained denoiser.
        images: clean images it was not trained on, float32 (N, 3, H, W) in [0, 1].
        sigmas: strengths of Gaussian noise, in units of 1/255.
        seed: of the noise.
        device: where to compute.
        jpeg_quality: of the JPEG that noisy images go through, from 1 to 100; None for none.

    Returns:
        For each sigma the mean gain over the images, in dB.

    Raises:
        InputError: not a batch of images, or a sigma that is not positive.
    """
    check_images(images)
    gains = {}
    for sigma in sigmas:
        if not sigma > 0:
            raise InputError(f"sigmas must be positive, but one is {sigma}")
        noise = stream(seed, "psnr_gains").standard_normal(images.shape, dtype=np.float32)
        noisy = images + torch.from_numpy(noise).to(images.device) * (sigma / 255)
        noisy = _stored(noisy.clamp_(0, 1), jpeg_quality)
        restored = denoise(model, noisy, device=device)
        gains[sigma] = (_psnr(restored, images) - _psnr(noisy, images)).mean().item()
    return gains


def _stored(images: Tensor, jpeg_quality: int | None) -> Tensor:
    return images if jpeg_quality is None else through_jpeg(images, jpeg_quality)


def _psnr(images: Tensor, clean: Tensor) -> Tensor:
    errors = (images - clean).square().mean((1, 2, 3)).clamp_min(SMALLEST_ERROR)
    return -10 * errors.log10()
