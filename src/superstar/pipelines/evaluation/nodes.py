"""Every shift, severity and trial, spread over workers."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd
from torch import nn

from superstar.control import Supervisor
from superstar.control.networks import Actor
from superstar.datasets import ShiftedSets
from superstar.parameters import BenchmarkGeneration, Evaluation, Execution
from superstar.pipelines.evaluation.protocol import Cell, CellResult, Protocol, evaluate_cell
from superstar.pipelines.parallel import spread

CONTROLLER = "paper"
Actors = dict[str, tuple[Actor, tuple[str, ...]]]


def evaluate(
    sets: ShiftedSets,
    supervisor: Supervisor,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    transferred: Actors,
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, ...]:
    """Results by trial and gains by image, of the own policy and of those from elsewhere.

    Then, of the own policy, steps of Algorithm 1 and first actions; and % inoperable.
    """
    given, run = Evaluation.model_validate(parameters), Execution.model_validate(execution)
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    protocol = Protocol(
        controller=CONTROLLER,
        trials=given.trials,
        batch_size=given.batch_size,
        network_batch=run.batch_size,
        device=run.device,
        precision=given.precision,
        seed=seed,
    )
    classifiers = {"standard": standard, **robust}
    cells = [Cell("none", None), *(Cell(s, level) for s in shifts for level in given.severities)]
    others = {
        name: replace(supervisor, actor=actor, actions=actions)
        for name, (actor, actions) in transferred.items()
    }
    arguments = [(cell, sets, supervisor, classifiers, protocol, others) for cell in cells]
    done = spread(_evaluate, arguments, run, "evaluation")
    return (
        _table(chain.from_iterable(cell.results for cell in done)),
        _table(chain.from_iterable(cell.gains for cell in done)),
        _table(chain.from_iterable(cell.transfer_results for cell in done)),
        _table(chain.from_iterable(cell.transfer_gains for cell in done)),
        _table(chain.from_iterable(cell.steps for cell in done)),
        _table(chain.from_iterable(cell.first_actions for cell in done)),
        _table(cell.inoperable for cell in done),
    )


def _evaluate(
    cell: Cell,
    sets: ShiftedSets,
    supervisor: Supervisor,
    classifiers: dict[str, nn.Module],
    protocol: Protocol,
    transferred: dict[str, Supervisor],
) -> CellResult:
    images = sets.load(cell.shift, cell.severity)
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(protocol.device)
    return evaluate_cell(cell, images, supervisor, classifiers, protocol, transferred)


def _table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    # Severity is a whole number, and none for the clean set.
    table = pd.DataFrame(list(rows))
    return table.astype({"severity": "Int64"}) if len(table) else table
