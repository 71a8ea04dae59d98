"""An adapter before the network that matches quantiles to those of clean images.

After S. Danda et al., "Matching High-Dimensional Geometric Quantiles for Test-Time Adaptation of
Transformers and Convolutional Networks Alike", 2026, who train a network as adapter on quantiles of
whole images. In one dimension, that of each colour, the map is known in closed form, and nothing
is trained: histogram specification (R. C. Gonzalez and R. E. Woods, "Digital Image Processing").
"""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from superstar.errors import InputError
from superstar.images import check_images
from superstar.peers.peer import Needs, answer, frozen_copy


class QuantileAdapter:
    """Each colour of a batch mapped so that its quantiles are those of clean images.

    Args:
        network: maps images in [0, 1] to logits.
        clean: clean images, float32 (N, 3, H, W) in [0, 1].
        levels: quantiles, evenly spaced from 0 to 1; values between them are interpolated.

    Raises:
        InputError: no batch of clean images, or less than 2 levels.
    """

    needs: ClassVar[Needs] = Needs(batch=True, clean=True)

    def __init__(self, network: nn.Module, clean: Tensor, levels: int) -> None:
        if levels < 2:
            raise InputError(f"an adapter needs 2 quantiles or more, not {levels}")
        self.network, self._shares = frozen_copy(network), np.linspace(0, 1, levels)
        self._clean = self._quantiles(clean)
        self.reset()

    def adapt(self, batch: Tensor) -> None:
        """Take the quantiles of these images; earlier batches do not count."""
        self._own = self._quantiles(batch)

    def predict(self, batch: Tensor) -> Tensor:
        """Logits of the images as the adapter maps them."""
        return answer(self.network, self.mapped(batch))

    def mapped(self, batch: Tensor) -> Tensor:
        """What the network sees, float32 (N, 3, H, W) in [0, 1]; images are not modified."""
        pixels = np.asarray(check_images(batch))
        curves = zip(self._own, self._clean, strict=True)
        colours = [
            np.interp(pixels[:, c], own + _RISE * self._shares, clean)
            for c, (own, clean) in enumerate(curves)
        ]
        return torch.from_numpy(np.stack(colours, axis=1).astype(np.float32)).clamp_(0, 1)

    def reset(self) -> None:
        """Map nothing."""
        self._own = self._clean

    def _quantiles(self, images: Tensor) -> NDArray[np.float64]:
        pixels = np.asarray(check_images(images)).transpose(1, 0, 2, 3).reshape(3, -1)
        return np.quantile(pixels, self._shares, axis=1).T.astype(np.float64)


_RISE = 1e-9
"""Keeps levels that several quantiles share in order, for the interpolation."""
