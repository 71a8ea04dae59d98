"""ALine-D: a classifier's accuracy on unlabelled images from an ensemble's agreement.

Baek et al., Agreement-on-the-Line, NeurIPS 2022 (paper, appendix A).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from torch import Tensor

from superstar.errors import InputError
from superstar.measures.distances import Distance

FEWEST_MEMBERS = 3


@dataclass(frozen=True)
class AlineD(Distance, kind="aline_d"):
    """The estimated error of an ensemble's first member, in [0, 1].

    The sets hold predicted labels instead of points. The reference is (N, 1 + K): for each clean
    image the true label, then what each of K ≥ 3 members predicts. The points are (M, K): the
    members' predictions on the images at hand.

    Over many shifts the probits Φ⁻¹ of accuracies on shifted images against those on clean ones
    lie on a line, and agreements of pairs of members lie on the same: with slope a and offset b,

        probit(acc'_i) = a·probit(acc_i) + b    and    probit(agr'_ij) = a·probit(agr_ij) + b,

    primes for shifted images. The slope is fitted to the agreements, which need no labels.
    Averaging the first over i and j and taking off the second removes b:

        ½ (w_i + w_j) = probit(agr'_ij) + a·(½ (probit(acc_i) + probit(acc_j)) - probit(agr_ij))

    for every pair, with w_i = probit(acc'_i). K ≥ 3 members give at least as many equations as
    unknowns; least squares solves them, and the distance is 1 - Φ(w_1).

    The line is an observation over many shifts, not a law: on a shift off the line the estimate is
    wrong, and nothing here tells. Members of nearly equal agreement leave the slope to chance.

    A share of n images is kept within [1/(2n), 1 - 1/(2n)], so that its probit is finite. The
    estimate asks classifiers about the images, so it has no place in a supervisor.
    """

    queries_classifiers: ClassVar[bool] = True

    def _check_pair(self, reference: Tensor, points: Tensor) -> None:
        members = points.shape[1]
        if members < FEWEST_MEMBERS:
            raise InputError(
                f"{self.kind} needs the predictions of at least {FEWEST_MEMBERS} classifiers, "
                f"not {members}"
            )
        if reference.shape[1] != 1 + members:
            raise InputError(
                f"{self.kind} takes a reference of true labels and {members} predictions, "
                f"(N, {1 + members}), not (N, {reference.shape[1]})"
            )
        for name, labels in (("reference", reference), ("points", points)):
            if labels.is_floating_point() and not torch.equal(labels, labels.round()):
                raise InputError(f"{self.kind} takes labels: the {name} must be whole numbers")

    def _between(self, reference: Tensor, points: Tensor) -> float:
        labels, clean = reference[:, :1].double().numpy(), reference[:, 1:].double().numpy()
        shifted = points.double().numpy()
        members = shifted.shape[1]
        i, j = np.triu_indices(members, k=1)
        agreements = _probits(clean[:, i] == clean[:, j])
        agreements_shifted = _probits(shifted[:, i] == shifted[:, j])
        centred = agreements - agreements.mean()
        if not np.ptp(agreements) > 0:
            raise InputError(
                "all pairs of classifiers agree equally often on clean images, which leaves the "
                f"slope of {self.kind} undetermined: take classifiers that differ more"
            )
        slope = centred @ agreements_shifted / (centred @ centred)
        accuracies = _probits(clean == labels)
        pairs = np.zeros((len(i), members))
        pairs[np.arange(len(i)), i] = pairs[np.arange(len(i)), j] = 0.5
        expected = agreements_shifted + slope * (pairs @ accuracies - agreements)
        solution = np.linalg.lstsq(pairs, expected, rcond=None)[0]
        return float(ndtr(-solution[0]))


def _probits(events: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Probits of the columns' shares of true values, kept away from 0 and 1."""
    least = 1 / (2 * len(events))
    return ndtri(np.clip(events.mean(axis=0), least, 1 - least))
