"""How costs grow with the number of images."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowerLaw:
    """seconds = scale · N^exponent."""

    scale: float
    exponent: float

    @classmethod
    def fit(cls, seconds: Mapping[int, float]) -> "PowerLaw":
        """Least squares of logarithms, from seconds by N; at least two."""
        sizes, times = np.array(list(seconds)), np.array(list(seconds.values()))
        exponent, offset = np.polyfit(np.log(sizes), np.log(times), 1)
        return cls(float(np.exp(offset)), float(exponent))

    def __call__(self, count: float) -> float:
        """Seconds for `count` images."""
        return self.scale * count**self.exponent

    def overtakes(self, other: "PowerLaw") -> float | None:
        """From which number of images on this costs more; None if it does not grow faster."""
        if self.exponent <= other.exponent:
            return None
        return (other.scale / self.scale) ** (1 / (self.exponent - other.exponent))
