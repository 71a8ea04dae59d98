"""All sets of a benchmark, made and written."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.corruptions.comparing import SEVERITIES
from superstar.corruptions import corrupt
from superstar.datasets.image_folders import write_images
from superstar.images import from_uint8, to_uint8

AT_ONCE = 100
"""Images in memory as floats."""


@dataclass(frozen=True)
class WholeTimes:
    """Seconds that all sets take.

    Attributes:
        images: in each set.
        sets: how many.
        made: from 8-bit images to 8-bit images in memory.
        written: the same, and written in ImageNet-C's layout.
    """

    images: int
    sets: int
    made: float
    written: float


def time_all(images: NDArray[np.uint8], names: Sequence[str]) -> WholeTimes:
    """Time the named shifts of 8-bit images (N, H, W, 3) at all severities."""
    cells = [(name, severity) for name in names for severity in SEVERITIES]
    start = time.perf_counter()
    for cell in cells:
        for _ in _shifted(images, *cell):
            pass
    made = time.perf_counter() - start
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        for name, severity in cells:
            write_images(Path(folder) / name / str(severity), _shifted(images, name, severity))
        written = time.perf_counter() - start
    return WholeTimes(len(images), len(cells), made, written)


def _shifted(
    images: NDArray[np.uint8], name: str, severity: int
) -> Iterator[tuple[list[str], NDArray[np.uint8]]]:
    for start in range(0, len(images), AT_ONCE):
        part = from_uint8(images[start : start + AT_ONCE])
        names = [f"class/{start + i}.JPEG" for i in range(len(part))]
        yield names, to_uint8(corrupt(part, name, severity, first_index=start))
