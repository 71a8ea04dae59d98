"""What a cell costs, and its parts, each in a process of its own on one thread."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.large_sets.inputs import ACTION, CELL, repeated, section
from benchmarks.measure import peak_megabytes
from superstar.actions import apply_action
from superstar.classifiers import load_named, predict
from superstar.control import Supervisor
from superstar.control.protocol import (
    CellResult,
    Protocol,
    evaluate_cell,
    recover_batch,
)
from superstar.control.scoring import Actions, parts
from superstar.measures import state_features

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    # How many processors joblib counts, and so how many threads decode.
    "LOKY_MAX_CPU_COUNT": "1",
}
WARM_UP = 8
"""Images of the cell that compiles and loads, which is not measured."""

P = ParamSpec("P")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Task:
    """What to evaluate.

    Attributes:
        images: folder of the shifted images by class.
        supervisor: its folder.
        classifier: as `load_named` takes it.
        batch_size: images that the supervisor sees.
    """

    images: Path
    supervisor: Path
    classifier: str
    batch_size: int


@dataclass(frozen=True)
class Seconds:
    """How long something took.

    Attributes:
        wall: by the clock.
        processor: that the process computed, which other programs hardly change.
    """

    wall: float
    processor: float


@dataclass(frozen=True)
class CellCost:
    """What a cell cost.

    Attributes:
        images: in the set.
        seconds: of the whole cell.
        batch: images that Algorithm 1 saw.
        batch_seconds: of Algorithm 1 on these alone, once.
        megabytes: most memory that the process held; None where the system does not tell.
        sequences: that were scored.
    """

    images: int
    seconds: Seconds
    batch: int
    batch_seconds: Seconds
    megabytes: float | None
    sequences: tuple[Actions, ...]

    @property
    def per_image(self) -> float:
        """Processor seconds an image beyond those of Algorithm 1."""
        return (self.seconds.processor - self.batch_seconds.processor) / self.images


@dataclass(frozen=True)
class Parts:
    """What an image costs in each part of a cell.

    Attributes:
        count: images measured.
        decode: processor seconds.
        state: processor seconds.
        action: processor seconds of `dncnn`.
        classification: processor seconds.
        action_flops: floating-point operations of `dncnn`.
        classification_flops: floating-point operations.
    """

    count: int
    decode: float
    state: float
    action: float
    classification: float
    action_flops: float
    classification_flops: float


def fresh(function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """The function's result from a fresh process with one thread."""
    with (
        _environment(),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        return pool.submit(function, *args, **kwargs).result()


@contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def measure_cell(task: Task, size: int) -> CellCost:
    """Evaluate a cell of `size` images: one trial, one classifier."""
    supervisor = Supervisor.load(task.supervisor)
    images = repeated(task.images, size)
    classifiers: dict[str, nn.Module] = {
        "standard": load_named(task.classifier, supervisor.image_size[0])
    }
    protocol = Protocol(
        controllers=("paper",),
        trials=1,
        batch_size=task.batch_size,
        network_batch=section("execution")["batch_size"],
        device="cpu",
        precision=section("evaluation")["precision"],
        seed=0,
    )
    few = images.take(slice(WARM_UP))
    evaluate_cell(CELL, few, supervisor, classifiers, protocol)
    batch_seconds, _ = _timed(lambda: recover_batch(CELL, images, supervisor, protocol, 0))
    seconds, result = _timed(lambda: evaluate_cell(CELL, images, supervisor, classifiers, protocol))
    return CellCost(
        size,
        seconds,
        min(task.batch_size, size),
        batch_seconds,
        peak_megabytes(),
        _sequences(result),
    )


def measure_parts(task: Task, count: int) -> Parts:
    """One pass of each part over `count` images, in a cell's batches."""
    supervisor = Supervisor.load(task.supervisor)
    images = repeated(task.images, count)
    classifier = load_named(task.classifier, supervisor.image_size[0])
    batch_size = section("execution")["batch_size"]
    precision = section("evaluation")["precision"]

    def work(part: slice) -> list[float]:
        decode, batch = _timed(lambda: images.batch(part))
        state, _ = _timed(lambda: state_features(batch))
        action, after = _timed(lambda: apply_action(batch, ACTION, supervisor.denoiser))
        said, _ = _timed(lambda: predict(classifier, after, batch_size, "cpu", precision))
        return [cost.processor for cost in (decode, state, action, said)]

    work(slice(WARM_UP))
    each = [sum(costs) / count for costs in zip(*map(work, parts(count, batch_size)), strict=True)]
    one = images.batch(slice(1))
    assert supervisor.denoiser is not None
    return Parts(count, *each, _flops(supervisor.denoiser, one), _flops(classifier, one))


def _timed(call: Callable[[], Result]) -> tuple[Seconds, Result]:
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor), result


def _sequences(result: CellResult) -> tuple[Actions, ...]:
    found = [(), *(tuple(row["sequence"]) for row in result.results)]
    found += [(row["action"],) for row in result.first_actions if row["action"] != "nop"]
    return tuple(dict.fromkeys(found))


def _flops(network: nn.Module, image: Tensor) -> float:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(image)
    return float(counter.get_total_flops())
