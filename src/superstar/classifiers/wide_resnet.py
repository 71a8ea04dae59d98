"""Wide residual networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.classifiers.classifier import Classifier
from superstar.errors import InputError, check_name


@dataclass(frozen=True)
class BlockStyle:
    """Where published blocks differ from one another.

    Attributes:
        activated_shortcut: a shortcut with a convolution starts behind the block's first
            normalisation and activation, not at the block's input.
        late_stride: the second convolution halves the resolution, not the first.
        biases: all convolutions of the network have biases.
    """

    activated_shortcut: bool = False
    late_stride: bool = False
    biases: bool = False


BLOCK_STYLES = {
    "original": BlockStyle(activated_shortcut=True),
    "raw_shortcut": BlockStyle(),
    "late_stride": BlockStyle(late_stride=True, biases=True),
}
"""`original` is the authors'; the others are those of published re-implementations."""


class WideResNet(Classifier):
    """A wide residual network (Zagoruyko and Komodakis, BMVC 2016): WRN-depth-width.

    A convolution with 16 channels, then three stages of pre-activation basic blocks with 16, 32
    and 64 times width channels, the last two of which halve the resolution. It was made for 32×32
    images; global average pooling makes it fit any size from 16. Normalisation is part of the
    network: it maps images in [0, 1] to logits.

    Args:
        classes: number of classes, at least 2.
        depth: number of convolutions on the longest path, 6n + 4 for n blocks a stage.
        width: factor on the number of channels.
        mean: of each colour channel, taken off the images.
        std: of each colour channel, by which they are then divided.
        dropout: share of a block's inner features that training drops, in [0, 1).
        block: one of `BLOCK_STYLES`.

    Raises:
        InputError: an argument out of its range.
    """

    def __init__(
        self,
        classes: int,
        depth: int,
        width: int,
        mean: Sequence[float],
        std: Sequence[float],
        dropout: float = 0.0,
        block: str = "original",
    ) -> None:
        if depth < 10 or depth % 6 != 4:
            raise InputError(
                f"the depth of a wide residual network must be 10, 16, 22 and so on, not {depth}"
            )
        if not 0 <= dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), but is {dropout}")
        check_name("block", block, BLOCK_STYLES)
        super().__init__(classes, mean, std, depth=depth, width=width, dropout=dropout, block=block)
        style = BLOCK_STYLES[block]
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=style.biases)
        widths = [16, 16 * width, 32 * width, 64 * width]
        self.stages = nn.Sequential(
            *(
                nn.Sequential(
                    _Block(inner, outer, 1 if stage == 0 else 2, dropout, style),
                    *(_Block(outer, outer, 1, dropout, style) for _ in range((depth - 4) // 6 - 1)),
                )
                for stage, (inner, outer) in enumerate(pairwise(widths))
            )
        )
        self.norm = nn.BatchNorm2d(widths[-1])
        self.head = nn.Linear(widths[-1], classes)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if isinstance(module, nn.Conv2d | nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    @property
    def mixing_points(self) -> list[nn.Module]:
        """Modules whose input training may mix between images, the first one's the image."""
        return [self.stem, *self.stages]

    def forward(self, images: Tensor) -> Tensor:
        """Images float32 (N, 3, H, W) in [0, 1] to logits (N, classes)."""
        features = self.stages(self.stem(self.normalise(images)))
        return self.head(torch.relu_(self.norm(features)).mean((2, 3)))


class _Block(nn.Module):
    def __init__(
        self, inner: int, outer: int, stride: int, dropout: float, style: BlockStyle
    ) -> None:
        super().__init__()
        strides = (1, stride) if style.late_stride else (stride, 1)
        self.norm1 = nn.BatchNorm2d(inner)
        self.conv1 = nn.Conv2d(inner, outer, 3, strides[0], padding=1, bias=style.biases)
        self.norm2 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, strides[1], padding=1, bias=style.biases)
        self.shortcut = (
            nn.Conv2d(inner, outer, 1, stride, bias=style.biases) if inner != outer else None
        )
        self.activated_shortcut = style.activated_shortcut
        self.dropout = dropout

    def forward(self, features: Tensor) -> Tensor:
        # What a normalisation returns is nobody else's, so that it may be changed in place.
        activated = torch.relu_(self.norm1(features))
        residual = torch.relu_(self.norm2(self.conv1(activated)))
        residual = self.conv2(functional.dropout(residual, self.dropout, self.training))
        if self.shortcut is None:
            return residual + features
        return residual + self.shortcut(activated if self.activated_shortcut else features)
