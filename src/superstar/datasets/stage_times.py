"""How long each node of a run took, and how much memory: noted by a hook, read by the report."""

from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from kedro_datasets._typing import TablePreview

from superstar.datasets import previews

COLUMNS = ["stage", "node", "seconds", "peak_memory_gb"]


class StageTimesDataset(AbstractDataset[NoReturn, pd.DataFrame]):
    """A table in CSV, a row a node: `stage`, `node`, `seconds`, `peak_memory_gb`.

    It grows while a run goes on, and a resumed run adds to it. It has no part in what artifacts
    were made from.

    Args:
        filepath: the file.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None):
        self._filepath = Path(filepath)
        self.metadata = metadata
        super().__init__()

    def load(self) -> pd.DataFrame:
        """What has been noted so far, in the order in which the nodes ended.

        A file that is not such a table counts as absent: the log begins anew.
        """
        try:
            table = pd.read_csv(self._filepath)
        except (OSError, ValueError):
            return pd.DataFrame(columns=COLUMNS)
        return table if list(table.columns) == COLUMNS else pd.DataFrame(columns=COLUMNS)

    def preview(self) -> TablePreview:
        """All of it."""
        return previews.table(self.load())

    def note(self, stage: str, node: str, seconds: float, peak_memory_gb: float) -> None:
        """Add a node that has ended, in place of what is there of it."""
        before = self.load()
        row = pd.DataFrame([(stage, node, seconds, peak_memory_gb)], columns=COLUMNS)
        kept = before[before["node"] != node]
        beside = self._filepath.with_name(f".part-{self._filepath.name}")
        beside.parent.mkdir(parents=True, exist_ok=True)
        (pd.concat([kept, row]) if len(kept) else row).to_csv(beside, index=False)
        beside.replace(self._filepath)

    def save(self, data: NoReturn) -> None:
        """No node makes it."""
        raise DatasetError("StageTimesDataset is noted by a hook")

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
