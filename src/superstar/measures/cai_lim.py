"""The Cai-Lim distance between sets of points of different dimensions (paper, appendix B)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import ot
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError
from superstar.images import stream
from superstar.integers import whole
from superstar.measures.distances import check_points
from superstar.measures.wasserstein import euclidean_distances

Array = NDArray[np.float64]

_COUPLING_ITERATIONS = 10**8
_PROGRESS = 1e-7
"""A descent ends when a round lowers its value by no more than this share."""
_FLOORS = np.geomspace(0.1, 1e-9, 12)
"""Step by step within a round: residuals below this, in the points' scale, count as this where
p = 1 divides by them. Were it small from the start, pairs that happen to meet would never part."""


def cai_lim_distance(
    a: Tensor, b: Tensor, *, p: int = 1, restarts: int = 10, iterations: int = 50, seed: int = 0
) -> float:
    """An upper bound of the Cai-Lim distance.

    W_p^CL(a, b) = inf W_p(V·a + c, b) over V with orthonormal rows, (m, n), and offsets c. It is
    0 where b is such a projection of a, and with at most as many points as dimensions it can be
    0 for other sets too.

    The infimum is over a set that is not convex, so no method here finds it for sure. This one
    descends from several starts, by turns to the optimal coupling and to a better V and c for it.
    Neither step raises the value. It returns the lowest value that it met, an upper bound. Where
    points of `b` come from those of `a` in the same order, the bound of a set and its own
    projection is 0. Where the order is not known it can stay far above the infimum, as high as for
    unrelated sets: more restarts lower it, without a warranty. Starts: V drawn at random, the
    principal axes of both sets laid upon each other, and, where the sets are
    equally large, V fitted to the points in the order in which they are given.

    Args:
        a: points (N, n), any real dtype.
        b: points (M, m), m at most n.
        p: 1 or 2.
        restarts: random starts, at least 0, beside the others.
        iterations: most rounds from each start, at least 1.
        seed: of the random starts.

    Returns:
        The bound, at least 0, in the unit of the points.

    Raises:
        InputError: not points, NaN or infinite values, b of a higher dimension than a, or an
            argument outside its range.
        RuntimeError: the transport solver stopped before the optimum.
    """
    first = check_points(a, "the first points").double().numpy()
    second = check_points(b, "the second points").double().numpy()
    if second.shape[1] > first.shape[1]:
        raise InputError(
            f"the second points have more dimensions than the first, {second.shape[1]} and "
            f"{first.shape[1]}: exchange them"
        )
    p, restarts = whole(p, "p", 1, 2), whole(restarts, "restarts")
    iterations = whole(iterations, "iterations", 1)
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    scale = float(max(np.abs(first).max(), np.abs(second).max())) or 1.0
    reduced = _without_idle_dimensions(first / scale, second.shape[1])
    problem = _Problem(reduced, second / scale, p)
    starts = problem.starts(restarts, seed)
    return scale * min(problem.descend(start, iterations) for start in starts)


def _without_idle_dimensions(points: Array, m: int) -> Array:
    """Centred points (N, n) turned so that all but their rank's axes, and m more, can go.

    In the axes left out the points are 0. Of such axes V needs m at most, for what its rows lack
    in length, so every V·a is still to be had.
    """
    if points.shape[1] <= len(points) + m:
        return points
    left, values, _ = np.linalg.svd(points, full_matrices=False)
    return np.hstack([left * values, np.zeros((len(points), m))])


@dataclass(frozen=True)
class _Map:
    """x → V·x + c, with orthonormal rows of V (m, n)."""

    rows: Array
    offset: Array

    def __call__(self, points: Array) -> Array:
        return points @ self.rows.T + self.offset


@dataclass(frozen=True)
class _Pairs:
    """A coupling: which points are matched, and how much of them."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    mass: Array


@dataclass(frozen=True)
class _Problem:
    """Two centred sets, (N, n) and (M, m)."""

    first: Array
    second: Array
    p: int

    def starts(self, restarts: int, seed: int) -> Iterator[_Map]:
        n, m = self.first.shape[1], self.second.shape[1]
        axes, others = _principal_axes(self.first)[:m], _principal_axes(self.second)
        yield self._centred(others.T @ axes)
        if len(self.first) == len(self.second):
            order = np.arange(len(self.first))
            given = _Pairs(order, order, np.full(len(order), 1 / len(order)))
            yield self._centred(self._fitted_rows(given))
        draw = stream(seed, "cai_lim")
        for _ in range(restarts):
            yield self._centred(_nearest_rows(draw.standard_normal((m, n))))

    def descend(self, current: _Map, iterations: int) -> float:
        """The value that alternating steps reach from a start."""
        value = reached = np.inf
        for _ in range(iterations):
            pairs = self._coupling(current)
            candidates = [current, self._centred(self._fitted_rows(pairs))]
            current = min(candidates, key=lambda candidate: self._cost(candidate, pairs))
            changed = current
            for floor in _FLOORS:
                changed = self._improved(changed, pairs, floor)
            current = min(current, changed, key=lambda candidate: self._cost(candidate, pairs))
            # The pairs need not be optimal for the new map: their cost is no less than W_p^p.
            reached = self._cost(current, pairs)
            if not reached < value * (1 - _PROGRESS):
                break
            value = reached
        return float(min(value, reached) ** (1 / self.p))

    def _coupling(self, current: _Map) -> _Pairs:
        moved, target = torch.from_numpy(current(self.first)), torch.from_numpy(self.second)
        cost = euclidean_distances(moved, target) ** self.p
        plan, log = ot.emd([], [], cost, numItermax=_COUPLING_ITERATIONS, log=True)
        if log["warning"] is not None:
            raise RuntimeError(f"optimal transport did not converge: {log['warning']}")
        i, j = plan.nonzero()
        return _Pairs(i, j, plan[i, j])

    def _residuals(self, current: _Map, pairs: _Pairs) -> Array:
        return np.linalg.norm(current(self.first)[pairs.i] - self.second[pairs.j], axis=1)

    def _cost(self, current: _Map, pairs: _Pairs) -> float:
        return float(pairs.mass @ self._residuals(current, pairs) ** self.p)

    def _centred(self, rows: Array) -> _Map:
        # Both sets have mean 0: no offset is the best one for p = 2, and a start for p = 1.
        return _Map(rows, np.zeros(len(rows)))

    def _fitted_rows(self, pairs: _Pairs) -> Array:
        """The admissible V nearest to the least-squares map of each point to its partners."""
        matched = np.zeros((len(self.first), self.second.shape[1]))
        np.add.at(matched, pairs.i, len(self.first) * pairs.mass[:, None] * self.second[pairs.j])
        fitted = np.linalg.lstsq(self.first, matched, rcond=None)[0].astype(np.float64, copy=False)
        return _completed_rows(self.first, fitted.T)

    def _improved(self, current: _Map, pairs: _Pairs, floor: float) -> _Map:
        """A step that does not raise the cost of the pairs (p = 1: residuals above the floor).

        For p = 1 a residual r is majorised by r²/(2·r_0) + r_0/2: weighted least squares. Its
        term tr(V·S·Vᵀ), S the weighted scatter, is majorised in turn by a linear one, with the
        greatest eigenvalue of S, which leaves an orthogonal Procrustes problem.
        """
        weights = pairs.mass
        if self.p == 1:
            residuals = self._residuals(current, pairs)
            weights = weights / np.maximum(residuals, floor)
        weights = weights / weights.sum()
        x, y = self.first[pairs.i], self.second[pairs.j]
        x_mean, y_mean = weights @ x, weights @ y
        x, y = x - x_mean, y - y_mean
        scatter = (x * weights[:, None]).T @ x
        greatest = np.linalg.eigvalsh(scatter)[-1]
        pull = (y * weights[:, None]).T @ x + current.rows * greatest - current.rows @ scatter
        rows = _nearest_rows(pull) if np.any(pull) else current.rows
        return _Map(rows, y_mean - rows @ x_mean)


def _principal_axes(points: Array) -> Array:
    """Axes of centred points as rows, by falling variance, each towards the longer tail."""
    axes = np.linalg.svd(points, full_matrices=True)[2]
    skewness = ((points @ axes.T) ** 3).sum(axis=0)
    return axes * np.where(skewness < 0, -1.0, 1.0)[:, None]


def _nearest_rows(matrix: Array) -> Array:
    """The matrix with orthonormal rows nearest to (m, n), m ≤ n."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def _completed_rows(points: Array, matrix: Array) -> Array:
    """Orthonormal rows that act on the points as nearly as they can like the matrix (m, n).

    Singular values above 1 become 1. Those below stay, as far as there are axes in which the
    points are 0: the rows find there the length that they lack.
    """
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = np.minimum(values, 1.0)
    spanned = np.linalg.svd(points, full_matrices=True)
    rank = int((spanned[1] > 1e-10 * max(spanned[1][0], np.finfo(float).tiny)).sum())
    idle = spanned[2][rank:]
    lacking = min(len(idle), len(values))
    values[: len(values) - lacking] = 1.0
    rows = (left * values) @ right
    if lacking:
        rest = np.sqrt(1 - values[-lacking:] ** 2)
        rows += (left[:, -lacking:] * rest) @ idle[:lacking]
    return _nearest_rows(rows)
