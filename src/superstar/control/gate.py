"""Whether images have left home at all: the one test that carries the error rate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superstar.errors import InputError
from superstar.images import stream
from superstar.integers import whole
from superstar.measures.rulers import BandRuler

SIZES = (1, 10, 25, 50, 100, 250, 1000)
"""Sizes of batches that a gate is calibrated for."""


@dataclass(frozen=True)
class Gate:
    """Readings of clean batches, by their size.

    Attributes:
        sizes: of batches, ascending.
        readings: of clean batches of each size, ascending along the second axis, (sizes, draws).
        images: how many clean images they were drawn from.
        rate: how often a clean batch may be told from home.

    Raises:
        InputError: a rate that so few images do not support.
    """

    sizes: tuple[int, ...]
    readings: NDArray[np.float64]
    images: int
    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise InputError(f"a rate of false alarms must lie in (0, 1), not {self.rate}")
        if self.rate < self.smallest_rate:
            raise InputError(
                f"{self.images} clean images, drawn {self.readings.shape[1]} times, do not support "
                f"a rate of false alarms of {self.rate:g}: take at least "
                f"{int(np.ceil(1 / self.rate)) - 1} of both, or a rate of at least "
                f"{self.smallest_rate:.2g}"
            )

    @property
    def smallest_rate(self) -> float:
        """That images and draws support: with m of either, 1 / (m + 1)."""
        return 1 / (min(self.images, self.readings.shape[1]) + 1)

    def of_size(self, count: int) -> NDArray[np.float64]:
        """Readings of clean batches of the next smaller size, which scatter more."""
        place = int(np.searchsorted(self.sizes, whole(count, "the images", self.sizes[0]), "right"))
        return np.asarray(self.readings[place - 1])

    def threshold(self, count: int) -> float:
        """The reading that a clean batch exceeds at the rate."""
        return float(np.quantile(self.of_size(count), 1 - self.rate, method="higher"))

    def p_value(self, reading: float, count: int) -> float:
        """How often a clean batch reads as much or more, at least the smallest rate."""
        clean = self.of_size(count)
        above = len(clean) - int(np.searchsorted(clean, reading, "left"))
        return max((above + 1) / (len(clean) + 1), self.smallest_rate)


def calibrate_gate(
    ruler: BandRuler,
    histograms: NDArray[np.float32],
    *,
    rate: float,
    draws: int,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> Gate:
    """A gate from clean images that the ruler's home does not contain.

    Args:
        ruler: whose readings are tested.
        histograms: of the clean images, (m, bands, bins).
        rate: of false alarms.
        draws: batches of each size, drawn with replacement, so that a batch of many scatters no
            less than one of as many other images would.
        sizes: of batches.
        seed: of the draws.

    Raises:
        InputError: a rate that m images do not support.
    """
    rng = stream(seed, "gate")
    readings = np.empty((len(sizes), draws))
    for row, size in enumerate(sizes):
        for column in range(draws):
            chosen = rng.integers(len(histograms), size=size)
            weights = np.bincount(chosen, minlength=len(histograms)) / size
            used = np.flatnonzero(weights)
            mean = np.tensordot(weights[used], histograms[used], axes=1)
            readings[row, column] = ruler.reading(mean, size)
    return Gate(tuple(sizes), np.sort(readings, axis=1), len(histograms), rate)
