"""Sliced f-divergences: total variation, Kullback-Leibler and Jensen-Shannon (paper, appendix A).

Estimated from samples as sliced probability divergences (Nadjahi et al., NeurIPS 2020): both sets
are projected to a line along random unit vectors, counted in common bins, and the divergences of
the two histograms averaged over the directions.

The bins are those of equal mass under the even mixture of both sets (each set weighs one half,
whatever its size), so they follow the data. Their number is even: then an edge lies at the
median, and sets that a point separates share no bin.

A bin is a function of a point. By the data-processing inequality the divergence of the binned
distributions is therefore at most that of the distributions in m dimensions, and so is its mean.
The histograms of samples add a bias upwards: for two samples of one distribution, N and M large,
B bins and s = 1/N + 1/M, about √(B·s/(2π)) for total variation, B·s/2 for Kullback-Leibler and
B·s/8 for Jensen-Shannon.

All three saturate: once every direction separates the sets, they are at their greatest value, and
say nothing of how far apart the sets are. A policy that brings such a set closer earns nothing
for it, which is why the paper prefers the Wasserstein distance.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import log

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from scipy.special import rel_entr
from torch import Tensor

from superstar.errors import InputError
from superstar.measures.distances import Distance
from superstar.measures.sliced import random_directions, sorted_shadows

SMOOTHING = 0.01
"""ε, the share of the mixture in the distributions that Kullback-Leibler compares."""

Histograms = NDArray[np.float64]


@njit(cache=True, parallel=True)
def common_histograms(
    first: NDArray[np.float32], second: NDArray[np.float32], bins: int
) -> tuple[Histograms, Histograms]:
    """Histograms of rows of sorted values (L, N) and (L, M) on common bins: twice (L, bins).

    Equal values share a bin; a value heavier than a bin leaves the next ones empty.
    """
    lines, n, m = first.shape[0], first.shape[1], second.shape[1]
    p, q = np.zeros((lines, bins)), np.zeros((lines, bins))
    for line in prange(lines):
        i = j = k = 0
        while i < n or j < m:
            if j == m or (i < n and first[line, i] <= second[line, j]):
                value = first[line, i]
            else:
                value = second[line, j]
            while i < n and first[line, i] == value:
                p[line, k] += 1
                i += 1
            while j < m and second[line, j] == value:
                q[line, k] += 1
                j += 1
            # The mixture's mass up to here is (i/n + j/m) / 2, compared in whole numbers.
            while k < bins - 1 and (i * m + j * n) * bins >= 2 * (k + 1) * n * m:
                k += 1
    return p / n, q / m


@dataclass(frozen=True)
class SlicedDivergence(Distance):
    """What the sliced divergences share.

    Attributes:
        directions: how many, at least 1.
        bins: of each histogram, even, at least 2.
        seed: of the directions, at least 0.
    """

    directions: int = 256
    bins: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_whole("directions", 1)
        self._check_whole("bins", 2)
        if self.bins % 2:
            raise InputError(
                f"the distance {self.kind!r} takes an even number of bins, not {self.bins}: "
                "then the median is an edge"
            )
        self._check_whole("seed", 0)

    def _between(self, reference: Tensor, points: Tensor) -> float:
        directions = random_directions(reference.shape[1], self.directions, self.seed)
        shadows = sorted_shadows(reference, points, directions)
        mean = float(self._divergences(*common_histograms(*shadows, self.bins)).mean())
        return min(max(mean, 0.0), self.saturation)

    @property
    @abstractmethod
    def saturation(self) -> float:
        """The greatest value, which sets reach that every direction separates."""

    @abstractmethod
    def _divergences(self, reference: Histograms, points: Histograms) -> NDArray[np.float64]:
        """Divergence (L,) of each line's two histograms, (L, bins) each."""


@dataclass(frozen=True)
class TotalVariation(SlicedDivergence, kind="total_variation"):
    """Sliced total variation: ½ Σ |p - q| over the bins, in [0, 1]; symmetric.

    See the module for the estimate, its bound and its bias. It saturates at 1.
    """

    @property
    def saturation(self) -> float:
        """1."""
        return 1.0

    def _divergences(self, reference: Histograms, points: Histograms) -> NDArray[np.float64]:
        return np.abs(reference - points).sum(axis=1) / 2


@dataclass(frozen=True)
class KullbackLeibler(SlicedDivergence, kind="kullback_leibler"):
    """Sliced Kullback-Leibler divergence of the points from the reference, in nats.

    KL(points ‖ reference) = Σ q·log(q/p), with q of the points and p of the reference: it grows
    where there are images such as the clean ones hardly ever were, which is what hurts a
    classifier. The other way round it would grow where clean images abound that happen not to be
    in a small batch. It is not symmetric.

    So that an empty bin does not make it infinite, both histograms are mixed with their mean,
    p' = (1 - ε)·p + ε·(p + q)/2 and q' likewise, ε = 0.01. That lowers it by ε times its value at
    least. It saturates at (1 - ε)·log((2 - ε)/ε), about 5.24, the divergence between a coin that
    shows heads with probability 1 - ε/2 and its opposite; no pair of histograms exceeds this. See
    the module for the estimate, its bound and its bias.
    """

    @property
    def saturation(self) -> float:
        """(1 - ε)·log((2 - ε)/ε)."""
        return (1 - SMOOTHING) * log((2 - SMOOTHING) / SMOOTHING)

    def _divergences(self, reference: Histograms, points: Histograms) -> NDArray[np.float64]:
        mixture = SMOOTHING * (reference + points) / 2
        p, q = (1 - SMOOTHING) * reference + mixture, (1 - SMOOTHING) * points + mixture
        return rel_entr(q, p).sum(axis=1)


@dataclass(frozen=True)
class JensenShannon(SlicedDivergence, kind="jensen_shannon"):
    """Sliced Jensen-Shannon divergence, in nats: ½ KL(p ‖ r) + ½ KL(q ‖ r), r = (p + q)/2.

    In [0, log 2]; symmetric. See the module for the estimate, its bound and its bias. It saturates
    at log 2.
    """

    @property
    def saturation(self) -> float:
        """log 2."""
        return log(2)

    def _divergences(self, reference: Histograms, points: Histograms) -> NDArray[np.float64]:
        mixture = (reference + points) / 2
        return (rel_entr(reference, mixture) + rel_entr(points, mixture)).sum(axis=1) / 2
