"""Which shifts look alike to the policy: K-means of states (paper, appendices G and K)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from superstar.control.operability import check_states
from superstar.errors import InputError
from superstar.images import check_seed
from superstar.integers import whole
from superstar.measures import FEATURES

ENTROPY = FEATURES.index("entropy")


@dataclass(frozen=True)
class Clustering:
    """States in K clusters, and the curve that K was read from.

    Attributes:
        labels: int64 (n,), the cluster of each state, 0 to K − 1, in order of entropy.
        centres: float64 (K, 3), the clusters' means.
        inertias: float64 (k_max,), the sum of squared distances to the nearest centre with
            1, 2, ... clusters.
    """

    labels: NDArray[np.int64]
    centres: NDArray[np.float64]
    inertias: NDArray[np.float64]

    @property
    def k(self) -> int:
        """K, the number of clusters."""
        return len(self.centres)


def cluster_states(states: ArrayLike, *, most: int = 10, seed: int = 0) -> Clustering:
    """Sort states into K clusters with K-means, K by the elbow of the inertia.

    The states are taken as they are, as the policy takes them: a bit of entropy counts as much as
    a unit of brightness.

    Args:
        states: (n, 3), state features of single images.
        most: the greatest K to try, at least 1; as many as there are different states if these
            are fewer.
        seed: of the centres that K-means starts from, ten times for each K.

    Raises:
        InputError: not states, values not finite, `most` below 1.
    """
    features = check_states(states).astype(np.float64)
    most, seed = whole(most, "the greatest number of clusters", 1), check_seed(seed)
    different = len(np.unique(features, axis=0))
    fits = [
        KMeans(k, n_init=10, random_state=seed).fit(features)
        for k in range(1, min(most, different) + 1)
    ]
    inertias = np.array([fit.inertia_ for fit in fits], dtype=np.float64)
    chosen = fits[elbow(inertias) - 1]
    order = np.argsort(chosen.cluster_centers_[:, ENTROPY], kind="stable")
    rank = np.argsort(order)
    return Clustering(rank[chosen.labels_], chosen.cluster_centers_[order], inertias)


def elbow(inertias: ArrayLike) -> int:
    """The number of clusters at the elbow of a curve that starts with one cluster.

    The elbow is the point farthest below the chord from the first point to the last (the scale of
    either axis has no bearing on which that is); 1 where no point lies below it.

    Args:
        inertias: (k_max,), inertia with 1, 2, ... clusters.

    Raises:
        InputError: no inertia.
    """
    curve = np.asarray(inertias, dtype=np.float64)
    if curve.ndim != 1 or len(curve) == 0:
        raise InputError("the elbow needs the inertia of at least one number of clusters")
    chord = np.linspace(curve[0], curve[-1], len(curve))
    return int(np.argmax(chord - curve)) + 1
