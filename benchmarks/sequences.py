"""Every short sequence of corrections on surrogates: its bands, and the accuracy that it leaves."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from kedro.io import DataCatalog
from numpy.typing import NDArray
from torch import Tensor, nn

from superstar.actions import Denoiser, Plan
from superstar.classifiers import predict
from superstar.control.calibrated import Calibrated
from superstar.control.candidates import DENOISER, fit_candidates
from superstar.control.trials import LINE_BLUR, Shifts, name_of, shift_by, surrogate_shifts
from superstar.images import stream
from superstar.jpeg import as_it_comes
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler

DEPTH, CLEAN_BATCHES = 2, 4


@dataclass(eq=False)
class Node:
    """Images after some corrections: bands, accuracy in points, seconds it took, what follows."""

    bands: NDArray[np.float64]
    accuracy: float
    seconds: float = 0.0
    after: dict[str, "Node"] = field(default_factory=dict)

    def __sub__(self, after: "Node") -> tuple[float, float]:
        return self.reading - after.reading, after.accuracy - self.accuracy

    @property
    def reading(self) -> float:
        """Of the ruler."""
        return float(BandRuler.aggregate(self.bands))

    @property
    def best(self) -> float:
        """The most accuracy that any sequence reaches."""
        return max([self.accuracy, *(node.best for node in self.after.values())])


@dataclass(eq=False)
class Cell:
    """A batch under surrogates, of one of two pools, which share no image, severity or pair."""

    shifts: Shifts
    pool: int
    root: Node


def grow(
    images: Tensor,
    right: Callable[[Tensor], float],
    controller: Calibrated,
    denoiser: Denoiser | None,
    taken: tuple[str, ...] = (),
) -> dict[str, Node]:
    """What follows images: sequences of at most `DEPTH` candidates, fitted as the search does."""
    denoised = any(DENOISER in name for name in taken)
    left = [n for n in controller.worth if n not in taken and not (denoised and DENOISER in n)]
    nodes, begun = {}, time.perf_counter()
    for name, fitted in fit_candidates(images, left, controller.appearance, denoiser):
        bands = fitted.bands(controller.ruler, len(images))
        nodes[name] = Node(bands, right(fitted.images), time.perf_counter() - begun)
        if len(taken) + 1 < DEPTH:
            after = Plan(fitted.corrections, denoiser).apply(images)
            nodes[name].after = grow(after, right, controller, denoiser, (*taken, name))
        begun = time.perf_counter()
    return nodes


def grow_all(catalog: DataCatalog, parameters: Mapping, count: int) -> Iterator[Cell]:
    """A tree for every surrogate and pair, and for clean batches, on so many design images."""
    given, design = parameters["calibration"], catalog.load("validation_design")
    supervisor, classifier = catalog.load("supervisor"), catalog.load("classifier_standard")
    controller, denoiser = supervisor.calibrated, supervisor.denoiser
    strengths, lines = catalog.load("surrogate_strengths"), given["line_blur"]
    levels = given["severities"], given["pair_severities"], len(lines)
    cells = surrogate_shifts(list(strengths), *levels)[1:]
    pairs = list(dict.fromkeys(name_of(cell) for cell in cells if len(cell) == 2))
    pools = np.array_split(stream(0, "choosers").permutation(len(design)), 2)
    for place, cell in enumerate([*cells, *[()] * CLEAN_BATCHES]):
        pool = pairs.index(name_of(cell)) if len(cell) == 2 else cell[0][1] if cell else place
        drawn = design.take(stream(0, "choosers", place).permutation(pools[pool % 2])[:count])
        known = {**strengths, LINE_BLUR: lines}
        shifted = shift_by(drawn.batch(), cell, known, parameters["scale"], seed=2 + pool % 2)
        images = as_it_comes(shifted, parameters["jpeg_quality"])
        right = partial(_right, classifier, drawn.labels)
        bands = controller.ruler.by_band(band_histograms(images).mean(0), count).clip(min=0)
        after = grow(images, right, controller, denoiser)
        yield Cell(cell, pool % 2, Node(bands, right(images), after=after))


def _right(classifier: nn.Module, labels: NDArray[np.int64], images: Tensor) -> float:
    return 100 * float((predict(classifier, images, precision="bfloat16").numpy() == labels).mean())
