"""A denoiser's gate, fitted to a stream's clean images and to its classifier."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

from torch import Tensor

from superstar.actions.denoiser import restore
from superstar.actions.unet import UNet, noise_found
from superstar.errors import InputError

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
    least = margin * max(LEAST, found.quantile(1 - clean_share).item())
    fitted.gate = (least, rise * least)
    scores = dict.fromkeys(strengths, 0.0)
    for images in noisy:
        restored = restore(network, images)
        for fitted.strength in strengths:
            scores[fitted.strength] += accuracy(fitted.gated(images, restored))
    fitted.strength = max(strengths, key=scores.__getitem__)
    return fitted
