"""How far a set of images is from clean ones, band by band, reading zero at home.

The ruler compares histograms, so a reading costs next to nothing once images are counted, and those
of streams, mixed windows and thousands of draws are sums. It needs few images, and no solver.
"""

from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError
from superstar.integers import whole
from superstar.measures.bands import Bands, band_histograms
from superstar.measures.distances import Distance
from superstar.measures.projections import Projection


class Ruler(Protocol):
    """Tells how far a set of images is from clean ones."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def read(self, images: Tensor) -> float:
        """The reading of images, float32 (N, 3, H, W) in [0, 1]."""
        ...


@dataclass(frozen=True)
class PointRuler:
    """A distance between projected images and projected clean ones (paper, appendices A and C).

    It is not debiased: clean images read more than 0, and the more the fewer they are.

    Attributes:
        distance: between sets of points; not one that asks classifiers.
        projection: of images to points.
        points: of clean images, (N, m).
    """

    distance: Distance
    projection: Projection
    points: Tensor

    @property
    def name(self) -> str:
        """The kind of the distance."""
        return self.distance.kind

    def read(self, images: Tensor) -> float:
        """The distance of images, float32 (N, 3, H, W) in [0, 1]; at least 0."""
        return self.distance(self.points, self.projection(images))


@dataclass(frozen=True)
class BandRuler:
    """One-dimensional transport between a set's bands and the clean ones', in each band.

    For a band with distribution function F of clean images and G of the set,

        r = ∫ |F - G| du / σ - b(n),

    where u is the band's coefficient on the scale of its bins (details about logarithmic, so that
    faint and strong ones count alike; values linear), σ the clean band's standard deviation on it,
    and b(n) what n clean images read in the mean: with v the variance of single images' F,
    b(n) = sqrt(2 / π) ∫ sqrt(v (1/n + 1/N)) du / σ, as for normal deviations. The reading is the
    root mean square of r over the bands, negative ones cut to 0: one band that is far away counts
    for more than many that are a little away, as clean images' are by chance.

    Sees noise, blur, contrast, light, colour: whatever moves how often values and details occur.
    Blind to where in the image they lie. Cost: `band_histograms`, then microseconds.

    Attributes:
        bands: of the images.
        clean: F by band, (bands, bins).
        variance: v by band, (bands, bins).
        images: N, how many clean images there were.
    """

    name: ClassVar[str] = "bands"

    bands: Bands
    clean: NDArray[np.float64]
    variance: NDArray[np.float64]
    images: int

    @classmethod
    def of(cls, histograms: NDArray[np.float32], bands: Bands) -> "BandRuler":
        """A ruler whose home is a set of clean images.

        Args:
            histograms: theirs, of `band_histograms`, (N, bands, bins).
            bands: of images of their size.

        Raises:
            InputError: fewer than two images, or histograms of other bands.
        """
        if len(histograms) < 2 or histograms.shape[1] != len(bands.names):
            raise InputError(
                f"a ruler needs the {len(bands.names)} bands of at least two clean images, not "
                f"histograms of shape {histograms.shape}"
            )
        cumulative = np.cumsum(histograms, axis=2, dtype=np.float64)
        return cls(bands, cumulative.mean(0), cumulative.var(0, ddof=1), len(histograms))

    @property
    def spread(self) -> NDArray[np.float64]:
        """σ by band, in bins."""
        shares = np.diff(self.clean, axis=1, prepend=0.0)
        places = np.arange(shares.shape[1])
        mean = (shares * places).sum(1, keepdims=True)
        return np.sqrt((shares * (places - mean) ** 2).sum(1))

    def bias(self, count: int) -> NDArray[np.float64]:
        """b(n) by band, (bands,)."""
        deviation = np.sqrt(self.variance * (1 / whole(count, "the images", 1) + 1 / self.images))
        return np.asarray(sqrt(2 / pi) * deviation.sum(1) / self.spread)

    def by_band(self, histogram: NDArray[np.floating], count: int) -> NDArray[np.float64]:
        """r of each band.

        Args:
            histogram: mean of those of a set's images, (..., bands, bins).
            count: how many images that are.

        Returns:
            (..., bands); about 0 for clean images, and below 0 for images that home consists of.
        """
        difference = np.abs(np.cumsum(histogram, axis=-1, dtype=np.float64) - self.clean)
        return np.asarray(difference.sum(-1) / self.spread - self.bias(count))

    def reading(self, histogram: NDArray[np.floating], count: int) -> NDArray[np.float64]:
        """The reading: arguments as of `by_band`, returns (...)."""
        return self.aggregate(self.by_band(histogram, count))

    @staticmethod
    def aggregate(bands: NDArray[np.floating]) -> NDArray[np.float64]:
        """The reading of `by_band`'s values, (..., bands); returns (...)."""
        return np.asarray(np.sqrt(np.square(np.maximum(bands, 0)).mean(-1)))

    def read(self, images: Tensor) -> float:
        """The reading of images, float32 (N, 3, H, W) in [0, 1]; at least 0."""
        return float(self.reading(band_histograms(images).mean(0), len(images)))
