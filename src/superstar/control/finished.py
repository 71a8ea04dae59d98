"""What is finished of an evaluation or of trials, on disk, so that only the rest is made anew."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from superstar.checkpoint import Checkpoint, TrainingState
from superstar.control.protocol import Cell, CellResult, Protocol

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
class FinishedRows:
    """Rows of a table, a file for each call that made some, written whole or not at all.

    Attributes:
        checkpoint: of all of them: a folder, made from all that rows depend on; None keeps none.
        array: the column with a float32 array in every row, if there is one; all else is JSON.
    """

    checkpoint: Checkpoint | None
    array: str | None = None

    def save(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of the call of that name."""
        if self.checkpoint is None:
            return
        values = [dict(row) for row in rows]
        arrays = (
            {} if self.array is None else {str(n): v.pop(self.array) for n, v in enumerate(values)}
        )
        tensors = {number: torch.from_numpy(array) for number, array in arrays.items()}
        self.checkpoint.part(name).save({}, TrainingState(tensors, {"rows": values}))

    def load(self, name: str) -> list[dict[str, Any]] | None:
        """The rows of the call of that name, if it was finished."""
        if self.checkpoint is None:
            return None
        state = self.checkpoint.part(name).load({})
        if state is None:
            return None
        rows = state.values["rows"]
        if self.array is None:
            return rows
        return [{**row, self.array: state.tensors[str(n)].numpy()} for n, row in enumerate(rows)]
