"""Distances averaged over draws: their errors, and what they would be in larger samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import ot
from numpy.typing import NDArray

from benchmarks.agreement.setups import Indices

Draws = Sequence[tuple[Indices, Indices]]

STEP = 4
"""From one size of sample to the next, where larger ones are extrapolated to."""
STEEPEST = 0.95
"""Largest fall of the distance over a step, as a share of the fall over the step before."""

_ITERATIONS = 10**8


@dataclass(frozen=True)
class Estimate:
    """A distance, and what each image adds to it.

    Attributes:
        value: the distance.
        influence: change of the value, to first order, when an image counts twice, (N,).
    """

    value: float
    influence: NDArray[np.float64]

    @property
    def standard_error(self) -> float:
        """By the chance of the images: the infinitesimal jackknife (Efron, 1982)."""
        return float(np.linalg.norm(self.influence))

    def plus(self, other: "Estimate", factor: float = 1.0) -> "Estimate":
        return Estimate(
            self.value + factor * other.value, self.influence + factor * other.influence
        )


def mean_distance(
    cost: NDArray[np.float64], draws: Draws, weights: NDArray[np.float64] | None = None
) -> Estimate:
    """The exact 1-Wasserstein distance, averaged over draws.

    The potentials of optimal transport are its influence function (del Barrio & Loubes, 2019).

    Args:
        cost: distances between clean and shifted images, (N, N).
        draws: positions of the clean and of the shifted images of each.
        weights: of the images, (N,), positive; equal if None.

    Raises:
        RuntimeError: the solver stopped before the optimum.
    """
    weights = np.ones(len(cost)) if weights is None else weights
    total, influence = 0.0, np.zeros(len(cost))
    for rows, columns in draws:
        masses = [weights[side] / weights[side].sum() for side in (rows, columns)]
        part = np.ascontiguousarray(cost[np.ix_(rows, columns)])
        distance, solved = ot.emd2(*masses, part, numItermax=_ITERATIONS, log=True)
        if solved["warning"] is not None:
            raise RuntimeError(f"optimal transport did not converge: {solved['warning']}")
        total += distance
        potentials = (solved["u"], solved["v"])
        for side, mass, potential in zip((rows, columns), masses, potentials, strict=True):
            influence[side] += mass * (potential - mass @ potential)
    return Estimate(float(total) / len(draws), influence / len(draws))


def blocks(draws: Draws, size: int) -> Draws:
    """The sides of each draw, cut into as many disjoint blocks of `size` as they hold."""
    return [
        (rows[start : start + size], columns[start : start + size])
        for rows, columns in draws
        for start in range(0, len(rows) - size + 1, size)
    ]


def overlapping(draws: Draws, shared: int) -> Draws:
    """The same draws, `shared` of the clean images standing among the shifted ones as well."""
    return [
        (rows, np.concatenate([rows[len(rows) - shared :], columns[: len(columns) - shared]]))
        for rows, columns in draws
    ]


def fall(
    cost: NDArray[np.float64],
    draws: Draws,
    whole: Estimate,
    size: int,
    weights: NDArray[np.float64] | None = None,
) -> Estimate:
    """How much less the distance is between sets of `size` images than between those drawn.

    With n images on a side, the distance is taken to follow d + c·n^(-a). All three are found by
    the distances at n, n/4 and n/16, so that nothing but the images at hand goes into it (for
    `size` = 4n this is Aitken's extrapolation).

    Args:
        cost: as in `mean_distance`.
        draws: with disjoint sides.
        whole: the mean distance of the draws.
        size: images on a side, more than those drawn for any fall.
        weights: as in `mean_distance`.

    Returns:
        The fall, negative or 0.
    """
    side = len(draws[0][0])
    quarter, sixteenth = (
        mean_distance(cost, blocks(draws, max(side // part, 1)), weights)
        for part in (STEP, STEP**2)
    )
    last, before = whole.plus(quarter, -1), quarter.plus(sixteenth, -1)
    none = Estimate(0.0, np.zeros(len(cost)))
    if size <= side or last.value >= 0 or before.value >= 0:
        return none
    steps = log(size / side) / log(STEP)
    rate = min(last.value / before.value, STEEPEST)
    # The fall of the last step goes on as a geometric series.
    series = (rate - rate ** (steps + 1)) / (1 - rate)
    slope = (1 - (steps + 1) * rate**steps + series) / (1 - rate)
    of_rate = none.plus(last, 1 / before.value).plus(before, -rate / before.value)
    return Estimate(
        series * last.value, series * last.influence + slope * last.value * of_rate.influence
    )
