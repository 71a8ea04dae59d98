"""The sliced Wasserstein distance: a mean over one-dimensional ones."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.images import stream
from superstar.measures.distances import Distance

BLOCK = 256
"""Coordinates that are multiplied at once. Sums of no more than these come out the same for any
number of threads."""


@lru_cache(maxsize=4)
def random_directions(m: int, count: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors drawn uniformly from the sphere: (count, m), read only."""
    drawn = stream(seed, "distance", "directions").standard_normal((count, m))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    directions = drawn.astype(np.float32)
    directions.flags.writeable = False
    return directions


def sorted_shadows(
    reference: Tensor, points: Tensor, directions: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Both sets along each direction (L, m), in ascending order: (L, N) and (L, M).

    The origin lies between the sets' means, which costs no distance and saves digits; it is the
    same for either order of the sets, so that rounding does not tell them apart.
    """
    means = [part.mean(dim=0, dtype=torch.float64) for part in (reference, points)]
    centre = (means[0] + means[1]) / 2
    lines = torch.tensor(directions)

    def shadows(part: Tensor) -> NDArray[np.float32]:
        along = torch.zeros(len(lines), len(part))
        for start in range(0, part.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            centred = (part[:, block] - centre[block]).to(torch.float32)
            along.addmm_(lines[:, block], centred.T)
        return np.sort(along.numpy(), axis=1)

    return shadows(reference), shadows(points)


@njit(cache=True, parallel=True)
def _transport_costs(
    first: NDArray[np.float32], second: NDArray[np.float32], p: int
) -> NDArray[np.float64]:
    """W_p^p between rows of sorted values (L, N) and (L, M): (L,).

    Both quantile functions are steps, of width 1/N and 1/M; the integral of their difference
    runs over the merged steps, counted in units of 1/(N·M).
    """
    n, m = first.shape[1], second.shape[1]
    costs = np.empty(first.shape[0])
    for line in prange(first.shape[0]):
        total = 0.0
        i = j = position = 0
        while i < n and j < m:
            end = min((i + 1) * m, (j + 1) * n)
            gap = abs(np.float64(first[line, i]) - np.float64(second[line, j]))
            total += (end - position) * (gap if p == 1 else gap * gap)
            position = end
            if (i + 1) * m == end:
                i += 1
            if (j + 1) * n == end:
                j += 1
        costs[line] = total / (n * m)
    return costs


def sliced_distance(
    reference: Tensor, points: Tensor, directions: NDArray[np.float32], p: int
) -> float:
    """The sliced p-Wasserstein distance (p 1 or 2) along given unit vectors (L, m)."""
    costs = _transport_costs(*sorted_shadows(reference, points, directions), p)
    return float(costs.mean() ** (1 / p))


@dataclass(frozen=True)
class SlicedWasserstein(Distance, kind="sliced_wasserstein"):
    """The sliced p-Wasserstein distance (Bonneel et al., J. Math. Imaging Vis. 51, 2015).

    SW_p = (mean over random directions of W_p^p between the sets projected to a line)^(1/p). On
    a line the optimal coupling is the order, so the cost is N·log N for each direction.

    Its scale is not that of the exact distance. A translation by v has W_p = ‖v‖, but a direction
    sees only its share: SW_1 = ‖v‖·Γ(m/2) / (√π·Γ((m+1)/2)), about ‖v‖·√(2/(π·m)), and
    SW_2 = ‖v‖/√m, up to the draw of directions. For any two sets SW_p is, in expectation over the
    directions, at most that factor times W_p. Besides, two samples of one distribution are much
    nearer in it, relative to other sets, than in the exact distance. So α, β and λ chosen for one
    do not carry over to the other.

    Nor does it rank corrections alike. What takes variance away brings high-dimensional samples
    nearer to one another in the exact distance, and farther from the reference along a line: the
    sliced distance sees blur and low contrast as shifts, and a denoiser that also smooths as a
    loss, which the exact one does not.

    Attributes:
        p: 1 or 2.
        directions: how many, at least 1.
        seed: of the directions, at least 0.
    """

    p: int = 1
    directions: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_whole("p", 1, 2)
        self._check_whole("directions", 1)
        self._check_whole("seed", 0)

    def _between(self, reference: Tensor, points: Tensor) -> float:
        directions = random_directions(reference.shape[1], self.directions, self.seed)
        return sliced_distance(reference, points, directions, self.p)
