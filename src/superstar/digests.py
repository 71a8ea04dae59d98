"""Digests of files' contents, remembered, so that only what changed is read again."""

import hashlib
import json
import logging
import os
import stat
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from superstar.errors import InputError, unreadable

logger = logging.getLogger(__name__)

TICK = 50_000_000
"""Nanoseconds within which two changes of a file may show the same time."""
MUCH = 2**30
"""Bytes whose reading is announced."""

Record = dict[str, list[str]]
"""By folder, what its files looked like when they were read, and the digest of their contents."""


class Digests:
    """Digests of files, read again only where a name, a size or a time of change differs.

    What is remembered are folders, not single files: a benchmark has millions of these.

    Args:
        place: folder for the records, a file for each root; None remembers in this object alone.
    """

    def __init__(self, place: Path | None = None):
        self._place = place
        self._records: dict[Path, Record] = {}

    def of_file(self, path: Path) -> str:
        """A digest of a file's content, whatever its name.

        Raises:
            InputError: there is no such file, or it cannot be read.
        """
        # A root of its own, so that files of one folder do not push one another out.
        return self._of(path, {"": [""]})

    def of_files(self, root: Path, names: Iterable[str]) -> str:
        """A digest of the names and contents of files in a folder, wherever that lies.

        Args:
            root: the folder.
            names: paths of the files within it, with `/`.

        Raises:
            InputError: a file that cannot be read, or that is none.
        """
        folders: dict[str, list[str]] = {}
        for name in names:
            folder, _, file = name.rpartition("/")
            folders.setdefault(folder, []).append(file)
        return self._of(root, folders)

    def _of(self, root: Path, folders: dict[str, list[str]]) -> str:
        record, before = self._record(root), time.time_ns()
        digests: dict[str, str] = {}
        try:
            looks = {folder: _look(root / folder, files) for folder, files in folders.items()}
            changed = [f for f, (look, _, _) in looks.items() if record.get(f, [""])[0] != look]
            if (size := sum(looks[folder][2] for folder in changed)) > MUCH:
                logger.info("reading %.1f GB of %s to know it again", size / 1e9, root)
            with ThreadPoolExecutor() as pool:
                for folder in changed:
                    digests[folder] = _read(root / folder, folders[folder], pool)
        except OSError as error:
            raise unreadable(error) from error
        finally:
            # A file that changed just now may change again without showing it.
            settled = [folder for folder in digests if before - looks[folder][1] > TICK]
            record.update({folder: [looks[folder][0], digests[folder]] for folder in settled})
            if settled and self._place is not None:
                with suppress(OSError):  # It only saves time.
                    _write(_path(self._place, root), {"root": str(root), "folders": record})
        digests = {folder: digests.get(folder) or record[folder][1] for folder in folders}
        whole = hashlib.sha256()
        for folder, digest in digests.items():
            whole.update(os.fsencode(f"{folder} {digest}\n"))
        return whole.hexdigest()[:32]

    def _record(self, root: Path) -> Record:
        record = self._records.setdefault(root, {})
        if not record and self._place is not None:
            with suppress(OSError, TypeError, ValueError, KeyError):  # None yet, or damaged.
                record.update(json.loads(_path(self._place, root).read_text())["folders"])
        return record


def _path(place: Path, root: Path) -> Path:
    return place / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def _look(folder: Path, names: Sequence[str]) -> tuple[str, int, int]:
    """What files look like from outside; when one of them changed last (ns); their bytes."""
    digest, newest, size = hashlib.sha256(), 0, 0
    for name, path in zip(names, _paths(folder, names), strict=True):
        told = os.stat(path)
        if not stat.S_ISREG(told.st_mode):
            raise InputError(f"{path} is not a file: remove it")
        times = f"{told.st_size} {told.st_mtime_ns} {told.st_ctime_ns}"
        digest.update(os.fsencode(f"{name} {times}\n"))
        newest, size = max(newest, told.st_ctime_ns), size + told.st_size
    return digest.hexdigest()[:32], newest, size


def _read(folder: Path, names: Sequence[str], pool: ThreadPoolExecutor) -> str:
    digest = hashlib.sha256()
    for name, content in zip(names, pool.map(_content, _paths(folder, names)), strict=True):
        digest.update(os.fsencode(f"{name}\n") + content)
    return digest.hexdigest()[:32]


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _paths(folder: Path, names: Sequence[str]) -> list[str]:
    """As text: there may be millions, and an object for each takes longer than looking at it."""
    return [f"{folder}/{name}" if name else str(folder) for name in names]


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".part-{os.getpid()}-{path.name}")
    beside.write_text(json.dumps(content))
    os.replace(beside, path)
