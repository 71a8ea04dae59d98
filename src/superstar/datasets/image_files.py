"""Image files by class: listed at once, opened only when a batch asks for them."""

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from superstar.datasets.external import ExternalFolder
from superstar.datasets.whole import FileDataset, require_file
from superstar.decoding import SUFFIXES, read_batches, read_images, user_path
from superstar.digests import Digests
from superstar.errors import InputError, is_text, readable
from superstar.images import Indices, from_uint8, places

DESIGN = "train"
TESTS = ("val", "test")
"""Folders of ImageNet's own split."""

_ENDINGS = " ".join(sorted(SUFFIXES))

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ImageFiles:
    """Labelled image files, of which only what a batch asks for is opened.

    Attributes:
        folder: where they lie.
        names: `<class>/<file>` of each, sorted by class, then by file, by code points.
        labels: int64 (N,).
        resize: of the shorter side, in pixels, as in `superstar.decoding.read_image`.
        crop: of the centre, in pixels.
    """

    folder: Path
    names: tuple[str, ...]
    labels: NDArray[np.int64]
    resize: int | None = None
    crop: int | None = None

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} images in {self.folder})"

    def __len__(self) -> int:
        return len(self.names)

    def take(self, indices: Indices) -> "ImageFiles":
        """The files at `indices`, in that order."""
        chosen = np.arange(len(self))[places(indices)]
        return replace(self, names=tuple(self.names[i] for i in chosen), labels=self.labels[chosen])

    def batch(self, indices: Indices = slice(None)) -> Tensor:
        """The images at `indices` as float32 (N, 3, H, W) in [0, 1].

        Raises:
            InputError: an image that cannot be read, or images of several sizes.
        """
        return from_uint8(read_images(self.take(indices)._paths(), self.resize, self.crop))

    def read(self, batch_size: int) -> Iterator[NDArray[np.uint8]]:
        """All images in order, as `superstar.decoding.read_batches` yields them."""
        return read_batches(self._paths(), batch_size, self.resize, self.crop)

    def _paths(self) -> list[Path]:
        return [self.folder / name for name in self.names]


def read_class_list(path: Path) -> tuple[str, ...]:
    """Names of the classes, one a line, in the order of the labels.

    Raises:
        InputError: no such file, no names, or a name that occurs twice.
    """
    expected = "it must be text in UTF-8 with the name of one class a line"
    if not path.is_file():
        raise InputError(
            f"list of classes {path} does not exist: {expected}, in the order of the labels "
            "(globals.class_list)"
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text: {expected}") from error
    names = tuple(name for line in lines if (name := line.strip()))
    if not names:
        raise InputError(f"{path} is empty: {expected}")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"{path} names {twice[0]!r} twice")
    return names


def list_classes(folder: Path) -> tuple[str, ...]:
    """Names of the class folders in a folder, sorted, as torchvision's ImageFolder labels them.

    Raises:
        InputError: no such folder, no folders in it, or names that no text can hold.
    """
    classes = visible(folder)[0]
    if not classes:
        raise InputError(f"{folder} holds no class folders, so there are no images")
    if odd := [name for name in classes if name != name.strip() or len(name.splitlines()) != 1]:
        raise InputError(
            f"the class folder {odd[0]!r} in {folder} cannot be named in a list of classes: "
            "rename it without spaces at its ends and line breaks"
        )
    return tuple(classes)


def list_images(folder: Path, class_list: Sequence[str]) -> ImageFiles:
    """The images of a folder of class folders, in an order that is the same on every machine.

    Args:
        folder: it holds one folder a class, for any of the classes.
        class_list: names of all classes' folders; a label is an index into them.

    Raises:
        InputError: no such folder, no class folders in it or images beside them, one that is not
            in the list, that holds no image or that holds folders; a name that is not UTF-8.
    """
    if images := [name for name in visible(folder)[1] if _is_image(name)]:
        raise InputError(f"{folder / images[0]} lies outside the class folders of {folder}")
    label_of = {name: label for label, name in enumerate(class_list)}
    names: list[str] = []
    labels: list[int] = []
    others: list[Path] = []
    for name in list_classes(folder):
        place = folder / name
        if name not in label_of:
            raise InputError(f"{place} is the folder of none of the {len(class_list)} classes")
        deeper, there = visible(place)
        if deeper:
            raise InputError(
                f"{place / deeper[0]} is a folder within a class: images must lie at <class>/<file>"
            )
        files = [file for file in there if _is_image(file)]
        if not files:
            raise InputError(f"{place} holds no images ({_ENDINGS})")
        others += [place / file for file in there if not _is_image(file)]
        names += [f"{name}/{file}" for file in files]
        labels += [label_of[name]] * len(files)
    if others:
        logger.warning(
            "%d files are left out, whose endings are not those of images (%s): %s%s",
            len(others),
            _ENDINGS,
            ", ".join(map(str, others[:3])),
            ", ..." if len(others) > 3 else "",
        )
    return ImageFiles(folder, tuple(names), np.array(labels, np.int64))


def visible(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and of the files in a folder, sorted, without hidden ones.

    Raises:
        InputError: no such folder, or a name that is not UTF-8, which no list or table could hold.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError(f"folder {folder} {problem}")
    with os.scandir(folder) as entries:
        shown = sorted((e.name, e.is_dir()) for e in entries if not e.name.startswith("."))
    for name in (str(folder), *(name for name, _ in shown)):
        if not is_text(name):
            raise InputError(f"{readable(str(folder / name))} is not text in UTF-8: rename it")
    return [name for name, is_dir in shown if is_dir], [n for n, is_dir in shown if not is_dir]


def _is_image(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in SUFFIXES


class ClassFoldersDataset(ExternalFolder):
    """Images by class, `<class>/<file>` (read only).

    Args:
        folder: it holds one folder a class; labels follow the sorted names of these.
        metadata: for Kedro's plugins.
    """

    def __init__(self, *, folder: str, metadata: dict[str, Any] | None = None):
        super().__init__(folder=folder, metadata=metadata)
        self.location = user_path(folder)

    def load(self) -> ImageFiles:
        """The files, listed once; images are opened when they are asked for."""
        return self._files

    def check(self) -> None:
        """Refuse a folder without images by class.

        Raises:
            InputError: what `list_images` refuses.
        """
        _ = self._files

    @cached_property
    def _files(self) -> ImageFiles:
        return list_images(self.location, list_classes(self.location))

    def identity(self, digests: Digests) -> str:
        """A digest of the images."""
        return digests.of_files(self.location, self._files.names)


@dataclass(frozen=True)
class LabelledFiles:
    """A data set of files.

    Attributes:
        design: images to design with, or all of them where there is no split.
        test: images to test on; None where there is no split.
        class_names: by label.
        opened: whether test images are read at once, as the others are, not batch by batch.
    """

    design: ImageFiles
    test: ImageFiles | None
    class_names: tuple[str, ...]
    opened: bool = False


class LabelledFilesDataset(ExternalFolder):
    """Clean image files by class (read only).

    Either `train/<class>/<file>` and `val/<class>/<file>` (or `test/`), or `<class>/<file>` alone,
    which the reader splits. Any of the classes may be absent.

    Args:
        folder: where they lie.
        classes: file with the names of all class folders, one a line, in the order of the labels
            that classifiers give; None takes those that are there, sorted.
        opened: whether test images are read at once.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        folder: str | None,
        classes: str | None = None,
        opened: bool = False,
        metadata: dict[str, Any] | None = None,
    ):
        self._classes = None if classes is None else user_path(classes)
        self._opened = opened
        super().__init__(folder=folder, metadata=metadata)

    def load(self) -> Callable[[], LabelledFiles]:
        """A function that lists the files, so that only who uses them has to have them."""
        return self._list

    def check(self) -> None:
        """Refuse a folder without images by class, or with classes that are not in the list.

        Raises:
            InputError: what is missing, and what to put there.
        """
        self._list()

    def identity(self, digests: Digests) -> str:
        """A digest of the files and of the list of classes."""
        try:
            found = self._list()
        except InputError:
            return "missing"
        parts = [digests.of_files(s.folder, s.names) for s in (found.design, found.test) if s]
        return "-".join(parts + [digests.of_file(file) for file in (self._classes,) if file])

    def _list(self) -> LabelledFiles:
        if self._folder is None:
            raise InputError(
                "there are no images: name a folder with <class>/<file> in globals.clean_images "
                "(conf/<environment>/globals.yml)"
            )
        folder = self._folder
        if not folder.is_dir():
            raise InputError(
                f"folder {folder} does not exist: put images there as <class>/<file>, or as "
                f"{DESIGN}/<class>/<file> and {TESTS[0]}/<class>/<file> (globals.clean_images)"
            )
        tests = [name for name in TESTS if (folder / name).is_dir()]
        split = (folder / DESIGN).is_dir()
        if split != bool(tests) or len(tests) > 1:
            there = [*([DESIGN] if split else []), *tests]
            raise InputError(
                f"{folder} holds {' and '.join(there)}: it needs {DESIGN} and one of "
                f"{' and '.join(TESTS)}, or class folders alone"
            )
        roots = [folder / DESIGN, folder / tests[0]] if split else [folder]
        names = (
            read_class_list(self._classes)
            if self._classes is not None
            else tuple(sorted({name for root in roots for name in list_classes(root)}))
        )
        listed = [list_images(root, names) for root in roots]
        return LabelledFiles(listed[0], listed[1] if split else None, names, self._opened)


class ImageFilesDataset(FileDataset):
    """Which files a set of images consists of, as JSON; the images stay where they are."""

    def _write(self, data: ImageFiles) -> None:
        record = {
            "folder": str(data.folder),
            "resize": data.resize,
            "crop": data.crop,
            # So that what is made of the images is made again once they change.
            "contents": Digests().of_files(data.folder, data.names),
            "names": data.names,
            "labels": data.labels.tolist(),
        }
        self._filepath.write_text(json.dumps(record), encoding="utf-8")

    def load(self) -> ImageFiles:
        """The files; images are opened when they are asked for.

        Raises:
            InputError: no such list.
        """
        record = json.loads(require_file(self._filepath, "list of images").read_text("utf-8"))
        return ImageFiles(
            Path(record["folder"]),
            tuple(record["names"]),
            np.array(record["labels"], np.int64),
            record["resize"],
            record["crop"],
        )
