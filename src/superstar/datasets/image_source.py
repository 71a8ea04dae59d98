"""Clean images as files by class, listed at once and opened only when a batch asks for them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from superstar.datasets.image_folders import ImageFiles, list_classes, list_images, read_wnids
from superstar.datasets.labelled_images import LabelledImages, LabelledImagesDataset
from superstar.datasets.raw import RawDataset, RawFolder, digest_of_files
from superstar.datasets.whole import FileDataset, require_file
from superstar.decoding import user_path
from superstar.errors import InputError

DESIGN = "train"
TESTS = ("val", "test")
"""Folders of ImageNet's own split."""


@dataclass(frozen=True)
class LabelledFiles:
    """A data set of files.

    Attributes:
        design: images to design with, or all of them where there is no split.
        test: images to test on; None where there is no split.
        class_names: by label.
    """

    design: ImageFiles
    test: ImageFiles | None
    class_names: tuple[str, ...]


class LabelledFilesDataset(RawFolder):
    """Clean image files by class (read only).

    Either `train/<class>/<file>` and `val/<class>/<file>` (or `test/`), or `<class>/<file>` alone,
    whose split is for who reads them to make. Any of the classes may be absent.

    Args:
        folder: where they lie.
        classes: file with the names of all class folders, one a line, in the order of the labels
            that classifiers give; None takes those that are there, sorted.
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

    def load(self) -> Callable[[], LabelledFiles]:
        """A function that lists the files, so that only who uses them has to have them."""
        return self._list

    def check(self) -> None:
        """Refuse a folder without images by class, or with classes that are not in the list.

        Raises:
            InputError: what is missing, and what to put there.
        """
        self._list()

    def identity(self) -> str:
        """A digest of the list of classes and of the files, as `digest_of_files` makes it."""
        try:
            found = self._list()
        except InputError:
            return "missing"
        digests = [digest_of_files(s.folder, s.names) for s in (found.design, found.test) if s]
        if self._classes is not None:
            digests.append(digest_of_files(self._classes.parent, [self._classes.name]))
        return "-".join(digests)

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
        places = [folder / DESIGN, folder / tests[0]] if split else [folder]
        names = (
            read_wnids(self._classes)
            if self._classes is not None
            else tuple(sorted({name for place in places for name in list_classes(place)}))
        )
        listed = [list_images(place, names) for place in places]
        return LabelledFiles(listed[0], listed[1] if split else None, names)


@dataclass(frozen=True)
class DenoiserImages:
    """What the denoiser that the package brings along learns from.

    Attributes:
        pictures: image files by class, of any size.
        small: labelled images of one size.
    """

    pictures: LabelledFiles
    small: LabelledImages


class DenoiserImagesDataset(RawDataset):
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
        if small is None:
            raise InputError("name a folder with small images in globals.small_images")
        return lambda: DenoiserImages(pictures(), small())

    def check(self) -> None:
        """Refuse folders that hold no such images.

        Raises:
            InputError: what is missing, and what to put there.
        """
        self._pictures.check()
        self._small.check()

    def identity(self) -> str:
        """A digest of the files of both folders."""
        return f"{self._pictures.identity()}-{self._small.identity()}"

    def _describe(self) -> dict[str, Any]:
        return {"pictures": self._pictures._describe(), "small": self._small._describe()}


class ImageFilesDataset(FileDataset):
    """Which files a set of images consists of, as JSON; the images stay where they are."""

    def _write(self, data: ImageFiles) -> None:
        record = {
            "folder": str(data.folder),
            "resize": data.resize,
            "crop": data.crop,
            # So that what is made of the images is made again once they change.
            "contents": digest_of_files(data.folder, data.names),
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
