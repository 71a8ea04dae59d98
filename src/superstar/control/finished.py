"""What is finished of an evaluation or of trials, on disk, so that only the rest is made anew."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from superstar.checkpoint import Checkpoint, TrainingState
from superstar.control.protocol import Cell, CellResult, Protocol
from superstar.control.trials import Shifts, full_name_of

# Rows with one array each, `gain`, float32 (N,): these are tensors, all else is JSON.
WITH_ARRAYS = ("gains", "transfer_gains")


@dataclass(frozen=True)
class FinishedCells:
    """Cells' results, a file each, written whole or not at all.

    Attributes:
        checkpoint: of all cells: a folder; None keeps none.
        settings: what the results depend on beside the data.
    """

    checkpoint: Checkpoint | None
    settings: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        checkpoint: Checkpoint | None,
        protocol: Protocol,
        classifiers: Sequence[str],
        transferred: Sequence[str],
    ) -> "FinishedCells":
        """Those of one evaluation; by `network_batch`, which is speed alone, none differ."""
        settings = asdict(protocol) | {"classifiers": classifiers, "transferred": transferred}
        del settings["network_batch"]
        return cls(checkpoint, settings)

    def save(self, cell: Cell, result: CellResult) -> None:
        """Keep a cell's result."""
        if self.checkpoint is None:
            return
        values, tensors = asdict(result), {}
        for table in WITH_ARRAYS:
            for number, row in enumerate(values[table]):
                tensors[f"{table}.{number}"] = torch.from_numpy(row.pop("gain"))
        self.checkpoint.part(cell.name).save(self.settings, TrainingState(tensors, values))

    def load(self, cell: Cell) -> CellResult | None:
        """A cell's result, if the same evaluation finished it."""
        if self.checkpoint is None:
            return None
        state = self.checkpoint.part(cell.name).load(self.settings)
        if state is None:
            return None
        values = dict(state.values)
        for table in WITH_ARRAYS:
            values[table] = [
                {**row, "gain": state.tensors[f"{table}.{number}"].numpy()}
                for number, row in enumerate(values[table])
            ]
        return CellResult(**values)


@dataclass(frozen=True)
class FinishedTrials:
    """Trials' rows, a file for each of the shifts, written whole or not at all.

    Attributes:
        checkpoint: of all of them: a folder, made from all that rows depend on; None keeps none.
    """

    checkpoint: Checkpoint | None

    def save(self, shifts: Shifts, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of one of the shifts."""
        if self.checkpoint is not None:
            part = self.checkpoint.part(full_name_of(shifts))
            part.save({}, TrainingState({}, {"rows": rows}))

    def load(self, shifts: Shifts) -> list[dict[str, Any]] | None:
        """The rows of one of the shifts, if the same trials finished it."""
        if self.checkpoint is None:
            return None
        state = self.checkpoint.part(full_name_of(shifts)).load({})
        return None if state is None else state.values["rows"]
