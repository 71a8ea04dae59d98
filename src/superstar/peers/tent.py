"""Affine parameters of batch normalisation that make predictions certain.

D. Wang et al., "Tent: Fully Test-Time Adaptation by Entropy Minimization", ICLR 2021. The reset is
that of O. Press et al., "RDumb: A simple approach that questions our progress in continual
test-time adaptation", NeurIPS 2023.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from superstar.errors import InputError
from superstar.images import check_images
from superstar.peers.peer import Needs, answer, batch_norms, entropy, frozen_copy, on_device_of


class Tent:
    """One step of Adam a batch down the mean entropy; each batch is normalised by itself.

    The authors predict a batch before its own step; here its step comes first.

    Args:
        network: with batch normalisation; a copy is adapted.
        learning_rate: of Adam.
        reset: batches after which it begins anew, by itself; None never does.

    Raises:
        InputError: a network without batch normalisation that has affine parameters, or a reset
            below 1.
    """

    needs: ClassVar[Needs] = Needs(weights=True, gradients=True, batch=True, order=True)

    def __init__(
        self, network: nn.Module, learning_rate: float = 1e-3, reset: int | None = None
    ) -> None:
        if reset is not None and reset < 1:
            raise InputError(f"TENT is reset after 1 batch or more, not {reset}")
        self.network, self._rate, self._every = frozen_copy(network), learning_rate, reset
        self._affine: list[nn.Parameter] = []
        for norm in batch_norms(self.network, "TENT"):
            norm.train()
            # PyTorch then normalises by the batch, in eval mode too, and keeps nothing of it.
            norm.track_running_stats, norm.running_mean, norm.running_var = False, None, None
            if norm.affine:
                self._affine += [norm.weight, norm.bias]
        if not self._affine:
            raise InputError("TENT needs batch normalisation with affine parameters")
        for parameter in self._affine:
            parameter.requires_grad_(True)
        self._source = [parameter.detach().clone() for parameter in self._affine]
        self.reset()

    def adapt(self, batch: Tensor) -> None:
        """One step."""
        check_images(batch)
        if self._every is not None and self._steps == self._every:
            self.reset()
        self._optimiser.zero_grad()
        entropy(self.network(on_device_of(self.network, batch))).mean().backward()
        self._optimiser.step()
        self._steps += 1

    def predict(self, batch: Tensor) -> Tensor:
        """Logits; the images are normalised by their own statistics, so give several."""
        return answer(self.network, batch)

    def reset(self) -> None:
        """Back to the source's parameters."""
        with torch.no_grad():
            for parameter, source in zip(self._affine, self._source, strict=True):
                parameter.copy_(source)
        self._optimiser = torch.optim.Adam(self._affine, lr=self._rate)
        self._steps = 0
