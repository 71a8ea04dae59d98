"""What every dataset of the project shares: it is published whole, and stamped.

A file or folder is written beside its final place and renamed once it is complete, so a reader
never sees half of it. A stamp beside it (`.<name>.stamp.json`) records the sizes of its files and
digests of its content and of what it was made from; an artifact without a valid stamp counts as
missing.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from superstar.errors import InputError
from superstar.provenance import Stamp


class Whole:
    """Mixin for a Kedro dataset at `_filepath` (a file or folder) or `_path` (a folder)."""

    metadata: dict[str, Any] | None

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
        final, attribute = self.location, self._location_attribute
        given = getattr(self, attribute)
        beside = final.with_name(f".part-{final.name}")
        self.invalidate()
        remove(beside)
        final.parent.mkdir(parents=True, exist_ok=True)
        setattr(self, attribute, type(given)(beside))
        try:
            self._write(data)
        except BaseException:
            remove(beside)
            raise
        finally:
            setattr(self, attribute, given)
        if final.is_dir():
            remove(final)
        os.replace(beside, final)

    def _write(self, data: Any) -> None:
        """Write at the present location; by default what the class beside this mixin does."""
        super().save(data)  # type: ignore[misc]

    def stamp(self, made_from: str) -> None:
        """Record that the artifact is complete, what it is, and what it was made from."""
        record = {"made_from": made_from, "content": self._digest(), "files": self._sizes()}
        beside = self.stamp_path.with_name(f".part{self.stamp_path.name}")
        beside.write_text(json.dumps(record))
        os.replace(beside, self.stamp_path)

    def invalidate(self) -> None:
        """Remove the stamp: the artifact counts as missing from now on."""
        self.stamp_path.unlink(missing_ok=True)

    def read_stamp(self) -> Stamp | None:
        """The artifact's stamp, or None where there is no readable one."""
        record = self._record()
        return None if record is None else Stamp(record["made_from"], record["content"])

    def problem(self, thorough: bool = False) -> str | None:
        """What is wrong with the artifact on disk, in a few words; None if it is whole.

        Args:
            thorough: compare the content too, not the sizes of files alone.
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
                return f"is damaged: {Path(name).name} {lost}"
        if thorough and self._digest() != record["content"]:
            return "is damaged: its content has changed since a run wrote it"
        return None

    def _record(self) -> dict[str, Any] | None:
        try:
            record = json.loads(self.stamp_path.read_text())
        except (OSError, ValueError):
            return None
        kinds = {"made_from": str, "content": str, "files": dict}
        sound = isinstance(record, dict) and all(
            isinstance(record.get(key), kind) and record[key] for key, kind in kinds.items()
        )
        return record if sound else None

    def _files(self) -> dict[str, Path]:
        root = self.location
        files = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
        return {path.relative_to(root.parent).as_posix(): path for path in files}

    def _sizes(self) -> dict[str, int]:
        return {name: path.stat().st_size for name, path in self._files().items()}

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for name, path in self._files().items():
            digest.update(name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:32]

    def _exists(self) -> bool:
        return self.problem() is None


class FileDataset(Whole, AbstractDataset[Any, Any]):
    """Base of the datasets of our own: `_write` writes to `_filepath`, `load` reads it.

    Args:
        filepath: a file or folder.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None):
        self._filepath = Path(filepath)
        self.metadata = metadata
        super().__init__()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


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
