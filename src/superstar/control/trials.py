"""What candidates do to surrogates: the fall of the reading beside the gain in accuracy."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import Denoiser
from superstar.actions.appearance import Appearance
from superstar.control.candidates import fit_candidates
from superstar.corruptions import corrupt
from superstar.corruptions.blur import line_blur
from superstar.images import stream
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler, Ruler

TRIAL_COLUMNS = ["candidate", "reading", "fall", "rise", "accuracy", "gain", "changed", "images"]
READING_COLUMNS = ["candidate", "ruler", "before", "after", "gain"]

LINE_BLUR = "line_blur"
"""A surrogate that the paper does not have: a blur with a direction."""

GOLDEN = (5**0.5 - 1) / 2
"""The share of a turn whose multiples never lie close."""

Shifts = tuple[tuple[str, int], ...]
"""Surrogates with their severities, applied in order; none leaves images clean."""


def surrogate_shifts(
    names: Sequence[str],
    severities: Sequence[int],
    pair_severities: Sequence[int],
    line_blurs: int = 0,
) -> list[Shifts]:
    """Clean images, every surrogate at every severity, and pairs of unlike ones at equal severity.

    Surrogates whose names begin alike (gamma_increase, gamma_decrease) are not paired. `LINE_BLUR`
    has severities of its own, as many as asked for, and is not paired either.
    """
    single: list[Shifts] = [((name, level),) for name in names for level in severities]
    pairs: list[Shifts] = [
        ((first, level), (second, level))
        for first, second in combinations(names, 2)
        if first.split("_")[0] != second.split("_")[0]
        for level in pair_severities
    ]
    lines: list[Shifts] = [((LINE_BLUR, level),) for level in range(1, line_blurs + 1)]
    return [(), *single, *pairs, *lines]


def shift_by(
    images: Tensor, shifts: Shifts, strengths: Mapping[str, Sequence[float]], scale: str, seed: int
) -> Tensor:
    """Images under surrogates.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        shifts: the surrogates, applied in order.
        strengths: of each surrogate, by severity; of `LINE_BLUR` its length as a share of the
            shorter side.
        scale: of the constants, as of `corrupt`.
        seed: as of `corrupt`.
    """
    for surrogate, severity in shifts:
        strength = strengths[surrogate][severity - 1]
        if surrogate == LINE_BLUR:
            length = max(2.0, strength * min(images.shape[2:]))
            # Images of one stream share the direction; those of all severities lie evenly.
            angle = 180 * ((stream(seed, LINE_BLUR).uniform() + severity * GOLDEN) % 1)
            images = torch.from_numpy(line_blur(images.numpy(), length, angle))
        else:
            images = corrupt(images, surrogate, severity, scale, seed, strength=strength)
    return images


def name_of(shifts: Shifts) -> str:
    """`gamma_increase+uniform_noise`, or `none`."""
    return "+".join(name for name, _ in shifts) or "none"


def full_name_of(shifts: Shifts) -> str:
    """`gamma_increase-2+uniform_noise-2`, or `none`."""
    return "+".join(f"{name}-{severity}" for name, severity in shifts) or "none"


def try_on(
    images: Tensor,
    candidates: Sequence[str],
    clean: Appearance,
    ruler: BandRuler,
    denoiser: Denoiser | None,
    right: Callable[[Tensor], NDArray[np.bool_]],
) -> list[dict[str, Any]]:
    """Every candidate on a batch of shifted images.

    Args:
        images: float32 (N, 3, H, W) in [0, 1], at least two.
        candidates: by name.
        clean: what clean images look like.
        ruler: what reads images.
        denoiser: for `dncnn`.
        right: which of images, in the order of these, a classifier gets right. Asked once where
            candidates leave equal images.

    Returns:
        A row a candidate, of `TRIAL_COLUMNS`: `reading` before, `fall` of it, `rise`, the most that
        a band moves away from home, `accuracy` before, `gain` in points, and in how many of the
        `images` the classifier's being right `changed`.
    """
    before = ruler.by_band(band_histograms(images).mean(0), len(images)).clip(min=0)
    reading = float(ruler.aggregate(before))
    answers: dict[bytes, NDArray[np.bool_]] = {}

    def asked(pixels: Tensor) -> NDArray[np.bool_]:
        key = sha256(pixels.cpu().contiguous().numpy().data).digest()
        if key not in answers:
            answers[key] = right(pixels)
        return answers[key]

    at_first = asked(images)
    rows = []
    for name, fitted in fit_candidates(images, candidates, clean, denoiser):
        after, bands = asked(fitted.images), fitted.bands(ruler, len(images))
        rows.append(
            {
                "candidate": name,
                "reading": reading,
                "fall": reading - float(ruler.aggregate(bands)),
                "rise": float((bands - before).max()),
                "accuracy": float(at_first.mean()),
                "gain": 100 * float(after.mean() - at_first.mean()),
                "changed": int((after != at_first).sum()),
                "images": len(images),
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
