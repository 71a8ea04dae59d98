"""Every shift, severity and trial, spread over workers."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd
from torch import nn

from superstar.checkpoint import own_checkpoint
from superstar.control import Supervisor
from superstar.control.finished import FinishedCells
from superstar.control.protocol import Cell, CellResult, Protocol, all_cells, evaluate_cell
from superstar.control.rivals import Actors
from superstar.datasets import ShiftedSets
from superstar.parallel import fan_out
from superstar.parameters import BenchmarkGeneration, Evaluation, Execution

logger = logging.getLogger(__name__)


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

    Then, of the own policy, steps of Algorithm 1 and first actions; and % inoperable. Shifts and
    severities that an interrupted evaluation finished are taken as they are.
    """
    given, run = Evaluation.model_validate(parameters), Execution.model_validate(execution)
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    protocol = Protocol(
        controllers=supervisor.controllers,
        trials=given.trials,
        batch_size=given.batch_size,
        network_batch=run.batch_size,
        device=run.device,
        precision=given.precision,
        seed=seed,
    )
    classifiers = {"standard": standard, **robust}
    cells = all_cells(shifts, given.severities)
    others = {
        name: replace(supervisor, actor=actor, actions=actions)
        for name, (actor, actions) in transferred.items()
    }
    finished = FinishedCells.of(own_checkpoint(), protocol, list(classifiers), list(others))
    known = {cell: result for cell in cells if (result := finished.load(cell)) is not None}
    missing = [cell for cell in cells if cell not in known]
    if known:
        logger.info("evaluation goes on: %d of %d cells are there", len(known), len(cells))
    shared = (finished, sets, supervisor, classifiers, protocol, others)
    made = fan_out(
        _evaluate,
        [(cell,) for cell in missing],
        run,
        "evaluation",
        shared=shared,
        names=[cell.name for cell in missing],
    )
    known |= dict(zip(missing, made, strict=True))
    done = [known[cell] for cell in cells]
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
    finished: FinishedCells,
    sets: ShiftedSets,
    supervisor: Supervisor,
    classifiers: dict[str, nn.Module],
    protocol: Protocol,
    transferred: dict[str, Supervisor],
) -> CellResult:
    # It may be there if another worker, not this one, died after it was finished.
    if (known := finished.load(cell)) is not None:
        return known
    images = sets.load(cell.shift, cell.severity)
    result = evaluate_cell(cell, images, supervisor, classifiers, protocol, transferred)
    finished.save(cell, result)
    return result


def _table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    # Severity is a whole number, and none for the clean set.
    table = pd.DataFrame(list(rows))
    return table.astype({"severity": "Int64"}) if len(table) else table
