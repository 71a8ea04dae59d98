"""Folders of files as people have them: read as they are, and written corrected."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rich.progress import track

from superstar.datasets.external import ExternalDataset, ExternalFolder
from superstar.datasets.whole import ResumedDataset, remove
from superstar.decoding import SUFFIXES, user_path
from superstar.digests import Digests
from superstar.errors import InputError, is_text, readable

LONGEST_NAME = 240
"""Bytes of a file's name, so that there is room for what is put before and after it."""

DECISIONS = ".groups"
"""Folder, within one that is being written, of what was decided for each group."""


@dataclass(frozen=True)
class FolderFiles:
    """The image files of a folder and of all folders in it.

    Attributes:
        folder: where they lie.
        names: relative, with `/`, sorted by code points.
        changed: by name, when the file changed last, in nanoseconds.
        left_out: by name, why other files are not among them.
    """

    folder: Path
    names: tuple[str, ...]
    changed: Mapping[str, int]
    left_out: Mapping[str, str]


def list_files(folder: Path) -> FolderFiles:
    """The image files at any depth, without hidden ones; links to folders are not followed.

    Raises:
        InputError: no such folder, or no image file in it.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError(f"folder {folder} {problem}")
    changed: dict[str, int] = {}
    left_out: dict[str, str] = {}

    def refused(error: OSError) -> None:
        place = os.path.relpath(error.filename, folder)
        left_out[readable(place)] = f"the folder cannot be read ({error.strerror})"

    for place, inside, files in os.walk(folder, onerror=refused):
        inside[:] = [name for name in inside if not name.startswith(".")]
        for file in files:
            if file.startswith("."):
                continue
            path = Path(place, file)
            name = path.relative_to(folder).as_posix()
            if reason := _unfit(path, name):
                left_out[readable(name)] = reason
            else:
                changed[name] = path.stat().st_mtime_ns
        for linked in [name for name in inside if os.path.islink(os.path.join(place, name))]:
            name = Path(place, linked).relative_to(folder).as_posix()
            left_out[readable(name)] = "a link to a folder is not followed"
    if not changed:
        raise InputError(f"{folder} holds no images ({' '.join(sorted(SUFFIXES))})")
    return FolderFiles(folder, tuple(sorted(changed)), changed, dict(sorted(left_out.items())))


def _unfit(path: Path, name: str) -> str | None:
    if path.suffix.lower() not in SUFFIXES:
        return "its ending is not that of an image"
    if not is_text(name):
        return "its name is not text in UTF-8"
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        return "its name is too long"
    if not path.is_file():
        return "it is not a file, or a link that leads nowhere"
    return None if os.access(path, os.R_OK) else "it may not be read"


class FolderFilesDataset(ExternalFolder):
    """The image files of a folder, at any depth (read only).

    Args:
        folder: where they lie.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, folder: str, metadata: dict[str, Any] | None = None):
        super().__init__(folder=folder, metadata=metadata)
        self.location = user_path(folder)

    def load(self) -> FolderFiles:
        """The files, listed once; none is opened."""
        return self._files

    def check(self) -> None:
        """Refuse a folder without images.

        Raises:
            InputError: what `list_files` refuses.
        """
        _ = self._files

    @cached_property
    def _files(self) -> FolderFiles:
        return list_files(self.location)

    def identity(self, digests: Digests) -> str:
        """A digest of the files, of when they changed, and of what is left out."""
        files = self._files
        told = json.dumps([dict(files.changed), dict(files.left_out)], sort_keys=True)
        content = digests.of_files(self.location, files.names)
        return hashlib.sha256(f"{content} {told}".encode()).hexdigest()[:32]


class GivenSupervisorDataset(ExternalDataset):
    """The supervisor that a user names: a benchmark that was trained here, or a folder.

    Args:
        models: folder of models; a benchmark's supervisor lies in `<benchmark>/supervisor`.
        name: what the user gives; None if nothing.
        folder: the same as a path.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        models: str,
        name: str | None,
        folder: str,
        metadata: dict[str, Any] | None = None,
    ):
        self.name, self._models = name, Path(models)
        trained = self._models / str(name) / "supervisor"
        self._folder = trained if name and trained.is_dir() else Path(folder)
        self.metadata = metadata
        super().__init__()

    def check(self) -> None:
        """Refuse a name without a whole supervisor behind it.

        Raises:
            InputError: as `supervisor`.
        """
        _ = self.supervisor

    def load(self) -> Any:
        """The supervisor."""
        return self.supervisor

    @cached_property
    def supervisor(self) -> Any:
        """The supervisor, read once.

        Raises:
            InputError: there is none, or what `Supervisor.load` refuses.
        """
        from superstar.control import Supervisor

        if not self._folder.is_dir():
            trained = sorted(place.parent.name for place in self._models.glob("*/supervisor"))
            raise InputError(
                f"recover.supervisor = {self.name!r} is neither a folder nor a benchmark that was "
                f"trained here ({', '.join(trained) or 'there is none yet'})"
            )
        return Supervisor.load(self._folder)

    def identity(self, digests: Digests) -> str:
        """Digest of the supervisor's files."""
        return digests.of_files(self._folder, sorted(file.name for file in self._folder.glob("*")))

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}


@dataclass(frozen=True)
class FileGroup:
    """Files that are corrected by one plan.

    Attributes:
        name: of the group.
        outputs: by the file's name, that of its copy.
        decide: tells what to do, as JSON can hold it; asked once.
        write: writes the copy of a file, given both names and what was decided, to a path.
    """

    name: str
    outputs: Mapping[str, str]
    decide: Callable[[], dict[str, Any]]
    write: Callable[[str, str, dict[str, Any], Path], None]


@dataclass(frozen=True)
class Recovered:
    """A folder of corrected files, to be made as it is written.

    Attributes:
        groups: of the files.
        report: from what was decided, and by name why a file is left out, to further files: their
            text by their names.
    """

    groups: Sequence[FileGroup]
    report: Callable[[Sequence[dict[str, Any]], Mapping[str, str]], Mapping[str, str]]


class RecoveredDataset(ResumedDataset):
    """A folder of corrected files and what was done to them.

    A file that cannot be read is left out. What an interrupted save decided and wrote is kept.
    """

    def _write(self, data: Recovered) -> None:
        self._filepath.mkdir(parents=True, exist_ok=True)
        decisions: list[dict[str, Any]] = []
        refused: dict[str, str] = {}
        files = [(n, each) for n, group in enumerate(data.groups) for each in group.outputs.items()]
        for number, (name, output) in track(files, "writing images", transient=True):
            group = data.groups[number]
            if number == len(decisions):
                decisions.append(self._decided(number, group))
            try:
                self._write_piece(output, partial(group.write, name, output, decisions[number]))
            except InputError as error:
                refused[name] = str(error)
        for name, text in data.report(decisions, refused).items():
            self._write_piece(name, partial(_write_text, text))
        remove(self._filepath / DECISIONS)

    def _decided(self, number: int, group: FileGroup) -> dict[str, Any]:
        """What is done with a group: decided once, kept until the folder is whole."""
        kept = f"{DECISIONS}/{number}.json"
        self._write_piece(kept, partial(_write_decision, group.decide))
        decision: dict[str, Any] = json.loads((self._filepath / kept).read_text(encoding="utf-8"))
        return decision

    def load(self) -> Path:
        """Where the files lie."""
        return self._filepath


def _write_decision(decide: Callable[[], dict[str, Any]], path: Path) -> None:
    _write_text(json.dumps(decide()), path)


def _write_text(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
