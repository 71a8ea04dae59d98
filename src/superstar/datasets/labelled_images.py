"""Labelled images, for training and for tests, as people have them on disk.

Three layouts, told apart by what lies in the folder: what torchvision's CIFAR100 leaves there, the
Hugging Face hub's tables (`uoft-cs/cifar100`), and folders of images by class.
"""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superstar.datasets.external import ExternalFolder
from superstar.datasets.hub_tables import (
    NAMES,
    SPLITS,
    find_tables,
    read_class_names,
    read_tables,
)
from superstar.datasets.image_files import list_classes, list_images
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.images import ImageSet

TORCHVISION = "cifar-100-python"
ARCHIVE = f"{TORCHVISION}.tar.gz"


@dataclass(frozen=True)
class LabelledImages:
    """A data set with its own split.

    Attributes:
        train: images and labels to train on.
        test: those to test on.
        class_names: by label.
    """

    train: ImageSet
    test: ImageSet
    class_names: tuple[str, ...]


class LabelledImagesDataset(ExternalFolder):
    """Clean images from a folder (read only); the folder's layout is found out.

    - `cifar-100-python/` with `train`, `test` and `meta`: CIFAR-100 as torchvision leaves it, which
      checks the files' sums before it reads them. Where the folder is empty, missing, or holds the
      archive alone, torchvision downloads and unpacks them.
    - `train*.parquet` and `test*.parquet`, here, in `data/` or in another sub-folder with both:
      tables of the Hugging Face hub with encoded images (`img` or `image`) and labels
      (`fine_label` or `label`). Class names come from the table's metadata, or else from
      `fine_label_names.txt`, one a line.
    - `train/<class>/<file>` and `test/<class>/<file>`: images by class, all of one size.

    Args:
        folder: where they lie; None if the run takes its images from elsewhere.
        metadata: for Kedro's plugins.
    """

    def load(self) -> Callable[[], LabelledImages] | None:
        """A function that reads the images, so that only who uses them has to have them."""
        if self._folder is None:
            return None
        folder = self._folder
        return lambda: _layout(folder)(folder)

    def check(self) -> None:
        """Refuse a folder that holds none of the layouts whole.

        Raises:
            InputError: what is missing, and what to put there.
        """
        if self._folder is None:
            return
        if _layout(self._folder) is read_torchvision and (self._folder / TORCHVISION).exists():
            read_torchvision(self._folder)  # A second's work, which checks the files' sums.

    def identity(self, digests: Digests) -> str:
        """A digest of the files; torchvision's CIFAR-100 has one name, downloaded or not."""
        if self._folder is None:
            return "none"
        try:
            read = _layout(self._folder)
            if read is read_torchvision:
                return TORCHVISION
            names = _hub_files if read is read_hub else _class_files
            return digests.of_files(self._folder, names(self._folder))
        except InputError:
            return "missing"


Read = Callable[[Path], LabelledImages]


def _layout(folder: Path) -> Read:
    """The function that reads what lies in a folder.

    Raises:
        InputError: nothing that can be read lies there, or half of it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: a folder with images belongs there")
    there = [path.name for path in folder.iterdir()] if folder.exists() else []
    if TORCHVISION in there or all(n.startswith(".") or n == ARCHIVE for n in there):
        return read_torchvision
    for read, found in (
        (read_hub, {split: bool(tables) for split, tables in find_tables(folder).items()}),
        (read_folders, {split: (folder / split).is_dir() for split in SPLITS}),
    ):
        if all(found.values()):
            return read
        if any(found.values()):
            lacking = next(split for split, there in found.items() if not there)
            raise InputError(
                f"{folder} holds {'tables' if read is read_hub else 'folders'}, "
                f"but none of its {lacking} images"
            )
    raise InputError(
        f"{folder} holds no images in a known layout: {TORCHVISION}/ of CIFAR-100, "
        "train*.parquet and test*.parquet of the Hugging Face hub, or train/<class>/ and "
        "test/<class>/"
    )


def read_torchvision(folder: Path) -> LabelledImages:
    """CIFAR-100 in the files of its own archive, downloaded where they are not there yet.

    Raises:
        InputError: files that are not those of CIFAR-100, whole; or none, and no network.
    """
    from torchvision.datasets import CIFAR100

    there = (folder / TORCHVISION).exists()
    try:
        # torchvision tells of its tries on standard output.
        with contextlib.redirect_stdout(io.StringIO()):
            train = CIFAR100(folder, train=True, download=not there)
            test = CIFAR100(folder, train=False)
    except (OSError, RuntimeError) as error:
        if there:
            raise InputError(
                f"{folder / TORCHVISION} lacks files of CIFAR-100, or they were cut short: unpack "
                f"{ARCHIVE} there once more, or remove it"
            ) from error
        raise InputError(
            f"CIFAR-100 could not be downloaded: put {ARCHIVE} into {folder}, or "
            "the Hugging Face hub's train*.parquet and test*.parquet, or folders train/ and test/ "
            "of images by class"
        ) from error
    sets = [
        ImageSet(np.ascontiguousarray(split.data), np.array(split.targets, dtype=np.int64))
        for split in (train, test)
    ]
    return LabelledImages(sets[0], sets[1], tuple(train.classes))


def read_hub(folder: Path) -> LabelledImages:
    """Tables of the Hugging Face hub.

    Raises:
        InputError: tables in several places; one that is damaged or lacks a column; no class
            names, or labels without a name.
    """
    tables = find_tables(folder)
    names = read_class_names(folder, tables["train"])
    sets = [read_tables(tables[split]) for split in SPLITS]
    for split, images in zip(SPLITS, sets, strict=True):
        if images.labels.min() < 0 or images.labels.max() >= len(names):
            raise InputError(
                f"the {split} images in {folder} have labels from {images.labels.min()} to "
                f"{images.labels.max()}, but there are {len(names)} class names"
            )
    return LabelledImages(sets[0], sets[1], names)


def _hub_files(folder: Path) -> list[str]:
    tables = [table for shards in find_tables(folder).values() for table in shards]
    names = [path for path in (folder / NAMES,) if path.is_file()]
    return [path.relative_to(folder).as_posix() for path in [*tables, *names]]


def read_folders(folder: Path) -> LabelledImages:
    """Images by class, `train/<class>/<file>` and `test/<class>/<file>`; labels follow the names.

    Raises:
        InputError: classes that differ between train and test, images that cannot be read, or of
            different sizes.
    """
    classes = list_classes(folder / "train")
    if classes != list_classes(folder / "test"):
        odd = set(classes) ^ set(list_classes(folder / "test"))
        raise InputError(
            f"train and test in {folder} have different classes: {min(odd)!r} is in one alone"
        )
    train, test = (_read_split(folder / split, classes) for split in SPLITS)
    return LabelledImages(train, test, classes)


def _read_split(folder: Path, classes: tuple[str, ...]) -> ImageSet:
    files = list_images(folder, classes)
    return ImageSet(np.concatenate(list(files.read(1000))), np.asarray(files.labels, np.int64))


def _class_files(folder: Path) -> list[str]:
    return [
        f"{split}/{name}"
        for split in SPLITS
        for name in list_images(folder / split, list_classes(folder / split)).names
    ]
