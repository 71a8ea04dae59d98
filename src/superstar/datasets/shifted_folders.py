"""Shifted test sets in ImageNet-C's layout: made ones of our own, beside those of others."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from superstar.datasets.image_files import ImageFiles, read_class_list
from superstar.datasets.image_folders import CLASSES, Cells, ImageFolders, ImageFoldersDataset
from superstar.datasets.whole import Piece, require_file
from superstar.errors import InputError

EXTERNAL = "external.json"
"""Beside the sets that we write: where those of others lie, and which shifts are theirs."""


@dataclass(frozen=True)
class FolderBenchmark:
    """A benchmark to be saved.

    Attributes:
        made: the sets that are made, `none` among them.
        external: where those of others lie.
        taken: their shifts.
        class_names: names of all class folders, in the order of the labels.
    """

    made: Cells
    external: Path | None
    taken: Sequence[str]
    class_names: Sequence[str]


class ShiftedFolders:
    """Sets that we made, and those of others of the same images.

    Args:
        folder: of our own; it tells where the others lie.

    Raises:
        InputError: no such folder, or one of others that is gone.
    """

    def __init__(self, folder: Path):
        classes = read_class_list(folder / CLASSES)
        told = json.loads(require_file(folder / EXTERNAL, "list of external sets").read_text())
        self.folder = folder
        self._own = ImageFolders(folder, classes)
        self._taken: list[str] = told["shifts"]
        self._external = ImageFolders(Path(told["folder"]), classes) if self._taken else None

    def load(self, shift: str, severity: int | None = None) -> ImageFiles:
        """The images of one shift at one severity, which `none` lacks; none is opened yet.

        Raises:
            InputError: no such shift or severity, or a set of others that lacks a test image.
        """
        if self._external is None or shift not in self._taken:
            return self._own.load(shift, severity)
        return same_images(self._external.load(shift, severity), self._own.load("none").names)


class ShiftedFoldersDataset(ImageFoldersDataset):
    """A benchmark in ImageNet-C's layout: the sets that were made, and where others lie."""

    def load(self) -> ShiftedFolders:
        """Look what there is; sets are listed and opened when they are asked for."""
        return ShiftedFolders(self._filepath)

    def _pieces(self, data: FolderBenchmark) -> Iterator[Piece]:  # type: ignore[override]
        yield from (piece for piece in super()._pieces(data.made) if piece[0] != CLASSES)
        text = "".join(f"{name}\n" for name in data.class_names)
        yield CLASSES, partial(_write_text, text)
        told = {
            "folder": str(data.external or ""),
            "shifts": list(data.taken),
            # What is made from external sets is then made again once they change.
            "made_from": self._making if data.taken else None,
        }
        yield EXTERNAL, partial(_write_text, json.dumps(told))


def same_images(files: ImageFiles, names: Sequence[str]) -> ImageFiles:
    """Those of the files that stand for certain images, in the order of these.

    Args:
        files: of one set.
        names: `<class>/<file>` of each image; endings may differ.

    Raises:
        InputError: an image that the set lacks, or has twice.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(files.names):
        first = places.setdefault(_stem(name), place)
        if first != place:
            raise InputError(
                f"{files.folder} has both {files.names[first]} and {name}: remove one of them"
            )
    try:
        chosen = [places[_stem(name)] for name in names]
    except KeyError as error:
        raise InputError(
            f"{files.folder} lacks the clean test image {error.args[0]}: put the whole set there, "
            "or leave globals.external_sets out"
        ) from error
    return files.take(np.array(chosen))


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _write_text(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
