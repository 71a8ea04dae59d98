"""Operability labels that others published."""

from typing import Any

import pandas as pd

from superstar.corruptions import SURROGATES
from superstar.datasets.raw import RawDataset, digest_of_files
from superstar.decoding import user_path
from superstar.errors import InputError
from superstar.released_labels import read_labels

COLUMNS = ["surrogate", "severity", "accuracy", "distance", "file"]


class ReleasedLabelsDataset(RawDataset):
    """The figures behind the labels that the paper's authors release.

    Args:
        filepath: their `labels_cs.pkl`; None to measure labels instead.
        metadata: for Kedro's plugins.

    Raises:
        InputError: `filepath` is no path.
    """

    def __init__(self, *, filepath: str | None, metadata: dict[str, Any] | None = None):
        if not isinstance(filepath, str | None):
            raise InputError(
                f"globals.released_labels takes the path of a file or null, not {filepath!r}"
            )
        self._filepath = None if filepath is None else user_path(filepath)
        self.metadata = metadata
        super().__init__()

    def load(self) -> pd.DataFrame:
        """`surrogate`, `severity`, `accuracy`, `distance`; no rows if there is no file.

        Raises:
            InputError: as `superstar.released_labels.read_labels`.
        """
        return self._read()

    def check(self) -> None:
        """Refuse a file that is missing, holds no labels, or lacks a surrogate.

        Raises:
            InputError: as `superstar.released_labels.read_labels`, or which surrogates it lacks.
        """
        self._read()  # Kedro would wrap what `load` raises.

    def _read(self) -> pd.DataFrame:
        if self._filepath is None:
            return pd.DataFrame(columns=COLUMNS)
        labels = read_labels(self._filepath)
        there = set(labels["surrogate"])
        if lacking := [name for name in SURROGATES if name not in there]:
            raise InputError(
                f"{self._filepath} has no labels of {', '.join(lacking)}: give the authors' labels "
                "of surrogates (labels_cs.pkl), or globals.released_labels: null to measure them"
            )
        return labels

    def identity(self) -> str:
        """A digest of the file's name, which the report tells, and contents."""
        file = self._filepath
        if file is None or not file.is_file():
            return "none"
        return digest_of_files(file.parent, [file.name])

    def _describe(self) -> dict[str, Any]:
        return {"filepath": None if self._filepath is None else str(self._filepath)}
