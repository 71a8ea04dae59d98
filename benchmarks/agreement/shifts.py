"""Distances of a data set under the benchmark's shifts."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.agreement.comparison import Cells, Comparison
from benchmarks.agreement.measuring import points_of, shifted
from benchmarks.agreement.released import SEVERITIES, Released
from benchmarks.agreement.setups import MOST_POINTS, SEED, Setup
from benchmarks.agreement.transport import (
    Draws,
    Estimate,
    blocks,
    fall,
    mean_distance,
    overlapping,
)
from benchmarks.corruptions.comparing import cut_off
from superstar.corruptions import SHIFTS, SURROGATES
from superstar.images import stream
from superstar.measures import points_distance
from superstar.measures.wasserstein import euclidean_distances

logger = logging.getLogger(__name__)

SHIFT_PERCENT = 5.0
OVERLAP = 50
"""One in so many images of ImageNet stands on both sides of a released distance."""
OTHER_SEEDS = (1, 2, 3, 4)
CHECKED_SIDE, CHECKED_SAMPLES, CHECKED_DRAWS, CHECKED_ORDERS = 250, 10, 10, 5


@dataclass(frozen=True)
class Cell:
    """A shift at one severity.

    Attributes:
        raw: distance between disjoint sides, averaged over the draws.
        like: what it would be between as many images as in the release, with as many of them on
            both sides.
        reweighted: the same with images weighted, if they were.
    """

    raw: Estimate
    like: Estimate
    reweighted: Estimate | None


Key = tuple[str, int]
"""A shift and its severity."""
Shifted = Mapping[Key, Cell]


def measure_shifts(
    setup: Setup, weights: NDArray[np.float64] | None, shifts: Sequence[str] = SHIFTS
) -> Shifted:
    """All shifts at all severities, cut off to 8 bits as the benchmark's files are."""
    clean = points_of(setup, setup.validation)
    cells = {}
    for name in shifts:
        logger.info("%s: %s", setup.benchmark, name)
        for severity in SEVERITIES:
            cells[name, severity] = _measure(setup, clean, (name, severity), weights, SEED)
    return cells


def measure_anew(
    setup: Setup, weights: NDArray[np.float64] | None, keys: Sequence[Key]
) -> dict[Key, list[Cell]]:
    """These shifts again with other seeds, the images and the draws being the same."""
    clean = points_of(setup, setup.validation)
    cells = {}
    for key in keys:
        logger.info("%s: %s %d, drawn anew", setup.benchmark, *key)
        cells[key] = [_measure(setup, clean, key, weights, seed) for seed in OTHER_SEEDS]
    return cells


def _measure(
    setup: Setup, clean: Tensor, key: Key, weights: NDArray[np.float64] | None, seed: int
) -> Cell:
    images = shifted(setup, *key, to_8_bits=_cut_off, seed=seed)
    return _cell(euclidean_distances(clean, points_of(setup, images)), setup.draws, weights)


def _cut_off(images: Tensor) -> NDArray[np.uint8]:
    return cut_off(images.permute(0, 2, 3, 1).numpy())


def _cell(cost: NDArray[np.float64], draws: Draws, weights: NDArray[np.float64] | None) -> Cell:
    raw = mean_distance(cost, draws)
    like = like_the_release(cost, draws, raw)
    if weights is None:
        return Cell(raw, like, None)
    weighted = mean_distance(cost, draws, weights)
    return Cell(raw, like, like_the_release(cost, draws, weighted, weights))


def like_the_release(
    cost: NDArray[np.float64],
    draws: Draws,
    raw: Estimate,
    weights: NDArray[np.float64] | None = None,
) -> Estimate:
    """The distance with one in 50 images on both sides, less its fall up to 1,000 images."""
    shared = len(draws[0][0]) // OVERLAP
    overlap = mean_distance(cost, overlapping(draws, shared), weights)
    return overlap.plus(fall(cost, draws, raw, MOST_POINTS, weights))


def unexplained(cells: Shifted, released: Released, benchmark: str) -> list[Key]:
    """Shifts that are off by more than the percentage, or out of order by more than a near tie."""
    like = {key: cell.like for key, cell in cells.items()}
    compared = compare_shifts(like, released, benchmark)
    keys = {key for key in cells if not compared[key[0], str(key[1])].within_percent}
    for pair in reversals(cells, released, benchmark):
        if not pair.near_tie:
            keys |= {(pair.shift, severity) for severity in pair.severities}
    return [key for key in cells if key in keys]


def compare_shifts(estimates: Mapping[Key, Estimate], released: Released, benchmark: str) -> Cells:
    """Distances beside the released ones, by shift and severity."""
    return {
        (name, str(severity)): Comparison(
            released.distance(benchmark, name, severity),
            estimate.value,
            SHIFT_PERCENT,
            estimate.standard_error,
        )
        for (name, severity), estimate in estimates.items()
    }


@dataclass(frozen=True)
class Reversal:
    """Two severities of a shift whose distances are the other way round in the release.

    Attributes:
        shift: its name.
        severities: both, the milder first.
        released: distance at the second less that at the first, in the release.
        ours: the same of ours.
        standard_error: of ours.
    """

    shift: str
    severities: tuple[int, int]
    released: float
    ours: float
    standard_error: float

    @property
    def near_tie(self) -> bool:
        """Whether the released distances differ by less than our standard error."""
        return abs(self.released) < self.standard_error


def reversals(cells: Shifted, released: Released, benchmark: str) -> list[Reversal]:
    """All pairs of severities that ours orders otherwise, like for like."""
    found = []
    for name in dict.fromkeys(name for name, _ in cells):
        for first, second in combinations(SEVERITIES, 2):
            ours = cells[name, second].like.plus(cells[name, first].like, -1)
            theirs, before = (released.distance(benchmark, name, k) for k in (second, first))
            if ours.value * (theirs - before) < 0:
                pair = (first, second)
                error = ours.standard_error
                found.append(Reversal(name, pair, theirs - before, ours.value, error))
    return found


@dataclass(frozen=True)
class Check:
    """The extrapolation from samples of 500 images beside what 1,000 on a side measure.

    Attributes:
        measured: distance between 1,000 and 1,000 images.
        small: distance between 250 and 250 images, mean over samples.
        extrapolated: from 250 to 1,000 images, mean over samples.
        deviation: of the extrapolated distance, from sample to sample.
        standard_error: of a sample's, as its own images give it; mean over samples.
    """

    measured: float
    small: float
    extrapolated: float
    deviation: float
    standard_error: float


def check_extrapolation(setup: Setup) -> dict[str, Check]:
    """Clean images and every surrogate at severity 5, where there are images enough.

    Empty if the set holds fewer than ten samples of 500.
    """
    count = 2 * CHECKED_SIDE * CHECKED_SAMPLES
    if len(setup.validation) < count:
        return {}
    chosen = stream(SEED, "agreement", "check").permutation(len(setup.validation))[:count]
    clean = points_of(setup, setup.validation[chosen])
    checks = {}
    for name in ("none", *SURROGATES):
        logger.info("%s: extrapolation, %s", setup.benchmark, name)
        points = points_of(setup, shifted(setup, name, SEVERITIES[-1])[chosen])
        costs = (
            euclidean_distances(clean[sample], points[sample])
            for sample in np.split(np.arange(count), CHECKED_SAMPLES)
        )
        found = [_extrapolated(cost) for cost in costs]
        extrapolated = [large.value for _, large in found]
        checks[name] = Check(
            float(np.mean([points_distance(clean[a], points[b]) for a, b in _pairs(count)])),
            float(np.mean([small.value for small, _ in found])),
            float(np.mean(extrapolated)),
            float(np.std(extrapolated, ddof=1)),
            float(np.mean([large.standard_error for _, large in found])),
        )
    return checks


def _pairs(count: int) -> Draws:
    """Disjoint sides of 1,000 images, as many as there are in each of some random orders."""
    orders = [
        stream(SEED, "agreement", "pairs", k).permutation(count) for k in range(CHECKED_ORDERS)
    ]
    return blocks([(order[: count // 2], order[count // 2 :]) for order in orders], MOST_POINTS)


def _extrapolated(cost: NDArray[np.float64]) -> tuple[Estimate, Estimate]:
    """The distance between halves of a sample, and between 1,000 and 1,000 images."""
    orders = [
        stream(SEED, "agreement", "check", k).permutation(len(cost)) for k in range(CHECKED_DRAWS)
    ]
    draws = [(order[:CHECKED_SIDE], order[CHECKED_SIDE:]) for order in orders]
    small = mean_distance(cost, draws)
    return small, small.plus(fall(cost, draws, small, MOST_POINTS))
