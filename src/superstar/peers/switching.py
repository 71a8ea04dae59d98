"""The image or its correction, whichever the network is surer of.

S. Enomoto et al., "Test-time Adaptation Meets Image Enhancement: Improving Accuracy via
Uncertainty-aware Logit Switching", IJCNN 2024. Their correction is an enhancement for
recognition; here it is any.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from superstar.peers.peer import Needs, answer, entropy, frozen_copy


class Switching:
    """Logits of the lower entropy, image by image.

    Args:
        network: maps images in [0, 1] to logits.
        correct: from a batch to its correction.
    """

    needs: ClassVar[Needs] = Needs()

    def __init__(self, network: nn.Module, correct: Callable[[Tensor], Tensor]) -> None:
        self.network, self._correct = frozen_copy(network), correct

    def adapt(self, batch: Tensor) -> None:
        """Learn nothing."""

    def predict(self, batch: Tensor) -> Tensor:
        """Logits of the image where they are as sure as its correction's, else the latter."""
        first, second = answer(self.network, batch), answer(self.network, self._correct(batch))
        return torch.where((entropy(first) <= entropy(second))[:, None], first, second)

    def reset(self) -> None:
        """There is nothing to forget."""
