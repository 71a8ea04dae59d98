"""What rulers read before and after corrections, beside what those corrections gain."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from torch import Tensor, nn

from superstar.classifiers import accuracy
from superstar.control import Supervisor
from superstar.control.calibrated import Calibrated
from superstar.control.protocol import all_cells
from superstar.control.trials import (
    Shifts,
    name_of,
    read_candidates,
    shift_by,
    surrogate_shifts,
)
from superstar.datasets import ShiftedSets
from superstar.errors import InputError
from superstar.images import Images, ImageSet, stream
from superstar.jpeg import as_it_comes
from superstar.measures import Distance
from superstar.measures.rulers import PointRuler, Ruler
from superstar.parallel import fan_out
from superstar.parameters import BenchmarkGeneration, Calibration, Execution, RulerStudy
from superstar.pipelines.ruler_study import figures, report, summary
from superstar.weights import on_device

Drawn = Callable[[], tuple[Tensor, np.ndarray]]
"""Gives images, float32 (N, 3, H, W), with their labels."""


def read_surrogates(
    design: ImageSet,
    strengths: dict[str, list[float]],
    scale: str,
    supervisor: Supervisor,
    classifier: nn.Module,
    parameters: dict[str, Any],
    calibration: dict[str, Any],
    jpeg_quality: int | None,
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Every correction on surrogates of validation images, single and in pairs."""
    given = Calibration.model_validate(calibration)
    sets = []
    for cell in surrogate_shifts(list(strengths), given.severities, given.pair_severities):
        drawn = stream(seed, "rulers", name_of(cell)).permutation(len(design))[: given.images]
        made = partial(_surrogate, design.take(drawn), cell, strengths, scale, jpeg_quality, seed)
        sets.append((name_of(cell), cell[0][1] if cell else None, made))
    return _read(sets, supervisor, classifier, parameters, given, execution)


def read_tests(
    shifted: ShiftedSets,
    benchmark: dict[str, Any],
    supervisor: Supervisor,
    classifier: nn.Module,
    parameters: dict[str, Any],
    calibration: dict[str, Any],
    jpeg_quality: int | None,  # test sets come through it already
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """The same on test shifts. Nothing is chosen by it."""
    given = Calibration.model_validate(calibration)
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    sets = []
    for cell in all_cells(shifts, RulerStudy.model_validate(parameters).test_severities):
        images = partial(shifted.load, cell.shift, cell.severity)
        sets.append(
            (cell.shift, cell.severity, partial(_test, images, given.images, cell.shift, seed))
        )
    return _read(sets, supervisor, classifier, parameters, given, execution)


def measure_detection(
    train: ImageSet,
    design: ImageSet,
    strengths: dict[str, list[float]],
    scale: str,
    supervisor: Supervisor,
    parameters: dict[str, Any],
    calibration: dict[str, Any],
    jpeg_quality: int | None,
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """How often small batches under surrogates read more than clean ones, and what a reading takes.

    Returns:
        A row a ruler and size of batch: `detected`, the share of batches under a surrogate that
        read more than all but a share `rate` of clean ones, and `milliseconds` of a reading.
    """
    given = RulerStudy.model_validate(parameters)
    cells = [((name, given.severity),) for name in strengths]
    fewest = min(len(train), len(design))
    calls = [(ruler, n) for ruler in _rulers(supervisor, given) for n in given.sizes if n <= fewest]
    shared = (train, design, cells, strengths, scale, given, jpeg_quality, seed)
    run = Execution.model_validate(execution)
    return pd.DataFrame(fan_out(_detect, calls, run, "detection", shared=shared))


def summarise(
    surrogates: pd.DataFrame,
    tests: pd.DataFrame,
    detection: pd.DataFrame,
    parameters: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, float], str]:
    """One row a ruler, on surrogates and on test shifts; the same as metrics and as a page."""
    given = RulerStudy.model_validate(parameters)
    table = summary.ruler_table({"surrogates": surrogates, "test": tests}, detection, given)
    return table, summary.metrics(table), report.compose(table, detection, given)


def draw_rulers(surrogates: pd.DataFrame, tests: pd.DataFrame) -> Figure:
    """Fall of the reading and gain in accuracy, a panel a ruler."""
    return figures.rulers_figure(surrogates, tests)


def _rulers(supervisor: Supervisor, given: RulerStudy) -> list[Ruler]:
    """Those of the supervisor, and the other distances between its projected images."""
    points = supervisor.validation_points
    others = [
        PointRuler(Distance.create(kind), supervisor.projection, points) for kind in given.distances
    ]
    return [_held(supervisor).ruler, *others]


def _held(supervisor: Supervisor) -> Calibrated:
    if supervisor.calibrated is None:
        raise InputError("the supervisor holds no controller `calibrated`: train it again")
    return supervisor.calibrated


def _surrogate(
    chosen: ImageSet,
    cell: Shifts,
    strengths: dict[str, list[float]],
    scale: str,
    jpeg_quality: int | None,
    seed: int,
) -> tuple[Tensor, np.ndarray]:
    images = shift_by(chosen.batch(), cell, strengths, scale, seed)
    return as_it_comes(images, jpeg_quality), chosen.labels


def _test(load: Callable[[], Images], most: int, shift: str, seed: int) -> tuple[Tensor, Any]:
    images = load()
    drawn = np.sort(stream(seed, "rulers", shift).permutation(len(images))[:most])
    return images.batch(drawn), np.asarray(images.labels)[drawn]


def _read(
    sets: Sequence[tuple[str, int | None, Drawn]],
    supervisor: Supervisor,
    classifier: nn.Module,
    parameters: dict[str, Any],
    calibration: Calibration,
    execution: dict[str, Any],
) -> pd.DataFrame:
    given, run = RulerStudy.model_validate(parameters), Execution.model_validate(execution)
    shared = (supervisor, classifier, given, calibration.candidates, run)
    rows = chain.from_iterable(fan_out(_try, sets, run, "rulers", shared=shared))
    return pd.DataFrame(rows).astype({"severity": "Int64"})


def _try(
    shift: str,
    severity: int | None,
    draw: Drawn,
    supervisor: Supervisor,
    classifier: nn.Module,
    given: RulerStudy,
    candidates: Sequence[str],
    run: Execution,
) -> list[dict[str, Any]]:
    images, labels = draw()
    classifier, supervisor = on_device(classifier, run.device), supervisor.on(run.device)
    rows = read_candidates(
        images,
        candidates,
        _held(supervisor).appearance,
        supervisor.denoiser,
        _rulers(supervisor, given),
        lambda corrected: accuracy(classifier, corrected, labels, run.batch_size, run.device),
    )
    return [{"shift": shift, "severity": severity, **row} for row in rows]


def _detect(
    ruler: Ruler,
    size: int,
    train: ImageSet,
    design: ImageSet,
    cells: Sequence[Shifts],
    strengths: dict[str, list[float]],
    scale: str,
    given: RulerStudy,
    jpeg_quality: int | None,
    seed: int,
) -> dict[str, Any]:
    rng = stream(seed, "detection", size)
    clean, seconds = [], []
    for _ in range(given.draws):
        chosen = train.take(rng.choice(len(train), size, replace=False))
        images = as_it_comes(chosen.batch(), jpeg_quality)
        start = time.perf_counter()
        clean.append(ruler.read(images))
        seconds.append(time.perf_counter() - start)
    threshold = np.quantile(clean, 1 - given.rate)
    above = []
    for cell in cells:
        for _ in range(-(-given.draws // len(cells))):
            chosen = design.take(rng.choice(len(design), size, replace=False))
            images, _ = _surrogate(chosen, cell, strengths, scale, jpeg_quality, seed)
            above.append(ruler.read(images) > threshold)
    return {
        "ruler": ruler.name,
        "batch": size,
        "detected": float(np.mean(above)),
        "milliseconds": 1000 * float(np.median(seconds)),
    }
