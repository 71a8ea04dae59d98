"""Inputs that no node of the project makes: read only, without our stamps."""

import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

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


def digest_of_files(folder: Path, names: Iterable[str]) -> str:
    """A digest of the names, sizes and times of change of some files.

    Raises:
        InputError: a file that is there but cannot be looked at.
    """
    digest = hashlib.sha256()
    for name in names:
        try:
            told = (folder / name).stat()
        except OSError as error:
            raise InputError(
                f"{folder / name} cannot be read ({error.strerror}): remove it"
            ) from error
        digest.update(os.fsencode(f"{name} {told.st_size} {told.st_mtime_ns}\n"))
    return digest.hexdigest()[:32]
