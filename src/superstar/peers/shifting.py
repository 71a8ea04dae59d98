"""A stream in which shifts come, change and come back without notice.

After the benchmark CCC of O. Press et al. (NeurIPS 2023), with steps in place of gradual changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superstar.control.protocol import Cell
from superstar.errors import InputError
from superstar.images import stream


@dataclass(frozen=True)
class Segment:
    """A stretch of one distribution.

    Attributes:
        cell: the shift and its severity.
        images: numbers of the images in their set, in the order in which they come.
    """

    cell: Cell
    images: NDArray[np.int64]


def shifting_stream(
    cells: Sequence[Cell],
    images: int,
    *,
    segments: int,
    kinds: int,
    clean: float,
    shortest: int,
    longest: int,
    seed: int,
) -> list[Segment]:
    """Segments in the order in which they come; it begins with a clean one.

    Args:
        cells: shifts and severities to draw `kinds` of, and the clean one.
        images: of each set.
        segments: how many.
        kinds: different shifts and severities; fewer than segments come back.
        clean: the chance that a segment is clean.
        shortest: images of a segment, at least.
        longest: images of a segment, at most.
        seed: of the draws.

    Raises:
        InputError: no clean cell, or too few of the others.
    """
    rng = stream(seed, "shifting stream")
    home = [cell for cell in cells if cell.severity is None]
    away = [cell for cell in cells if cell.severity is not None]
    if not home or len(away) < kinds or kinds < 2:
        raise InputError(
            f"a stream of {kinds} shifts and severities (peers.stream.kinds) needs clean images "
            f"and as many of these to draw from, 2 or more: there are {len(away)}"
        )
    drawn = [away[place] for place in rng.permutation(len(away))[:kinds]]
    made: list[Segment] = []
    while len(made) < segments:
        at_home = not made or rng.random() < clean
        cell = home[0] if at_home else drawn[rng.integers(kinds)]
        if made and cell == made[-1].cell:
            continue
        length = int(rng.integers(shortest, longest + 1))
        made.append(Segment(cell, rng.integers(images, size=length)))
    return made
