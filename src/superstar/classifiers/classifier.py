"""What all classifiers of this package have in common."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from superstar.errors import InputError


class Classifier(nn.Module):
    """A network that maps images in [0, 1] to logits: normalisation is a part of it.

    Args:
        classes: number of classes, at least 2.
        mean: of each colour channel, taken off the images.
        std: of each colour channel, by which they are then divided.
        others: what else the network was built with, as JSON can hold it; a width is at least 1.

    Attributes:
        arguments: from which the network, without its weights, can be built again.

    Raises:
        InputError: an argument out of its range.
    """

    arguments: dict[str, Any]
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        classes: int,
        mean: Sequence[float],
        std: Sequence[float],
        **others: Any,
    ) -> None:
        super().__init__()
        width = others.get("width", 1)
        if classes < 2 or width < 1:
            raise InputError(
                f"a classifier needs 2 classes and a width of 1 or more, not {classes} and {width}"
            )
        if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
            raise InputError(f"mean and std need three numbers, std above 0, not {mean} and {std}")
        self.arguments = {
            "classes": classes,
            **others,
            "mean": [float(value) for value in mean],
            "std": [float(value) for value in std],
        }
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(std, dtype=torch.float32).view(1, 3, 1, 1))

    def normalise(self, images: Tensor) -> Tensor:
        """Images float32 (N, 3, H, W) in [0, 1] to what the first layer sees."""
        return (images - self.mean) / self.std
