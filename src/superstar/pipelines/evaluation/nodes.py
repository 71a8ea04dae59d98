"""Every shift, severity and trial, spread over workers."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pandas as pd
from torch import nn

from superstar.control import Supervisor
from superstar.datasets import CorruptionArrays
from superstar.parameters import BenchmarkGeneration, Evaluation, Execution
from superstar.pipelines.evaluation.protocol import Cell, CellResult, Protocol, evaluate_cell
from superstar.pipelines.parallel import spread

CONTROLLER = "paper"


def evaluate(
    sets: CorruptionArrays,
    supervisor: Supervisor,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Results by trial, gains by image, steps of Algorithm 1, first actions, % inoperable."""
    given, run = Evaluation.model_validate(parameters), Execution.model_validate(execution)
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    protocol = Protocol(
        CONTROLLER, given.trials, given.batch_size, run.batch_size, run.device, seed
    )
    classifiers = {"standard": standard, **robust}
    cells = [Cell("none", None), *(Cell(s, level) for s in shifts for level in given.severities)]
    arguments = [(cell, sets, supervisor, classifiers, protocol) for cell in cells]
    done = spread(_evaluate, arguments, run, "evaluation")
    return (
        _table(chain.from_iterable(cell.results for cell in done)),
        _table(chain.from_iterable(cell.gains for cell in done)),
        _table(chain.from_iterable(cell.steps for cell in done)),
        _table(chain.from_iterable(cell.first_actions for cell in done)),
        _table(cell.inoperable for cell in done),
    )


def _evaluate(
    cell: Cell,
    sets: CorruptionArrays,
    supervisor: Supervisor,
    classifiers: dict[str, nn.Module],
    protocol: Protocol,
) -> CellResult:
    images = sets.load(cell.shift, cell.severity)
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(protocol.device)
    return evaluate_cell(cell, images, supervisor, classifiers, protocol)


def _table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    # Severity is a whole number, and none for the clean set.
    return pd.DataFrame(list(rows)).astype({"severity": "Int64"})
