"""Images that others made, the published benchmarks among them: read only, without our stamps."""

from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from superstar.datasets.corruption_arrays import CorruptionArrays
from superstar.datasets.image_folders import (
    ImageFiles,
    ImageFolders,
    list_classes,
    list_images,
    read_wnids,
)
from superstar.datasets.image_sets import SEVERITIES
from superstar.datasets.raw import RawFolder, digest_of_files
from superstar.errors import InputError


class _Download(AbstractDataset[NoReturn, Any]):
    @property
    def location(self) -> Path:
        """Where the folder lies."""
        return self._folder

    def __init__(self, *, folder: str, metadata: dict[str, Any] | None = None):
        self._folder = Path(folder)
        self.metadata = metadata
        super().__init__()

    def save(self, data: NoReturn) -> None:
        """Not for us to write."""
        raise DatasetError(f"{self._folder} is read only")

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}

    def _exists(self) -> bool:
        return self._folder.is_dir()


class DownloadedArraysDataset(_Download):
    """CIFAR-100-C (read only).

    Args:
        folder: it holds `<shift>.npy` and `labels.npy`.
        metadata: for Kedro's plugins.
    """

    def load(self) -> CorruptionArrays:
        """Open the folder; arrays are mapped when a set is asked for."""
        return CorruptionArrays(self._folder)


class PublishedSetsDataset(RawFolder):
    """Shifted sets that others published, to be taken as they are, in CIFAR-100-C's layout.

    Args:
        folder: it holds `<shift>.npy` and `labels.npy`; None if there are no such sets.
        metadata: for Kedro's plugins.
    """

    def load(self) -> CorruptionArrays | None:
        """Open the folder, if there is one; arrays are mapped when a set is asked for."""
        return None if self._folder is None else CorruptionArrays(self._folder)

    def check(self) -> None:
        """Refuse a folder without such sets, or with damaged ones.

        Raises:
            InputError: as `CorruptionArrays`.
        """
        if self._folder is None:
            return
        try:
            sets = CorruptionArrays(self._folder)
            for shift in sets.shifts:
                sets.load(shift, None if shift == "none" else SEVERITIES[0])
        except InputError as error:
            raise InputError(
                f"{error}; see globals.published_sets in conf/<environment>/globals.yml"
            ) from error

    def identity(self) -> str:
        """A digest of the arrays, as `digest_of_files` makes it."""
        if self._folder is None:
            return "none"
        return digest_of_files(self._folder, sorted(p.name for p in self._folder.glob("*.npy")))


class DownloadedFoldersDataset(_Download):
    """ImageNet-C (read only).

    Args:
        folder: it holds `<shift>/<severity>/<wnid>/<file>.JPEG`, or the folders `blur`, `digital`,
            `extra`, `noise` and `weather` that hold these.
        wnids: file of the classes' folder names, one a line, in the order of the labels.
        count: images of each set; by default all.
        resize: of the shorter side, in pixels; by default none.
        crop: of the centre, in pixels; by default none.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        folder: str,
        wnids: str,
        count: int | None = None,
        resize: int | None = None,
        crop: int | None = None,
        metadata: dict[str, Any] | None = None,
    ):
        super().__init__(folder=folder, metadata=metadata)
        self._wnids = Path(wnids)
        self._options = {"count": count, "resize": resize, "crop": crop}

    def load(self) -> ImageFolders:
        """Look what shifts there are; sets are listed and opened when they are asked for."""
        return ImageFolders(self._folder, read_wnids(self._wnids), **self._options)


class ClassFoldersDataset(_Download):
    """Images by class, `<class>/<file>` (read only).

    Args:
        folder: it holds one folder a class; labels follow the sorted names of these.
        metadata: for Kedro's plugins.
    """

    def load(self) -> ImageFiles:
        """The files, listed once; images are opened when they are asked for."""
        return self._files

    @cached_property
    def _files(self) -> ImageFiles:
        return list_images(self._folder, list_classes(self._folder))

    def identity(self) -> str:
        """A digest of the images.

        Raises:
            InputError: what `list_images` refuses.
        """
        return digest_of_files(self._folder, self.load().names)
