"""Shifted test sets in ImageNet-C's layout: made ones of our own, beside published ones."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from superstar.datasets.image_folders import (
    CLASSES,
    Cells,
    ImageFiles,
    ImageFolders,
    ImageFoldersDataset,
    list_classes,
    read_wnids,
)
from superstar.datasets.image_sets import SEVERITIES
from superstar.datasets.raw import RawFolder
from superstar.datasets.whole import Piece, require_file
from superstar.decoding import user_path
from superstar.errors import InputError

PUBLISHED = "published.json"
"""Beside the sets that we write: where the published ones lie, and which shifts are theirs."""


@dataclass(frozen=True)
class FolderBenchmark:
    """A benchmark to be saved.

    Attributes:
        made: the sets that are made, `none` among them.
        published: where the others lie.
        taken: their shifts.
        class_names: names of all class folders, in the order of the labels.
    """

    made: Cells
    published: Path | None
    taken: Sequence[str]
    class_names: Sequence[str]


class PublishedFoldersDataset(RawFolder):
    """ImageNet-C, or parts of it, as downloaded (read only).

    Args:
        folder: it holds `<shift>/<severity>/<class>/<file>`, or the folders `blur`, `digital`,
            `extra`, `noise` and `weather` that hold these; None if there are no such sets.
        classes: as for `LabelledFilesDataset`.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        folder: str | None,
        classes: str | None = None,
        metadata: dict[str, Any] | None = None,
    ):
        self._classes = None if classes is None else user_path(classes)
        super().__init__(folder=folder, metadata=metadata)

    def load(self) -> ImageFolders | None:
        """Look what shifts there are; sets are listed and opened when they are asked for."""
        return self._open()

    def _open(self) -> ImageFolders | None:
        if self._folder is None:
            return None
        if self._classes is None:
            raise InputError(
                "published sets need the names of all classes in the order of their labels: "
                "set globals.class_list in conf/<environment>/globals.yml"
            )
        return ImageFolders(self._folder, read_wnids(self._classes))

    def check(self) -> None:
        """Refuse a folder without such sets, or with severities missing or empty.

        Raises:
            InputError: what is wrong.
        """
        try:
            if (sets := self._open()) is None:
                return
            for shift in sets.shifts:
                lacking = set(SEVERITIES) - set(sets.severities(shift))
                if shift != "none" and lacking:
                    raise InputError(f"{shift} in {self._folder} lacks severity {min(lacking)}")
                for severity in sets.severities(shift) or [None]:
                    list_classes(sets.place(shift, severity))
        except InputError as error:
            raise InputError(
                f"{error}; see globals.published_sets in conf/<environment>/globals.yml"
            ) from error

    def identity(self) -> str:
        """A digest of the class folders' names and times of change: there are millions of files."""
        if self._folder is None:
            return "none"
        digest = hashlib.sha256()
        try:
            sets = ImageFolders(self._folder, ())
            for shift in sets.shifts:
                for severity in sets.severities(shift) or [None]:
                    place = sets.place(shift, severity)
                    with os.scandir(place) as classes:
                        told = sorted((e.name, e.stat().st_mtime_ns) for e in classes)
                    digest.update(f"{shift} {severity} {told}\n".encode())
        except (InputError, OSError):
            return "missing"
        return digest.hexdigest()[:32]


class ShiftedFolders:
    """Sets that we made, and published ones of the same images.

    Args:
        folder: of our own; it tells where the others lie.

    Raises:
        InputError: no such folder, or a published one that is gone.
    """

    def __init__(self, folder: Path):
        wnids = read_wnids(folder / CLASSES)
        told = json.loads(require_file(folder / PUBLISHED, "list of published sets").read_text())
        self.folder = folder
        self._own = ImageFolders(folder, wnids)
        self._taken: list[str] = told["shifts"]
        self._published = ImageFolders(Path(told["folder"]), wnids) if self._taken else None

    def load(self, shift: str, severity: int | None = None) -> ImageFiles:
        """The images of one shift at one severity, which `none` lacks; none is opened yet.

        Raises:
            InputError: no such shift or severity, or a published set that lacks a test image.
        """
        if self._published is None or shift not in self._taken:
            return self._own.load(shift, severity)
        return same_images(self._published.load(shift, severity), self._own.load("none").names)


class ShiftedFoldersDataset(ImageFoldersDataset):
    """A benchmark in ImageNet-C's layout: the sets that were made, and where published ones lie."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None):
        super().__init__(filepath=filepath, metadata=metadata)

    def load(self) -> ShiftedFolders:  # type: ignore[override]
        """Look what there is; sets are listed and opened when they are asked for."""
        return ShiftedFolders(self._filepath)

    def _pieces(self, data: FolderBenchmark) -> Iterator[Piece]:  # type: ignore[override]
        yield from (piece for piece in super()._pieces(data.made) if piece[0] != CLASSES)
        text = "".join(f"{name}\n" for name in data.class_names)
        yield CLASSES, partial(_write_text, text)
        told = {"folder": str(data.published or ""), "shifts": list(data.taken)}
        yield PUBLISHED, partial(_write_text, json.dumps(told))


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
            "or leave globals.published_sets out"
        ) from error
    return files.take(np.array(chosen))


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _write_text(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
