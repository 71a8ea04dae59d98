"""The mean prediction for views of an image: nothing but answers is needed.

The views are AugMix's (D. Hendrycks et al., "AugMix: A Simple Data Processing Method to Improve
Robustness and Uncertainty", ICLR 2020). Averaging over views of a test image is as old as
A. Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks", NIPS 2012.
"""

from math import log
from typing import ClassVar

import torch
from torch import Tensor, nn

from superstar.classifiers.augmix import augment_and_mix, check_severity
from superstar.errors import InputError
from superstar.images import check_images, stream
from superstar.peers.peer import Needs, answer, frozen_copy


class Views:
    """AugMix of one batch after another, drawn anew each time, the same after a reset.

    Args:
        count: views of each image.
        severity: of AugMix's operations, 1 to 10.
        seed: of the draws.

    Raises:
        InputError: no view, or a severity out of range.
    """

    def __init__(self, count: int, severity: int, seed: int) -> None:
        if count < 1:
            raise InputError(f"at least one view of an image is needed, not {count}")
        check_severity(severity)
        self._count, self._severity, self._seed = count, severity, seed
        self.reset()

    def __call__(self, batch: Tensor) -> Tensor:
        """Views of a batch (N, 3, H, W): float32 (views, N, 3, H, W) in [0, 1]."""
        rng = stream(self._seed, "views", self._batches)
        self._batches += 1
        seeds = rng.integers(2**31, size=self._count)
        return torch.stack([augment_and_mix(batch, self._severity, int(seed)) for seed in seeds])

    def reset(self) -> None:
        """Draw as at first."""
        self._batches = 0


class Averaging:
    """Mean probabilities of an image and of its views.

    Args:
        network: maps images in [0, 1] to logits.
        views: of each image, beside itself.
        severity: of AugMix's operations, 1 to 10.
        seed: of the draws.

    Raises:
        InputError: no view, or a severity out of range.
    """

    needs: ClassVar[Needs] = Needs()

    def __init__(self, network: nn.Module, views: int, severity: int = 3, seed: int = 0) -> None:
        self.network, self._views = frozen_copy(network), Views(views, severity, seed)

    def adapt(self, batch: Tensor) -> None:
        """Learn nothing."""

    def predict(self, batch: Tensor) -> Tensor:
        """Logarithms of the mean probabilities."""
        versions = [check_images(batch), *self._views(batch)]
        logs = torch.stack([answer(self.network, view).log_softmax(1) for view in versions])
        return logs.logsumexp(0) - log(len(versions))

    def reset(self) -> None:
        """Draw views as at first."""
        self._views.reset()
