"""Ours and the peer on the same images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.corruptions.change import (
    Difference,
    Statistics,
    compare,
    describe,
    pool,
    worst_band,
)
from benchmarks.corruptions.peer import Peer
from benchmarks.measure import measure
from superstar.corruptions import corrupt
from superstar.images import from_uint8

FIXED = (
    "defocus_blur",
    "zoom_blur",
    "brightness",
    "contrast",
    "pixelate",
    "jpeg_compression",
    "gaussian_blur",
    "saturate",
)
"""Shifts without randomness."""
SEVERITIES = (1, 2, 3, 4, 5)
TIMED = 3
"""Severity at which speed is measured."""
REPEATS = 5
SINGLE_IMAGES, SINGLE_BATCHES = 2, 15
"""Images that are drawn alone where all of them miss, and batches that their draws come in."""


@dataclass(frozen=True)
class Equality:
    """How equal two images are, value by value.

    Attributes:
        share: of the values that differ by 2 levels of 255 at most.
        greatest: difference in levels.
    """

    share: float
    greatest: int


@dataclass(frozen=True)
class Likeness:
    """How alike two random changes are, their spectra in the band where they differ most.

    Attributes:
        difference: of the statistics, pooled over all draws.
        error: its standard errors, from one draw to another, (5,).
    """

    difference: Difference
    error: NDArray[np.float64]


@dataclass(frozen=True)
class Speed:
    """Seconds an image."""

    ours: float
    peer: float


def cut_off(images: NDArray[np.float32]) -> NDArray[np.uint8]:
    """To 8 bits as the peer does it, by cutting off, save what a float32 misses a level by."""
    return np.floor(images * 255 + 1e-3).astype(np.uint8)


def ours(images: NDArray[np.uint8], name: str, severity: int, draw: int) -> NDArray[np.uint8]:
    """Our shift of 8-bit images (N, H, W, 3)."""
    corrupted = corrupt(from_uint8(images), name, severity, seed=draw)
    return cut_off(corrupted.permute(0, 2, 3, 1).numpy())


def equality(images: NDArray[np.uint8], peer: Peer, name: str, severity: int) -> Equality:
    """Compare a shift without randomness."""
    mine = ours(images, name, severity, 0).astype(np.int16)
    apart = np.abs(mine - peer.corrupt(name, severity, 0, range(len(images))))
    return Equality(float((apart <= 2).mean()), int(apart.max()))


def likeness(
    images: NDArray[np.uint8], peer: Peer, name: str, severity: int, draws: range
) -> Likeness:
    """Compare a random shift over at least two draws, of which each number gives another."""
    return _likeness(images, range(len(images)), peer, name, severity, draws)


def single_images(
    images: NDArray[np.uint8], peer: Peer, cells: Sequence[tuple[str, int]], count: int, first: int
) -> dict[tuple[str, int], list[Likeness]]:
    """Compare random shifts on single images, each drawn so often that chance says little.

    Args:
        images: uint8 (N, H, W, 3), of which the first are taken.
        peer: holds the same images.
        cells: shifts and severities.
        count: times that each image is drawn, a multiple of `SINGLE_BATCHES`.
        first: number of the first draw, above those of all draws before.
    """
    found: dict[tuple[str, int], list[Likeness]] = {cell: [] for cell in cells}
    for cell in cells:
        for i in range(min(SINGLE_IMAGES, len(images))):
            start = first + i * SINGLE_BATCHES
            copies = [i] * (count // SINGLE_BATCHES)
            draws = range(start, start + SINGLE_BATCHES)
            found[cell].append(_likeness(images, copies, peer, *cell, draws))
    return found


def _likeness(
    images: NDArray[np.uint8],
    chosen: Sequence[int],
    peer: Peer,
    name: str,
    severity: int,
    draws: range,
) -> Likeness:
    """Of the chosen images, each of which may be chosen several times."""
    given = images[list(chosen)]

    def described(corrupted: Callable[[int], NDArray[np.uint8]]) -> list[Statistics]:
        return [
            describe((corrupted(draw) - given.astype(np.float32)) / np.float32(255))
            for draw in draws
        ]

    mine = described(lambda draw: ours(given, name, severity, draw))
    theirs = described(lambda draw: peer.corrupt(name, severity, draw, chosen))
    pooled, base = pool(mine), pool(theirs)
    band = worst_band(pooled, base)
    variances = [
        np.var([compare(draw, base, band).values() for draw in some], axis=0, ddof=1) / len(draws)
        for some in (mine, theirs)
    ]
    return Likeness(compare(pooled, base, band), np.sqrt(sum(variances)))


def speed(images: NDArray[np.uint8], peer: Peer, name: str) -> Speed:
    """Time a shift on all images, ours from and to floats, the peer's from and to 8 bits."""
    batch = from_uint8(images)
    count = len(images)
    mine = measure(lambda n: partial(corrupt, batch[:n], name, TIMED), count, REPEATS)
    theirs = measure(lambda n: peer.work(name, TIMED, n), count, REPEATS)
    return Speed(mine.seconds / count, theirs.seconds / count)
