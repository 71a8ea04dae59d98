"""All weights, for one image at a time, so that its views are answered alike.

M. Zhang et al., "MEMO: Test Time Robustness via Adaptation and Augmentation", NeurIPS 2022.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from superstar.errors import InputError
from superstar.images import check_images
from superstar.peers.averaging import Views
from superstar.peers.peer import Needs, answer, entropy, frozen_copy, on_device_of


class Memo:
    """A step down the entropy of the mean prediction for an image's views, then back.

    Statistics of batch normalisation stay those of training, as in the authors' experiments with
    CIFAR-10.

    Args:
        network: maps images in [0, 1] to logits; a copy is adapted.
        views: AugMix's, of each image.
        learning_rate: of plain gradient descent.
        severity: of AugMix's operations, 1 to 10.
        seed: of the draws.

    Raises:
        InputError: no view, a severity out of range, or a network that shows no weights.
    """

    needs: ClassVar[Needs] = Needs(weights=True, gradients=True)

    def __init__(
        self,
        network: nn.Module,
        views: int,
        learning_rate: float,
        severity: int = 3,
        seed: int = 0,
    ) -> None:
        self.network, self._rate = frozen_copy(network).requires_grad_(True), learning_rate
        self._views = Views(views, severity, seed)
        self._weights = list(self.network.parameters())
        if not self._weights:
            raise InputError(
                f"MEMO adapts weights, which {type(network).__name__} does not show: leave this "
                "peer out"
            )
        self._source = [weight.detach().clone() for weight in self._weights]

    def adapt(self, batch: Tensor) -> None:
        """Learn nothing that lasts: every image has a step of its own, in `predict`."""

    def predict(self, batch: Tensor) -> Tensor:
        """Logits of each image after its own step; the weights are then the source's again."""
        views = on_device_of(self.network, self._views(check_images(batch)))
        logits = []
        for image, versions in zip(batch.split(1), views.unbind(1), strict=True):
            try:
                self._step(versions)
                logits.append(answer(self.network, image))
            finally:
                self._restore()
        return torch.cat(logits)

    def reset(self) -> None:
        """Draw views as at first."""
        self._views.reset()

    def _step(self, versions: Tensor) -> None:
        logs = self.network(versions).log_softmax(1)
        marginal = entropy(logs.logsumexp(0, keepdim=True)).sum()
        gradients = torch.autograd.grad(marginal, self._weights, allow_unused=True)
        with torch.no_grad():
            for weight, gradient in zip(self._weights, gradients, strict=True):
                if gradient is not None:
                    weight.sub_(self._rate * gradient)

    def _restore(self) -> None:
        with torch.no_grad():
            for weight, source in zip(self._weights, self._source, strict=True):
                weight.copy_(source)
