"""External data, which no node makes: read only, without stamps."""

from abc import abstractmethod
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from superstar.decoding import user_path
from superstar.digests import Digests


class ExternalDataset(AbstractDataset[NoReturn, Any]):
    """Base of the data that a run checks before any work, and whose changes it notices."""

    metadata: dict[str, Any] | None

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot be read.

        Raises:
            InputError: what is wrong, where, and what to do.
        """

    @abstractmethod
    def identity(self, digests: Digests) -> str:
        """What tells whether the data have changed; of what is missing, that it is."""

    def save(self, data: NoReturn) -> None:
        """Not for us to write."""
        raise DatasetError(f"{type(self).__name__} is read only")


class ExternalFolder(ExternalDataset):
    """Base of the external data that are a folder.

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

    def _exists(self) -> bool:
        return self._folder is not None and self._folder.is_dir()
