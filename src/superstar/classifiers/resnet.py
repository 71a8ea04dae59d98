"""A small residual network for small images."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from superstar.classifiers.classifier import Classifier


class SmallResNet(Classifier):
    """A residual network (He et al., CVPR 2016) of three stages with one basic block each.

    A convolution that halves the resolution, then blocks of width, 2 and 4 times width, the last
    two of which halve it again; global average pooling makes it fit any size. Normalisation is
    part of the network: it maps images in [0, 1] to logits.

    Args:
        classes: number of classes, at least 2.
        width: channels of the first stage.
        mean: of each colour channel, taken off the images.
        std: of each colour channel, by which they are then divided.

    Raises:
        InputError: an argument out of its range.
    """

    def __init__(
        self,
        classes: int,
        width: int = 32,
        mean: Sequence[float] = (0.45, 0.45, 0.45),
        std: Sequence[float] = (0.25, 0.25, 0.25),
    ) -> None:
        super().__init__(classes, mean, std, width=width)
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        widths = [width, width, 2 * width, 4 * width]
        self.blocks = nn.Sequential(
            *(
                _Block(inner, outer, stride=1 if inner == outer else 2)
                for inner, outer in pairwise(widths)
            )
        )
        self.head = nn.Linear(widths[-1], classes)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        for module in self.modules():
            if isinstance(module, _Block):
                # Blocks start as their shortcut, which lets the one-cycle schedule run hot.
                nn.init.zeros_(module.last_norm.weight)

    @property
    def mixing_points(self) -> list[nn.Module]:
        """Modules whose input training may mix between images, the first one's the image."""
        return [self.stem, *self.blocks]

    def forward(self, images: Tensor) -> Tensor:
        """Images float32 (N, 3, H, W) in [0, 1] to logits (N, classes)."""
        features = self.blocks(self.stem(self.normalise(images)))
        return self.head(features.mean((2, 3)))


class _Block(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(outer),
            nn.ReLU(),
            nn.Conv2d(outer, outer, 3, padding=1, bias=False),
        )
        self.last_norm = nn.BatchNorm2d(outer)
        self.shortcut: nn.Module = nn.Identity()
        if inner != outer or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, features: Tensor) -> Tensor:
        return torch.relu(self.last_norm(self.residual(features)) + self.shortcut(features))
