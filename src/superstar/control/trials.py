"""What candidates do to surrogates: the fall of the reading beside the gain in accuracy."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from torch import Tensor

from superstar.actions import Denoiser, Plan
from superstar.actions.appearance import Appearance
from superstar.control.calibrated import try_candidates
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler

TRIAL_COLUMNS = ["candidate", "reading", "fall", "rise", "accuracy", "gain"]

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
