"""Inputs that no node of the project makes: read only, without our stamps."""

import hashlib
import os
import stat
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

import pandas as pd
from kedro.io import AbstractDataset, DatasetError

from superstar.decoding import user_path
from superstar.errors import InputError
from superstar.reference_tables import read_accuracies, read_inoperable


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


class RawFolder(RawDataset):
    """Base of the raw inputs that are a folder.

    Args:
        folder: where they lie; None if there are none.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, folder: str | None, metadata: dict[str, Any] | None = None):
        self._folder = None if folder is None else user_path(folder)
        self.metadata = metadata
        super().__init__()

    def _describe(self) -> dict[str, Any]:
        return {"folder": None if self._folder is None else str(self._folder)}


def unreadable(error: OSError) -> InputError:
    """An error for what the operating system refuses: permissions, links that go in circles, ..."""
    place, reason = error.filename or "an input", error.strerror or error
    return InputError(f"{place} cannot be read ({reason}): mend or remove it")


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
            if not stat.S_ISREG(one.st_mode):
                raise InputError(f"{folder / name} is no file: remove it")
            digest.update(os.fsencode(f"{name} {one.st_size}\n"))
            if contents:
                with (folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            else:
                digest.update(f"{one.st_mtime_ns}\n".encode())
    except OSError as error:
        raise unreadable(error) from error
    return digest.hexdigest()[:32]


class ReferenceTableDataset(RawDataset):
    """CSV tables of others' results as one table, in our names.

    Args:
        filepath: the file, or the files where there are several; None if there is none.
        holds: what it tells: "accuracies" or "inoperable".
        metadata: for Kedro's plugins.

    Raises:
        InputError: `filepath` is neither a path nor a list of paths.
    """

    _READERS: ClassVar[dict[str, Callable[[Sequence[Path]], pd.DataFrame]]] = {
        "accuracies": read_accuracies,
        "inoperable": read_inoperable,
    }

    def __init__(
        self,
        *,
        filepath: str | list[str] | None,
        holds: Literal["accuracies", "inoperable"],
        metadata: dict[str, Any] | None = None,
    ):
        given = filepath if isinstance(filepath, list) else [filepath]
        files = [] if filepath is None else given
        for file in files:
            if not isinstance(file, str):
                raise InputError(
                    "globals.reference_table and reference_inoperable take the path of a CSV "
                    f"file, a list of paths, or null, not {file!r}"
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

    def identity(self) -> str:
        """A digest of the files' names, which the report tells, and contents."""
        if not all(file.is_file() for file in self._files):
            return "none"
        digests = [digest_of_files(file.parent, [file.name]) for file in self._files]
        return "-".join(digests) if digests else "none"

    def _describe(self) -> dict[str, Any]:
        return {"filepath": [str(file) for file in self._files], "holds": self._holds}
