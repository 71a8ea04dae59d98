"""The exact empirical Wasserstein distance between sets of images (paper, sections 4 and 6)."""

from dataclasses import dataclass
from math import frexp, ldexp, sqrt

import numpy as np
import ot
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.measures.distances import Distance, check_dimensions, check_points
from superstar.measures.projections import Projection

_ITERATIONS = 10**8
_OPTIMAL = 1
"""What the network simplex of POT reports when it has reached the optimum."""

_SMALL = 2.0**-10
"""Costs that all lie below this are enlarged: POT takes for 0 what is below some 1e-15."""

_NEAR = 1e-9
"""Squared distances below this share of the squared norms are lost in rounding when they come
from a matrix product."""


_BLOCK = 1024
"""Coordinates that are multiplied at once: what they need in double precision stays small."""


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _redo_near_pairs(
    squared: NDArray[np.float64],
    a: NDArray[np.floating],
    b: NDArray[np.floating],
    a_norms: NDArray[np.float64],
    b_norms: NDArray[np.float64],
) -> None:
    """Replace in place those squared distances that rounding has spoilt."""
    for i in prange(a.shape[0]):
        for j in range(b.shape[0]):
            if squared[i, j] <= _NEAR * (a_norms[i] + b_norms[j]):
                total = 0.0
                for k in range(a.shape[1]):
                    difference = np.float64(a[i, k]) - np.float64(b[j, k])
                    total += difference * difference
                squared[i, j] = total


def squared_distances(a: Tensor, b: Tensor) -> NDArray[np.float64]:
    """Squared distances between the rows of a (N, m) and of b (M, m), as (N, M)."""
    a, b = (points if points.dtype == torch.float32 else points.double() for points in (a, b))
    centre = b.mean(dim=0, dtype=torch.float64)
    squared = torch.zeros(len(a), len(b), dtype=torch.float64)
    a_norms, b_norms = torch.zeros(len(a), 1).double(), torch.zeros(len(b)).double()
    for start in range(0, a.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        a_block, b_block = (points[:, block].double() - centre[block] for points in (a, b))
        a_norms += (a_block * a_block).sum(dim=1, keepdim=True)
        b_norms += (b_block * b_block).sum(dim=1)
        squared.addmm_(a_block, b_block.T, alpha=-2)
    squared += a_norms
    squared += b_norms
    _redo_near_pairs(
        squared.numpy(), a.numpy(), b.numpy(), a_norms.flatten().numpy(), b_norms.numpy()
    )
    return squared.clamp_(min=0).numpy()


def euclidean_distances(a: Tensor, b: Tensor) -> NDArray[np.float64]:
    """Distances between the rows of a (N, m) and of b (M, m), as (N, M); exact 0 for equal rows."""
    squared = squared_distances(a, b)
    return np.sqrt(squared, out=squared)


def exact_distance(first: Tensor, second: Tensor, p: int) -> float:
    """The exact p-Wasserstein distance (p 1 or 2) between the rows of (N, m) and of (M, m).

    Raises:
        RuntimeError: the solver stopped before the optimum.
    """
    cost = euclidean_distances(first, second) if p == 1 else squared_distances(first, second)
    largest = float(cost.max())
    # A power of two, which rounds nothing.
    exponent = -frexp(largest)[1] if largest < _SMALL else 0
    total, log = ot.emd2([], [], np.ldexp(cost, exponent), numItermax=_ITERATIONS, log=True)
    if log["result_code"] != _OPTIMAL:
        raise RuntimeError(f"optimal transport did not converge: {log['warning']}")
    total = ldexp(float(total), -exponent)
    return total if p == 1 else sqrt(max(total, 0.0))


@dataclass(frozen=True)
class Wasserstein(Distance, kind="wasserstein"):
    """The exact p-Wasserstein distance between two sets of points of equal weight.

    W_p = (inf over couplings of E ‖x - y‖^p)^(1/p) with the Euclidean norm, solved by POT's
    network simplex; in the unit of the points. The distance of the paper, with p = 1.

    Attributes:
        p: 1 or 2.
    """

    p: int = 1

    def __post_init__(self) -> None:
        self._check_whole("p", 1, 2)

    def _between(self, reference: Tensor, points: Tensor) -> float:
        return exact_distance(reference, points, self.p)


def points_distance(a: Tensor, b: Tensor) -> float:
    """The exact 1-Wasserstein distance between two sets of points of equal weight.

    The ground cost is the Euclidean distance. The sets may differ in size.

    Args:
        a: points (N, m), any real dtype.
        b: points (M, m).

    Returns:
        The distance, at least 0, in the unit of the points.

    Raises:
        InputError: not points, NaN or infinite values, or points of different dimensions.
        RuntimeError: the solver stopped before the optimum.
    """
    first, second = check_points(a, "the first points"), check_points(b, "the second points")
    check_dimensions(first, second)
    return exact_distance(first, second, p=1)


def wasserstein_distance(reference: Tensor, images: Tensor, projection: Projection) -> float:
    """The distance of a set of images from a reference set, after projection.

    Args:
        reference: clean images, float32 (N, 3, H, W) in [0, 1], or their points (N, m) as
            `projection` gave them, which saves projecting them time and again.
        images: float32 (M, 3, H, W) in [0, 1].
        projection: maps images to points.

    Returns:
        The exact empirical 1-Wasserstein distance between the two sets of points.

    Raises:
        InputError: not images, or images or points of another size than the projection's.
        RuntimeError: the solver stopped before the optimum.
    """
    projected = isinstance(reference, Tensor) and reference.ndim == 2
    points = reference if projected else projection(reference)
    return points_distance(points, projection(images))
