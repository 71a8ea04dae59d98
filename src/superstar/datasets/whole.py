"""What every dataset of the project shares: it is written whole, and stamped.

A file or folder is written beside its final place and renamed once it is complete, so a reader
never sees half of it. A stamp beside it (`.<name>.stamp.json`) records the sizes of its files and
digests of its content and of what it was made from; an artifact without a valid stamp counts as
missing. A large folder may be saved in pieces: what an interrupted run finished of it is kept
beside, and the next run goes on from there if it would make the same.
"""

import json
import logging
import os
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset
from rich.progress import track

from superstar.digests import Digests
from superstar.errors import InputError
from superstar.provenance import Stamp

logger = logging.getLogger(__name__)

Piece = tuple[str, Callable[[Path], None]]
"""A part of a folder: its relative name, and a function that writes it, a file or a folder."""


class Whole:
    """Mixin for a Kedro dataset at `_filepath` (a file or folder) or `_path` (a folder)."""

    metadata: dict[str, Any] | None

    artifacts = "tables"
    """The folder among the artifacts of an MLflow run."""

    @property
    def location(self) -> Path:
        """Where the artifact lies."""
        return Path(getattr(self, self._location_attribute))

    @property
    def _location_attribute(self) -> str:
        return "_filepath" if hasattr(self, "_filepath") else "_path"

    @property
    def stamp_path(self) -> Path:
        """Where the artifact's stamp lies."""
        return self.location.with_name(f".{self.location.name}.stamp.json")

    def save(self, data: Any) -> None:
        """Write beside, then rename; the stamp of an earlier version goes first."""
        self.invalidate()
        self.location.parent.mkdir(parents=True, exist_ok=True)
        remove(self._beside)
        try:
            self._write_beside(data)
        except BaseException:
            remove(self._beside)
            raise
        self._put_in_place()

    @property
    def _beside(self) -> Path:
        return self.location.with_name(f".part-{self.location.name}")

    def _write_beside(self, data: Any) -> None:
        attribute = self._location_attribute
        given, beside = getattr(self, attribute), self._beside
        setattr(self, attribute, type(given)(beside))
        try:
            self._write(data)
        finally:
            setattr(self, attribute, given)

    def _put_in_place(self) -> None:
        if self.location.is_dir():
            remove(self.location)
        os.replace(self._beside, self.location)

    def _write(self, data: Any) -> None:
        """Write at the present location; by default what the class beside this mixin does."""
        super().save(data)  # type: ignore[misc]

    def track(self) -> None:
        """Make it an artifact of the MLflow run in progress, unless the catalog says why not."""
        if "not_tracked" in (self.metadata or {}):
            return
        import mlflow

        if mlflow.active_run() is not None:
            mlflow.log_artifact(str(self.location), self.artifacts)

    def stamp(self, made_from: str, digests: Digests | None = None) -> None:
        """Record that the artifact is complete, what it is, and what it was made from."""
        content = self._digest(digests or Digests())
        self._set_mark({"made_from": made_from, "content": content, "files": self._sizes()})

    def invalidate(self) -> None:
        """Take the stamp away: the artifact counts as missing from now on."""
        remove(self.stamp_path)

    def read_stamp(self) -> Stamp | None:
        """The artifact's stamp, or None where there is no readable one."""
        record = self._record()
        return None if record is None else Stamp(record["made_from"], record["content"])

    def problem(self, digests: Digests | None = None) -> str | None:
        """What is wrong with the artifact on disk, in a few words; None if it is whole.

        Args:
            digests: to compare the content too; without, the sizes of files alone count.
        """
        if not self.location.exists():
            return "is missing"
        if (record := self._record()) is None:
            return "was not finished by a run"
        recorded = record["files"]
        found = self._sizes()
        for name, size in recorded.items():
            if found.get(name) != size:
                lost = "is missing" if name not in found else f"has {found[name]} bytes of {size}"
                return f"is damaged: {name} {lost}"
        if digests is not None and self._digest(digests) != record["content"]:
            return "is damaged: its content has changed since a run wrote it"
        return None

    def _mark(self) -> Any:
        """What the stamp file holds, valid or not; None if it cannot be read."""
        try:
            return json.loads(self.stamp_path.read_text())
        except (OSError, ValueError):
            return None

    def _set_mark(self, content: dict[str, Any]) -> None:
        beside = self.stamp_path.with_name(f".part{self.stamp_path.name}")
        beside.write_text(json.dumps(content))
        os.replace(beside, self.stamp_path)

    def _record(self) -> dict[str, Any] | None:
        record = self._mark()
        kinds = {"made_from": str, "content": str, "files": dict}
        # A folder may hold no file: a run without robust classifiers leaves such a one.
        sound = isinstance(record, dict) and all(
            isinstance(record.get(key), kind)
            and (record[key] or (key == "files" and self.location.is_dir()))
            for key, kind in kinds.items()
        )
        return record if sound else None

    def _unit(self, name: str) -> str:
        """Under which name of the stamp a file's size counts; by default its own."""
        return name

    def _files(self) -> Iterator[str]:
        """The artifact's files, relative to its folder; of a file its own name."""
        return iter([self.location.name]) if self.location.is_file() else _walk(self.location)

    def _sizes(self) -> dict[str, int]:
        root = self.location.parent if self.location.is_file() else self.location
        sizes: dict[str, int] = {}
        for name in self._files():
            unit = self._unit(name)
            sizes[unit] = sizes.get(unit, 0) + os.stat(os.path.join(root, name)).st_size
        return sizes

    def _digest(self, digests: Digests) -> str:
        if self.location.is_file():
            return digests.of_file(self.location)
        return digests.of_files(self.location, self._files())

    def _exists(self) -> bool:
        return self.problem() is None


class FileDataset(Whole, AbstractDataset[Any, Any]):
    """Base of the datasets of our own: `_write` writes to `_filepath`, `load` reads it.

    Args:
        filepath: a file or folder.
        metadata: for Kedro's plugins.
    """

    artifacts = "models"

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None):
        self._filepath = Path(filepath)
        self.metadata = metadata
        super().__init__()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


class ResumedDataset(FileDataset):
    """Base of the datasets that are folders, written piece by piece, where a save can go on.

    The stamp file is there from the beginning of the first save, though no valid stamp before the
    end: it tells that the folder is ours.
    """

    _making: str | None = None

    def begin(self, made_from: str, afresh: bool = False) -> None:
        """Tell what the next save is made from: it goes on where such a save stopped.

        Args:
            made_from: fingerprint of the node that saves.
            afresh: make everything, since the program may be another one by now.
        """
        self._making = made_from
        if afresh:
            remove(self._note)
            self.invalidate()

    @property
    def _note(self) -> Path:
        """What the pieces of an interrupted save were made from."""
        return self._beside.with_name(f"{self._beside.name}.made_from")

    def save(self, data: Any) -> None:
        """Write the pieces that are missing beside, then rename; the stamp goes first."""
        try:
            self._save_pieces(data, self._making)
        finally:
            self._making = None

    def _save_pieces(self, data: Any, made_from: str | None) -> None:
        note = self._note
        there = made_from is not None and self.location.exists()
        if there and self._mark() == self._written(made_from):
            remove(note)
            return
        self.location.parent.mkdir(parents=True, exist_ok=True)
        self._set_mark({})
        if made_from is None or not note.is_file() or note.read_text() != made_from:
            if _finished_pieces(self._beside):
                logger.warning("%s: what an interrupted run made of it is removed", self.location)
            # In this order, so that the note never speaks for what is half removed.
            remove(note)
            remove(self._beside)
            if made_from is not None:
                note.write_text(made_from)
        try:
            self._write_beside(data)
        except BaseException:
            if made_from is None or not _finished_pieces(self._beside):
                remove(note)
                remove(self._beside)
                if not self.location.exists():
                    remove(self.stamp_path)
            raise
        self._put_in_place()
        if made_from is not None:
            self._set_mark(self._written(made_from))
        remove(note)

    def invalidate(self) -> None:
        """Take the stamp away, but not what tells that the folder is ours."""
        if self.stamp_path.exists():
            self._set_mark({})

    @property
    def not_ours(self) -> bool:
        """Whether something lies there, or where pieces are written, that no save of ours began."""
        return not self.stamp_path.exists() and (
            _holds_something(self.location) or _holds_something(self._beside)
        )

    def _written(self, made_from: str | None) -> dict[str, Any]:
        """What the stamp file holds of a folder that is written whole but not digested yet."""
        return {"written_from": made_from, "files": self._sizes()}

    def _write_piece(self, name: str, write: Callable[[Path], None]) -> None:
        """Write a piece beside, then rename it, if it is not there yet."""
        place = self._filepath / name
        if place.exists():
            return
        beside = place.with_name(f".part-{place.name}")
        remove(beside)
        place.parent.mkdir(parents=True, exist_ok=True)
        write(beside)
        os.replace(beside, place)


class PiecesDataset(ResumedDataset):
    """Base of the datasets that are folders of `_pieces`, which are known before any is written."""

    def _write(self, data: Any) -> None:
        """Write every piece that is not there yet beside, then rename it."""
        self._filepath.mkdir(parents=True, exist_ok=True)
        folder = self._filepath.name.removeprefix(".part-")
        pieces = list(self._pieces(data))
        if kept := sum((self._filepath / name).exists() for name, _ in pieces):
            logger.info("%s goes on: %d of %d are there", folder, kept, len(pieces))
        for name, write in track(pieces, f"writing {folder}", transient=True):
            self._write_piece(name, write)

    @abstractmethod
    def _pieces(self, data: Any) -> Iterator[Piece]:
        """What the folder consists of, in the order of writing."""


def _holds_something(path: Path) -> bool:
    return path.exists() and not (path.is_dir() and next(path.iterdir(), None) is None)


def _finished_pieces(folder: Path) -> bool:
    """Whether a piece was written whole: one that is half written has a hidden name."""
    return folder.is_dir() and next(_walk(folder), None) is not None


def _walk(folder: Path, within: str = "") -> Iterator[str]:
    """The files in a folder, in order, without hidden ones, which file managers leave."""
    with os.scandir(folder / within) as entries:
        shown = sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    for entry in shown:
        if entry.is_dir():
            yield from _walk(folder, f"{within}{entry.name}/")
        elif entry.is_file():
            yield f"{within}{entry.name}"


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def require_file(path: Path, what: str) -> Path:
    """`path` if it is a file; otherwise an error that says what was expected there.

    Raises:
        InputError: there is no such file.
    """
    if not path.is_file():
        raise InputError(f"{what} {path} does not exist")
    return path
