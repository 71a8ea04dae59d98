"""Results of others, as CSV."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pandas as pd

from superstar.datasets.external import ExternalDataset
from superstar.decoding import user_path
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.reference_tables import read_accuracies, read_fits, read_inoperable


class ReferenceTableDataset(ExternalDataset):
    """CSV tables of others' results as one table, in our names.

    Args:
        filepath: the file, or the files where there are several; None if there is none.
        holds: what it tells: "accuracies", "inoperable", or "fits", the accuracies and distances
            behind operability labels.
        metadata: for Kedro's plugins.

    Raises:
        InputError: `filepath` is neither a path nor a list of paths.
    """

    _READERS: ClassVar[dict[str, Callable[[Sequence[Path]], pd.DataFrame]]] = {
        "accuracies": read_accuracies,
        "inoperable": read_inoperable,
        "fits": read_fits,
    }

    def __init__(
        self,
        *,
        filepath: str | list[str] | None,
        holds: Literal["accuracies", "inoperable", "fits"],
        metadata: dict[str, Any] | None = None,
    ):
        given = filepath if isinstance(filepath, list) else [filepath]
        files = [] if filepath is None else given
        for file in files:
            if not isinstance(file, str):
                raise InputError(
                    "globals.reference_table, reference_inoperable and external_labels take the "
                    f"path of a CSV file, a list of paths, or null, not {file!r}"
                )
        self._files = [user_path(file) for file in files if isinstance(file, str)]
        self._holds = holds
        self.metadata = metadata
        super().__init__()

    def load(self) -> pd.DataFrame:
        """The table; without rows and columns if there is no file.

        Raises:
            InputError: what is wrong with a file, and where.
        """
        return self._read()

    def check(self) -> None:
        """Refuse a file that is missing or no table of results.

        Raises:
            InputError: what is wrong with it, and where.
        """
        self._read()  # Kedro would wrap what `load` raises.

    def _read(self) -> pd.DataFrame:
        return self._READERS[self._holds](self._files) if self._files else pd.DataFrame()

    def identity(self, digests: Digests) -> str:
        """The files' names, which the report tells, and digests of their contents."""
        if not self._files or not all(file.is_file() for file in self._files):
            return "none"
        return "-".join(f"{file.name} {digests.of_file(file)}" for file in self._files)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": [str(file) for file in self._files], "holds": self._holds}
