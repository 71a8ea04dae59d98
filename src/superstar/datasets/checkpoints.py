"""Checkpoints: what a node that takes long leaves behind when it is interrupted."""

from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from superstar.checkpoint import Checkpoint


class CheckpointDataset(AbstractDataset[NoReturn, Checkpoint]):
    """How far a node has come: the node that reads it writes it too.

    Not an artifact: a run needs none to begin with, and removes it once the outputs of its node
    are saved (see `superstar.hooks.ProvenanceHook`).

    Args:
        filepath: where the state lies after an interruption; a folder if there are several.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None):
        self._filepath = Path(filepath)
        self.metadata = metadata
        super().__init__()

    def load(self) -> Checkpoint:
        """The checkpoint, whether or not there is a state under it."""
        return Checkpoint(self._filepath)

    def save(self, data: NoReturn) -> None:
        """Not for Kedro to write."""
        raise DatasetError(f"{self._filepath} is written by the node that reads it")

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}

    def _exists(self) -> bool:
        return self._filepath.exists()
