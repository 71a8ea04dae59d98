"""A denoiser's gate: one for pictures of any kind, or fitted to a stream and its classifier."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions.denoiser import restore
from superstar.actions.unet import UNet, noise_found
from superstar.errors import InputError
from superstar.images import from_uint8
from superstar.jpeg import through_jpeg

LEAST = 0.1 / 255
"""Least lower end, for clean images in which no noise is found."""


def fit_gate(
    network: UNet,
    clean: Tensor,
    noisy: Iterable[Tensor],
    accuracy: Callable[[Tensor], float],
    *,
    clean_share: float,
    margin: float,
    rise: float,
    strengths: Sequence[float],
) -> UNet:
    """A copy of the denoiser that leaves these clean images alone and serves this classifier best.

    Args:
        network: a trained denoiser, on the device where it is to compute.
        clean: float32 (N, 3, H, W) in [0, 1], as they come.
        noisy: the same images under noise, one batch a strength of it.
        accuracy: of the classifier on those images, corrected.
        clean_share: share of the clean images in which more noise may be found than at the gate's
            lower end.
        margin: by which that is multiplied.
        rise: the upper end as a multiple of the lower one.
        strengths: among which the one with the highest mean accuracy is chosen, the first of
            equals.

    Raises:
        InputError: no strengths, or `restore`'s.
    """
    if not strengths:
        raise InputError("a gate needs at least one strength to choose from")
    fitted = deepcopy(network)
    found = noise_found(clean, restore(network, clean))
    least = margin * _highest(found, clean_share)
    fitted.gate = (least, rise * least)
    scores = dict.fromkeys(strengths, 0.0)
    for images in noisy:
        restored = restore(network, images)
        for fitted.strength in strengths:
            scores[fitted.strength] += accuracy(fitted.gated(images, restored))
    fitted.strength = max(strengths, key=scores.__getitem__)
    return fitted


def gate_of(
    network: UNet,
    clean: Sequence[Iterable[NDArray[np.uint8]]],
    *,
    clean_share: float,
    margin: float,
    rise: float,
    jpeg_quality: int,
) -> tuple[float, float]:
    """The gate that leaves clean images as they are.

    Args:
        network: a trained denoiser.
        clean: sets of clean images, uint8 (H, W, 3), of any sizes.
        clean_share: share of each set in which more noise may be found than at the gate's lower
            end.
        margin: by which that is multiplied.
        rise: the upper end as a multiple of the lower one.
        jpeg_quality: of the JPEG that clean images may have gone through.

    Returns:
        `gate` of `UNet`.
    """
    least = max(
        _highest(Tensor(_found(network, images, quality)), clean_share)
        for images in map(list, clean)
        for quality in (None, jpeg_quality)
    )
    return margin * least, rise * margin * least


def _found(
    network: UNet, images: Sequence[NDArray[np.uint8]], jpeg_quality: int | None
) -> list[float]:
    """Root mean square of the noise that the network finds in each image."""
    found = []
    for image in images:
        one = from_uint8(image[None])
        if jpeg_quality is not None:
            one = through_jpeg(one, jpeg_quality)
        with torch.no_grad():
            found.append(noise_found(one, network(one)).item())
    return found


def _highest(found: Tensor, clean_share: float) -> float:
    """The noise that is found in all but a share of clean images."""
    return max(LEAST, found.quantile(1 - clean_share).item())
