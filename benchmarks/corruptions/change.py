"""What is measured of a change, corrupted minus clean, and how two of them differ."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft2

BANDS = 16


@dataclass(frozen=True)
class Statistics:
    """Statistics of changes of images, values in [0, 1].

    Attributes:
        mean: of all values.
        variance: of all values.
        spectrum: power in bands of the radial frequency up to the finest pattern of one
            direction, (16,), mean over planes (the channels of the images).
        horizontal: correlation of neighbours in a row, each plane about its own mean.
        vertical: the same of neighbours in a column.
    """

    mean: float
    variance: float
    spectrum: NDArray[np.float64]
    horizontal: float
    vertical: float


@dataclass(frozen=True)
class Difference:
    """How far the statistics of one change lie from another's.

    Attributes:
        mean: difference in % of the other's standard deviation, since means may well be 0.
        variance: relative difference in %.
        spectrum: relative difference in % in one band.
        horizontal: difference of the correlations in points, hundredths.
        vertical: likewise.
    """

    mean: float
    variance: float
    spectrum: float
    horizontal: float
    vertical: float

    def values(self) -> NDArray[np.float64]:
        """All of them in order, (5,)."""
        return np.array([getattr(self, field.name) for field in fields(self)])


def describe(change: NDArray[np.float32]) -> Statistics:
    """Statistics of a change, (N, H, W, 3), of square images."""
    planes = np.ascontiguousarray(change.transpose(0, 3, 1, 2)).reshape(-1, *change.shape[1:3])
    centred = planes - planes.mean(axis=(1, 2), keepdims=True)
    energy = float(np.vdot(centred, centred))
    # A change that is the same everywhere has no neighbours to compare.
    pairs = energy if energy > 0 else 1.0
    return Statistics(
        mean=float(planes.mean(dtype=np.float64)),
        variance=float(planes.var(dtype=np.float64)),
        spectrum=_bands(centred),
        horizontal=float(np.vdot(centred[..., 1:], centred[..., :-1])) / pairs,
        vertical=float(np.vdot(centred[:, 1:], centred[:, :-1])) / pairs,
    )


def _bands(planes: NDArray[np.float32]) -> NDArray[np.float64]:
    side = planes.shape[-1]
    power = np.mean([np.abs(rfft2(plane)) ** 2 for plane in planes], axis=0, dtype=np.float64)
    down, across = np.fft.fftfreq(side), np.fft.rfftfreq(side)
    radius = np.hypot(down[:, None], across)
    # The half that is left out mirrors all columns but the first and, for even sides, the last.
    weight = np.where((across == 0) | (across == 0.5), 1.0, 2.0) * np.ones_like(radius)
    inside = (radius > 0) & (radius <= 0.5)
    band = np.minimum((radius[inside] * 2 * BANDS).astype(int), BANDS - 1)
    total = np.bincount(band, (weight * power)[inside], minlength=BANDS)
    # Small images leave bands empty.
    return total / np.maximum(np.bincount(band, weight[inside], minlength=BANDS), 1)


def pool(draws: list[Statistics]) -> Statistics:
    """Mean statistics of several draws."""
    means = {
        field.name: np.mean([getattr(draw, field.name) for draw in draws], axis=0)
        for field in fields(Statistics)
    }
    return Statistics(**means)


def worst_band(ours: Statistics, peer: Statistics) -> int:
    """The band in which the spectra differ most."""
    return int(np.argmax(np.abs(_ratios(ours, peer) - 1)))


def compare(ours: Statistics, peer: Statistics, band: int) -> Difference:
    """Ours beside the peer's, the spectra in one band."""
    return Difference(
        mean=100 * (ours.mean - peer.mean) / max(peer.variance, 1e-12) ** 0.5,
        variance=100 * (ours.variance / max(peer.variance, 1e-12) - 1),
        spectrum=100 * float(_ratios(ours, peer)[band] - 1),
        horizontal=100 * (ours.horizontal - peer.horizontal),
        vertical=100 * (ours.vertical - peer.vertical),
    )


def _ratios(ours: Statistics, peer: Statistics) -> NDArray[np.float64]:
    power = peer.spectrum
    return np.divide(ours.spectrum, power, out=np.ones(BANDS), where=power > 0)
