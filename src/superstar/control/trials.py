"""What candidates do to surrogates: the fall of the reading beside the gain in accuracy."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from torch import Tensor

from superstar.actions import Denoiser, Plan
from superstar.actions.appearance import Appearance
from superstar.control.candidates import fit_candidates, try_candidates
from superstar.corruptions import corrupt
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler, Ruler

TRIAL_COLUMNS = ["candidate", "reading", "fall", "rise", "accuracy", "gain"]
READING_COLUMNS = ["candidate", "ruler", "before", "after", "gain"]

Shifts = tuple[tuple[str, int], ...]
"""Surrogates with their severities, applied in order; none leaves images clean."""


def surrogate_shifts(
    names: Sequence[str], severities: Sequence[int], pair_severities: Sequence[int]
) -> list[Shifts]:
    """Clean images, every surrogate at every severity, and pairs of unlike ones at equal severity.

    Those whose names begin alike (gamma_increase, gamma_decrease) are no pair.
    """
    single: list[Shifts] = [((name, level),) for name in names for level in severities]
    pairs: list[Shifts] = [
        ((first, level), (second, level))
        for first, second in combinations(names, 2)
        if first.split("_")[0] != second.split("_")[0]
        for level in pair_severities
    ]
    return [(), *single, *pairs]


def shift_by(
    images: Tensor, shifts: Shifts, strengths: Mapping[str, Sequence[float]], scale: str, seed: int
) -> Tensor:
    """Images under surrogates.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        shifts: the surrogates, applied in order.
        strengths: of each surrogate, by severity.
        scale: of the constants, as of `corrupt`.
        seed: as of `corrupt`.
    """
    for surrogate, severity in shifts:
        strength = strengths[surrogate][severity - 1]
        images = corrupt(images, surrogate, severity, scale, seed, strength=strength)
    return images


def name_of(shifts: Shifts) -> str:
    """`gamma_increase+uniform_noise`, or `none`."""
    return "+".join(name for name, _ in shifts) or "none"


def try_on(
    images: Tensor,
    candidates: Sequence[str],
    clean: Appearance,
    ruler: BandRuler,
    denoiser: Denoiser | None,
    accuracy: Callable[[Tensor], float],
) -> list[dict[str, Any]]:
    """Every candidate on a batch of shifted images.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        candidates: by name.
        clean: what clean images look like.
        ruler: what reads images.
        denoiser: for `dncnn`.
        accuracy: of a classifier on images in the order of these, in [0, 1].

    Returns:
        A row a candidate, of `TRIAL_COLUMNS`: `reading` before, `fall` of it, `rise`, the most that
        a band moves away from home, `accuracy` before, and `gain` in points.
    """
    before = ruler.by_band(band_histograms(images).mean(0), len(images)).clip(min=0)
    right = accuracy(images)
    rows = []
    for tried in try_candidates(images, candidates, clean, ruler, denoiser):
        corrected = Plan(tried.corrections, denoiser).apply(images)
        rows.append(
            {
                "candidate": tried.name,
                "reading": float(before.mean()),
                "fall": float(before.mean() - tried.bands.mean()),
                "rise": float((tried.bands - before).max()),
                "accuracy": right,
                "gain": 100 * (accuracy(corrected) - right),
            }
        )
    return rows


def read_candidates(
    images: Tensor,
    candidates: Sequence[str],
    clean: Appearance,
    denoiser: Denoiser | None,
    rulers: Sequence[Ruler],
    accuracy: Callable[[Tensor], float],
) -> list[dict[str, Any]]:
    """What several rulers make of every candidate on a batch of shifted images.

    Args:
        images: float32 (N, 3, H, W) in [0, 1], at least two.
        candidates: by name.
        clean: what clean images look like.
        denoiser: for `dncnn`.
        rulers: what reads the images.
        accuracy: of a classifier on images in the order of these, in [0, 1].

    Returns:
        A row a candidate and ruler, of `READING_COLUMNS`: readings `before` and `after`, and `gain`
        in points.
    """
    before = {ruler.name: ruler.read(images) for ruler in rulers}
    right = accuracy(images)
    rows = []
    for name, fitted in fit_candidates(images, candidates, clean, denoiser):
        corrected = fitted.images
        gain = 100 * (accuracy(corrected) - right)
        for ruler in rulers:
            after = ruler.read(corrected)
            row = (name, ruler.name, before[ruler.name], after, gain)
            rows.append(dict(zip(READING_COLUMNS, row, strict=True)))
    return rows
