"""Candidates on a sample of images: fitted to one half, applied to the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import Denoiser
from superstar.actions.appearance import Appearance
from superstar.actions.fitted import FITTED
from superstar.actions.plan import THEN, Correction, Plan
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler

DENOISER = "dncnn"

PROBED = 8
"""Images that tell whether the denoiser finds noise at all."""


@dataclass(frozen=True)
class Tried:
    """What a candidate does to the images at hand.

    Attributes:
        name: of the candidate.
        corrections: with their numbers.
        bands: of the corrected images, by `BandRuler.by_band`, negative ones cut to 0.
    """

    name: str
    corrections: tuple[Correction, ...]
    bands: NDArray[np.float64]


def fit_candidates(
    images: Tensor, names: Sequence[str], clean: Appearance, denoiser: Denoiser | None
) -> Iterator[tuple[str, "Fitted"]]:
    """Fit candidates to images, and apply them.

    A correction with numbers is fitted to each half of the images and applied to the other; the
    numbers that it keeps are those of all images.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        names: of the candidates: a correction, or several in a row (`THEN`).
        clean: what clean images look like.
        denoiser: for `dncnn`.
    """
    halves = (images[::2], images[1::2]) if len(images) > 1 else (images, images)
    start = Fitted((), halves)
    shared = {before for name in names for before in _beginnings(name)}
    known: dict[str, Fitted] = {}

    def after(name: str) -> Fitted:
        if name in known:
            return known[name]
        before, _, last = name.rpartition(THEN)
        fitted = (after(before) if before else start).then(last, clean, denoiser)
        if name in shared:
            known[name] = fitted
        return fitted

    for name in names:
        yield name, after(name)


def _beginnings(name: str) -> Iterator[str]:
    while name := name.rpartition(THEN)[0]:
        yield name


def try_candidates(
    images: Tensor,
    names: Sequence[str],
    clean: Appearance,
    ruler: BandRuler,
    denoiser: Denoiser | None,
) -> list[Tried]:
    """What candidates do to the bands of images.

    Args:
        images: as the other arguments, those of `fit_candidates`.
        names: of the candidates.
        clean: what clean images look like.
        ruler: what reads the corrected images.
        denoiser: for `dncnn`.
    """
    return [
        Tried(name, fitted.corrections, fitted.bands(ruler, len(images)))
        for name, fitted in fit_candidates(images, names, clean, denoiser)
    ]


@dataclass(frozen=True)
class Fitted:
    """Both halves of images after corrections that were fitted to the other half.

    A single image is both halves.

    Attributes:
        corrections: with the numbers of both halves together.
        halves: of the images.
    """

    corrections: tuple[Correction, ...]
    halves: tuple[Tensor, Tensor]

    @property
    def images(self) -> Tensor:
        """All images, at least two, in their order."""
        first, second = self.halves
        images = first.new_empty((len(first) + len(second), *first.shape[1:]))
        images[::2], images[1::2] = first, second
        return images

    def bands(self, ruler: BandRuler, count: int) -> NDArray[np.float64]:
        """Bands of so many images, by `BandRuler.by_band`, negative ones cut to 0."""
        histograms = np.concatenate([band_histograms(half) for half in self.halves])[:count]
        return np.maximum(ruler.by_band(histograms.mean(0), count), 0)

    @cached_property
    def looks(self) -> list[Appearance]:
        """What each half looks like."""
        return [Appearance.of(half) for half in self.halves]

    def then(self, name: str, clean: Appearance, denoiser: Denoiser | None) -> "Fitted":
        """After one more correction.

        Where the denoiser leaves a few images from all over the first half as they are, it is taken
        to leave all: it costs most of all corrections, and most shifts are not noise.
        """
        if name in FITTED:
            fit = FITTED[name].fit
            crossed = [Correction(name, fit(look, clean)) for look in reversed(self.looks)]
            pooled = Appearance.pooled(self.looks, [len(half) for half in self.halves])
            own = Correction(name, fit(pooled, clean))
        else:
            own = Correction(name)
            crossed = [own, own]
        some = self.halves[0][:: max(1, len(self.halves[0]) // PROBED)]
        if name == DENOISER and torch.equal(Plan((own,), denoiser).apply(some), some):
            return replace(self, corrections=(*self.corrections, own))
        first, second = (
            Plan((correction,), denoiser).apply(half)
            for correction, half in zip(crossed, self.halves, strict=True)
        )
        return Fitted((*self.corrections, own), (first, second))
