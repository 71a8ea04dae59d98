"""Statistics of batch normalisation, estimated anew on the images that come.

S. Schneider et al., "Improving robustness against common corruptions by covariate shift
adaptation", NeurIPS 2020, with the prior. Z. Nado et al., "Evaluating Prediction-Time Batch
Normalization for Robustness under Covariate Shift", 2020, which is a prior of 0.
"""

from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from superstar.errors import InputError
from superstar.images import check_images
from superstar.peers.peer import Needs, answer, batch_norms, frozen_copy, on_device_of

Statistics = tuple[Tensor, Tensor]


class BatchNormAdaptation:
    """Means and variances between those of training and those of the last batch.

    Every layer normalises by N / (N + n) of the source's statistics plus n / (N + n) of a batch of
    n images, each layer's after the layers before it were adapted. Variances are those that batch
    normalisation itself takes (division by the number of values).

    Args:
        network: with batch normalisation; a copy is adapted.
        prior: N, how many images the source's statistics count for: 0 leaves the batch's alone,
            infinity the source's.

    Raises:
        InputError: a network without batch normalisation, or a prior below 0.
    """

    needs: ClassVar[Needs] = Needs(weights=True, batch=True)

    def __init__(self, network: nn.Module, prior: float) -> None:
        if not prior >= 0:
            raise InputError(f"a prior is a number of images, 0 or more, not {prior}")
        self.network, self.prior = frozen_copy(network), prior
        self._norms = batch_norms(self.network, "re-estimating statistics")
        self._source = [(_mean(norm).clone(), _var(norm).clone()) for norm in self._norms]

    def adapt(self, batch: Tensor) -> None:
        """Take the statistics of these images; earlier batches do not count."""
        share = len(check_images(batch)) / (self.prior + len(batch))
        hooks = [
            norm.register_forward_pre_hook(partial(_estimate, share, source))
            for norm, source in zip(self._norms, self._source, strict=True)
        ]
        try:
            with torch.no_grad():
                self.network(on_device_of(self.network, batch))
        finally:
            for hook in hooks:
                hook.remove()

    def predict(self, batch: Tensor) -> Tensor:
        """Logits under the statistics of the last batch adapted to."""
        return answer(self.network, batch)

    def reset(self) -> None:
        """Back to the source's statistics."""
        for norm, (mean, var) in zip(self._norms, self._source, strict=True):
            _mean(norm).copy_(mean)
            _var(norm).copy_(var)


def _estimate(share: float, source: Statistics, norm: nn.Module, inputs: Any) -> None:
    # What the layer itself computes in training, several times as fast as `torch.var_mean`. Weights
    # in float32, whatever they are, give statistics in float32, of values in half precision too.
    values, weight, bias, eps = inputs[0], _var(norm), _mean(norm), _eps(norm)
    _, mean, inverse = torch.native_batch_norm(values, weight, bias, None, None, True, 0.0, eps)
    var = inverse.pow(-2) - eps
    for kept, own, new in zip((_mean(norm), _var(norm)), source, (mean, var), strict=True):
        kept.copy_((1 - share) * own + share * new)


def _eps(norm: nn.Module) -> float:
    assert isinstance(norm.eps, float)
    return norm.eps


def _mean(norm: nn.Module) -> Tensor:
    assert isinstance(norm.running_mean, Tensor)
    return norm.running_mean


def _var(norm: nn.Module) -> Tensor:
    assert isinstance(norm.running_var, Tensor)
    return norm.running_var
