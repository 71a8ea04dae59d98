"""What the denoiser that the package brings along learns from: pictures and small images."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from superstar.datasets.external import ExternalDataset
from superstar.datasets.image_files import LabelledFiles, LabelledFilesDataset
from superstar.datasets.labelled_images import LabelledImages, LabelledImagesDataset
from superstar.digests import Digests
from superstar.errors import InputError


@dataclass(frozen=True)
class DenoiserImages:
    """Images of two kinds.

    Attributes:
        pictures: image files by class, of any size.
        small: labelled images of one size.
    """

    pictures: LabelledFiles
    small: LabelledImages


class DenoiserImagesDataset(ExternalDataset):
    """Pictures and small images in two folders (read only).

    Args:
        pictures: as `folder` of `LabelledFilesDataset`.
        classes: as there.
        small: as `folder` of `LabelledImagesDataset`.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        pictures: str | None,
        classes: str | None,
        small: str | None,
        metadata: dict[str, Any] | None = None,
    ):
        self._pictures = LabelledFilesDataset(folder=pictures, classes=classes)
        self._small = LabelledImagesDataset(folder=small)
        self.metadata = metadata
        super().__init__()

    def load(self) -> Callable[[], DenoiserImages]:
        """A function that lists the pictures and reads the small images."""
        pictures, small = self._pictures.load(), self._small.load()
        assert small is not None
        return lambda: DenoiserImages(pictures(), small())

    def check(self) -> None:
        """Refuse folders that hold no such images.

        Raises:
            InputError: what is missing, and what to put there.
        """
        self._pictures.check()
        if self._small.load() is None:
            raise InputError(
                "there are no small images: name a folder in globals.small_images "
                "(conf/<environment>/globals.yml)"
            )
        self._small.check()

    def identity(self, digests: Digests) -> str:
        """A digest of the files of both folders."""
        return f"{self._pictures.identity(digests)}-{self._small.identity(digests)}"

    def _describe(self) -> dict[str, Any]:
        return {"pictures": self._pictures._describe(), "small": self._small._describe()}
