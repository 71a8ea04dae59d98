"""Figures of ours beside released ones, and when they count as agreeing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax

from benchmarks.agreement.measuring import Measured
from benchmarks.agreement.released import Released
from superstar.measures import FEATURES

STATE_PERCENT = 3.0
STATE_ERRORS = 3.0
DISTANCE_PERCENT = {"imagenet": 8.0, "cifar100": 5.0}
REWEIGHTED = ("imagenet",)
"""Data sets whose images need not be as bright as the release's."""

_BRIGHTNESS = FEATURES.index("brightness")
_STEEPEST = 1e3


@dataclass(frozen=True)
class Comparison:
    """A figure of ours beside a released one.

    Attributes:
        released: the figure of the release.
        ours: our figure.
        percent: how far ours may be off, in percent of the released one.
        standard_error: of ours, by the chance of its images; three of them are allowed.
    """

    released: float
    ours: float
    percent: float
    standard_error: float = 0.0

    @property
    def difference(self) -> float:
        """In percent of the released figure."""
        return 100 * (self.ours / self.released - 1)

    @property
    def within_percent(self) -> bool:
        """Whether the difference is within the percentage."""
        return abs(self.ours - self.released) <= self.percent / 100 * abs(self.released)

    @property
    def within(self) -> bool:
        """Whether the difference is within the percentage or the standard errors."""
        by_errors = abs(self.ours - self.released) <= STATE_ERRORS * self.standard_error
        return self.within_percent or by_errors


Cells = dict[tuple[str, str], Comparison]


@dataclass(frozen=True)
class Reweighting:
    """Weights of images, proportional to exp(-slope · clean brightness)."""

    slope: float
    weights: NDArray[np.float64]


def compare_states(
    measured: Measured,
    released: Released,
    benchmark: str,
    weights: NDArray[np.float64] | None = None,
) -> Cells:
    """Mean state features beside the released ones, by surrogate and feature."""
    cells = {}
    for surrogate, features in measured.states.items():
        means = np.average(features, axis=0, weights=weights)
        for feature, ours in zip(FEATURES, means, strict=True):
            deviation = released.deviation(benchmark, surrogate, feature)
            cells[surrogate, feature] = Comparison(
                released.mean(benchmark, surrogate, feature),
                float(ours),
                STATE_PERCENT,
                deviation / len(features) ** 0.5,
            )
    return cells


def compare_distances(measured: Measured, released: Released, benchmark: str) -> Cells:
    """Mean distances beside the released ones, by surrogate and severity."""
    return {
        (surrogate, str(severity)): Comparison(
            released.distance(benchmark, surrogate, severity),
            float(draws.mean()),
            DISTANCE_PERCENT[benchmark],
        )
        for (surrogate, severity), draws in measured.distances.items()
    }


def reweight(measured: Measured, released: Released, benchmark: str) -> Reweighting | None:
    """Weights that give the images the release's brightness under median blur.

    None if no weights do, nearly all images being brighter or darker than that.
    """
    clean = measured.clean[:, _BRIGHTNESS]
    blurred = measured.states["median_blur"][:, _BRIGHTNESS]
    target = released.mean(benchmark, "median_blur", "brightness")

    def excess(slope: float) -> float:
        return float(softmax(-slope * clean) @ blurred) - target

    if excess(_STEEPEST) * excess(-_STEEPEST) >= 0:
        return None
    slope = float(brentq(excess, -_STEEPEST, _STEEPEST))
    return Reweighting(slope, softmax(-slope * clean))
