"""Inputs that no node of the project makes: read only, without our stamps."""

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
from kedro.io import AbstractDataset, DatasetError

from superstar.decoding import user_path
from superstar.errors import InputError


class RawDataset(AbstractDataset[NoReturn, Any]):
    """Base of the inputs that a run checks before any work, and whose changes it notices."""

    metadata: dict[str, Any] | None

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot be read.

        Raises:
            InputError: what is wrong, where, and what to do.
        """

    @abstractmethod
    def identity(self) -> str:
        """A digest that tells whether the input has changed; of what is missing, of that."""

    def save(self, data: NoReturn) -> None:
        """Not for us to write."""
        raise DatasetError(f"{type(self).__name__} is read only")


READ_AT_MOST = 2**30
"""Bytes of files whose contents are read to tell whether they changed: about a second's work."""


def digest_of_files(folder: Path, names: Sequence[str]) -> str:
    """A digest of the names and contents of some files, wherever the folder lies.

    Of more than `READ_AT_MOST` bytes together it takes sizes and times of change for contents.

    Raises:
        InputError: a file that cannot be read.
    """
    digest = hashlib.sha256()
    try:
        told = [(folder / name).stat() for name in names]
        contents = sum(one.st_size for one in told) <= READ_AT_MOST
        for name, one in zip(names, told, strict=True):
            digest.update(os.fsencode(f"{name} {one.st_size}\n"))
            if contents:
                with (folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            else:
                digest.update(f"{one.st_mtime_ns}\n".encode())
    except OSError as error:
        raise InputError(
            f"{error.filename} cannot be read ({error.strerror}): remove it"
        ) from error
    return digest.hexdigest()[:32]


class ReferenceTableDataset(RawDataset):
    """A CSV table of others' results.

    Args:
        filepath: the file; None if there is none.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, filepath: str | None, metadata: dict[str, Any] | None = None):
        self._filepath = None if filepath is None else user_path(filepath)
        self.metadata = metadata
        super().__init__()

    def load(self) -> pd.DataFrame:
        """The table; without rows and columns if there is no file."""
        return pd.DataFrame() if self._filepath is None else pd.read_csv(self._filepath)

    def check(self) -> None:
        """Refuse a file that is missing or no table.

        Raises:
            InputError: what is wrong with it.
        """
        try:
            table = self.load()
        except (DatasetError, OSError, ValueError) as error:
            reason = str(error.__cause__ or error).splitlines()[0]
            raise InputError(
                f"the reference table {self._filepath} cannot be read ({reason}): see "
                "globals.reference_table and reference_inoperable in "
                "conf/<environment>/globals.yml"
            ) from error
        if self._filepath is not None and table.empty:
            raise InputError(f"the reference table {self._filepath} holds no rows")

    def identity(self) -> str:
        """A digest of the file's content."""
        if self._filepath is None or not self._filepath.is_file():
            return "none"
        return hashlib.sha256(self._filepath.read_bytes()).hexdigest()[:32]

    def _describe(self) -> dict[str, Any]:
        return {"filepath": None if self._filepath is None else str(self._filepath)}
