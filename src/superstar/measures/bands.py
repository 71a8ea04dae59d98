"""What a set of images looks like band by band: histograms of details and of values.

Every image is split into bands: details of its luminance at several scales (Haar wavelets), details
of its colour at the finest, and the values themselves of luminance and colour. A histogram of each
is kept for each image, so that those of any set of images are a sum.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError
from superstar.images import GRAY_WEIGHTS, check_images

LEVELS = 4
"""Most scales; small images have fewer, so that the coarsest still has 4 rows."""

BINS = 127
WEIGHTS = np.array(GRAY_WEIGHTS, dtype=np.float32)
DETAIL_REACH = 0.5
"""Details, which are half a difference of means, lie within it."""

DETAIL_CORE = 0.002
"""Below it bins of details are about alike; above they grow with the detail."""

VALUE_RANGES = {"luminance": (0.0, 1.0), "blue": (-0.886, 0.886), "red": (-0.701, 0.701)}
"""Ranges of luminance, blue less luminance, and red less luminance (ITU-R BT.601)."""

_STEPS = 2**14
"""Entries of the table that gives the bin of a value."""


@dataclass(frozen=True)
class Bands:
    """The bands of images of one size.

    Attributes:
        image_size: height and width, in pixels.
        levels: scales of luminance.
        names: of the bands, in the order of all arrays.
    """

    image_size: tuple[int, int]
    levels: int
    names: tuple[str, ...]

    @classmethod
    @cache
    def of(cls, height: int, width: int) -> "Bands":
        """The bands of images of a size.

        Raises:
            InputError: a side below 8 pixels.
        """
        levels = min(LEVELS, int(np.log2(min(height, width))) - 2)
        if levels < 1:
            raise InputError(
                f"images of {height}x{width} pixels are too small for bands: 8 at least"
            )
        details = [
            f"{kind}_{2**level}" for level in range(levels) for kind in ("edges", "diagonal")
        ]
        colours = ["blue_details", "red_details"]
        return cls((height, width), levels, (*details, *colours, *VALUE_RANGES))

    @property
    def details(self) -> NDArray[np.bool_]:
        """Which bands hold details rather than values."""
        return np.array([name not in VALUE_RANGES for name in self.names])

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins, (bands, bins + 1)."""
        return np.stack([VALUE_EDGES.get(name, DETAIL_EDGES) for name in self.names])


def _detail_edges() -> NDArray[np.float64]:
    reach = np.arcsinh(DETAIL_REACH / DETAIL_CORE)
    return DETAIL_CORE * np.sinh(np.linspace(-reach, reach, BINS + 1))


DETAIL_EDGES = _detail_edges()
VALUE_EDGES = {name: np.linspace(*span, BINS + 1) for name, span in VALUE_RANGES.items()}


def _table(edges: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    """The bin of each of `_STEPS` equal parts of [low, high]."""
    centres = low + (np.arange(_STEPS) + 0.5) * (high - low) / _STEPS
    return np.clip(np.searchsorted(edges, centres, "right") - 1, 0, BINS - 1).astype(np.uint8)


_DETAIL_TABLE = _table(DETAIL_EDGES, -DETAIL_REACH, DETAIL_REACH)


@njit(cache=True, inline="always")
def _detail_bin(value: np.float32, table: NDArray[np.uint8]) -> np.uint8:
    place = int((value + np.float32(DETAIL_REACH)) * np.float32(_STEPS))
    return table[min(max(place, 0), _STEPS - 1)]


@njit(cache=True, inline="always")
def _split(
    plane: NDArray[np.float32],
    rows: int,
    columns: int,
    edges: NDArray[np.uint32],
    diagonal: NDArray[np.uint32],
    table: NDArray[np.uint8],
) -> None:
    """Count one level's details, and leave the means of blocks of four in the plane's corner."""
    quarter = np.float32(0.25)
    for y in range(rows // 2):
        for x in range(columns // 2):
            a, b = plane[2 * y, 2 * x], plane[2 * y, 2 * x + 1]
            c, d = plane[2 * y + 1, 2 * x], plane[2 * y + 1, 2 * x + 1]
            edges[_detail_bin(quarter * (a - b + c - d), table)] += 1
            edges[_detail_bin(quarter * (a + b - c - d), table)] += 1
            diagonal[_detail_bin(quarter * (a - b - c + d), table)] += 1
            plane[y, x] = quarter * (a + b + c + d)


@njit(cache=True, parallel=True)
def _histograms(
    images: NDArray[np.float32],
    levels: int,
    table: NDArray[np.uint8],
    spans: NDArray[np.float32],
    counts: NDArray[np.uint32],
) -> None:
    height, width = images.shape[2:]
    bands = counts.shape[1]
    for n in prange(images.shape[0]):
        luminance = np.empty((height, width), dtype=np.float32)
        blue = np.empty((height, width), dtype=np.float32)
        red = np.empty((height, width), dtype=np.float32)
        own = counts[n]
        for y in range(height):
            for x in range(width):
                r, g, b = images[n, 0, y, x], images[n, 1, y, x], images[n, 2, y, x]
                light = WEIGHTS[0] * r + WEIGHTS[1] * g + WEIGHTS[2] * b
                luminance[y, x] = light
                blue[y, x] = b - light
                red[y, x] = r - light
                own[bands - 3, _value_bin(light, spans[0])] += 1
                own[bands - 2, _value_bin(b - light, spans[1])] += 1
                own[bands - 1, _value_bin(r - light, spans[2])] += 1
        _split(blue, height, width, own[bands - 5], own[bands - 5], table)
        _split(red, height, width, own[bands - 4], own[bands - 4], table)
        rows, columns = height, width
        for level in range(levels):
            _split(luminance, rows, columns, own[2 * level], own[2 * level + 1], table)
            rows, columns = rows // 2, columns // 2


@njit(cache=True, inline="always")
def _value_bin(value: np.float32, span: NDArray[np.float32]) -> int:
    place = int((value - span[0]) * span[1])
    return min(max(place, 0), BINS - 1)


_SPANS = np.array([(low, BINS / (high - low)) for low, high in VALUE_RANGES.values()], np.float32)


def band_histograms(images: Tensor) -> NDArray[np.float32]:
    """Histograms of each image's bands.

    Args:
        images: float32 (N, 3, H, W) in [0, 1], sides of at least 8 pixels.

    Returns:
        float32 (N, bands, bins): shares of each band's coefficients, which sum to 1. Bands are
        those of `Bands.of(H, W)`.

    Raises:
        InputError: not a batch of images, or images too small.
    """
    check_images(images)
    bands = Bands.of(*images.shape[2:])
    pixels = images.detach().cpu().contiguous().numpy()
    counts = np.zeros((len(pixels), len(bands.names), BINS), dtype=np.uint32)
    _histograms(pixels, bands.levels, _DETAIL_TABLE, _SPANS, counts)
    return counts.astype(np.float32) / counts.sum(2, keepdims=True, dtype=np.float32)
