"""A blind denoiser in a U-Net's shape, for more of an image at the same cost as DnCNN.

O. Ronneberger et al., "U-Net", MICCAI 2015; for denoising, with residual blocks, skips that are
added and no batch norm, K. Zhang et al., "Plug-and-Play Image Restoration with Deep Denoiser
Prior", IEEE TPAMI 2022 (DRUNet).
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.errors import InputError

FIRST_SCALE = 0.1
"""Scales the last layers' first weights: a network that starts near the identity learns sooner."""


CENTRE = 0.5
"""Taken off the input: what all values share teaches nothing about noise."""


class UNet(nn.Module):
    """A residual denoiser: the network predicts the noise, which is taken off the input.

    It works on the image split into `unshuffle`² images of that share of the size (as FFDNet), on
    levels of which each has half the size of the one above.

    Args:
        widths: channels by level, the largest images first.
        blocks: residual blocks by level, on the way down and again on the way up; at the lowest
            level once.
        unshuffle: side of the blocks of pixels that become channels.
        gate: root mean square of the noise found in an image up to which `gated` takes none off,
            and that from which on it takes off all that it ever does, in the images' units.
        strength: the largest share of the noise found that `gated` takes off, at most 1.

    Raises:
        InputError: no level, not one number of blocks a level, a number below 1, or a gate that
            does not rise, or a strength out of its range.
    """

    def __init__(
        self,
        widths: Sequence[int] = (32, 64, 128),
        blocks: Sequence[int] = (1, 3, 2),
        unshuffle: int = 2,
        gate: Sequence[float] = (0.0, 1e-6),
        strength: float = 1.0,
    ) -> None:
        super().__init__()
        if not len(widths) == len(blocks) > 0 or min(*widths, *blocks, unshuffle) < 1:
            raise InputError(
                "a U-Net needs a width and a number of blocks a level and all numbers at least 1, "
                f"not widths {list(widths)}, blocks {list(blocks)}, unshuffle {unshuffle}"
            )
        if not 0 <= gate[0] < gate[1]:
            raise InputError(f"the gate must rise from at least 0, but is {list(gate)}")
        self.widths, self.blocks, self.unshuffle = tuple(widths), tuple(blocks), unshuffle
        if not 0 < strength <= 1:
            raise InputError(f"the strength must lie in (0, 1], but is {strength}")
        self.gate, self.strength = (gate[0], gate[1]), strength
        outer = 3 * unshuffle**2
        self.head = nn.Conv2d(outer, widths[0], 3, padding=1)
        above = list(zip(widths[:-1], widths[1:], blocks[:-1], strict=True))
        self.down = nn.ModuleList(
            nn.Sequential(*_residuals(wide, count)) for wide, _, count in above
        )
        self.shrink = nn.ModuleList(nn.Conv2d(a, b, 2, stride=2) for a, b, _ in above)
        self.bottom = nn.Sequential(*_residuals(widths[-1], blocks[-1]))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b, _ in above)
        self.up = nn.ModuleList(nn.Sequential(*_residuals(wide, count)) for wide, _, count in above)
        self.tail = nn.Conv2d(widths[0], outer, 3, padding=1)
        if not self.head.weight.is_meta:  # which waits for weights of a file
            self._initialise()

    def _initialise(self) -> None:
        """Weights with which features are as large at the lowest level as at the highest."""
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, nonlinearity="linear")
            if isinstance(part, nn.ConvTranspose2d):
                nn.init.normal_(part.weight, std=part.in_channels**-0.5)
            if isinstance(part, nn.Conv2d | nn.ConvTranspose2d) and part.bias is not None:
                nn.init.zeros_(part.bias)
        with torch.no_grad():
            for part in self.modules():
                if isinstance(part, _Residual):
                    part.first.weight.mul_(2**0.5)
                    part.second.weight.mul_(FIRST_SCALE)
            self.tail.weight.mul_(FIRST_SCALE)

    @property
    def shape(self) -> dict[str, Any]:
        """The arguments that a denoiser of this shape is made with."""
        return {
            "widths": self.widths,
            "blocks": self.blocks,
            "unshuffle": self.unshuffle,
            "gate": self.gate,
            "strength": self.strength,
        }

    @property
    def stride(self) -> int:
        """Sides of images are padded to multiples of it."""
        return self.unshuffle * 2 ** (len(self.widths) - 1)

    def forward(self, images: Tensor) -> Tensor:
        """Images (N, 3, H, W) less the predicted noise: same shape, not clipped."""
        height, width = images.shape[2:]
        bottom, right = -height % self.stride, -width % self.stride
        seen = images
        if bottom or right:
            seen = functional.pad(images, (0, right, 0, bottom), mode="reflect")
        seen = self.head(functional.pixel_unshuffle(seen - CENTRE, self.unshuffle))
        first, skips = seen, []
        for blocks, shrink in zip(self.down, self.shrink, strict=True):
            seen = blocks(seen)
            skips.append(seen)
            seen = shrink(seen)
        seen = self.bottom(seen)
        for blocks, grow, skip in reversed(list(zip(self.up, self.grow, skips, strict=True))):
            seen = blocks(grow(seen) + skip)
        noise = functional.pixel_shuffle(self.tail(seen + first), self.unshuffle)
        return images - noise[..., :height, :width]

    def gated(self, images: Tensor, restored: Tensor) -> Tensor:
        """Images on the way to what the network makes of them, as far as the gate lets each.

        Clean images are left as they are, to the last bit: little is found in them.
        """
        least, most = self.gate
        opened = (noise_found(images, restored) - least) / (most - least)
        share = self.strength * opened.clamp(0, 1)
        return torch.lerp(images, restored, share[:, None, None, None])

    @classmethod
    def fused(cls, **shape: Any) -> "UNet":
        """A denoiser of the shape that `fuse` makes."""
        return cls(**shape)

    def pixels_of(self, images: Tensor) -> float:
        """How many pixels the network sees of each image."""
        return images[0, 0].numel()

    def fuse(self) -> "UNet":
        """A copy for inference, in eval mode and frozen; one that is so already is its own."""
        if not self.training and not any(part.requires_grad for part in self.parameters()):
            return self
        return deepcopy(self).eval().requires_grad_(False)


def noise_found(images: Tensor, restored: Tensor) -> Tensor:
    """Root mean square of what was taken off each image (N,), of images (N, 3, H, W)."""
    return (images - restored).square().mean((1, 2, 3)).sqrt()


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, seen: Tensor) -> Tensor:
        return seen + self.second(functional.relu(self.first(seen)))


def _residuals(width: int, count: int) -> list[nn.Module]:
    return [_Residual(width) for _ in range(count)]
