"""Labelled images, for training and for tests, as people have them on disk.

Three layouts, told apart by what lies in the folder: what torchvision's CIFAR100 leaves there, the
Hugging Face hub's tables (`uoft-cs/cifar100`), and folders of images by class.
"""

import contextlib
import hashlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from superstar.datasets.hub_tables import (
    NAMES,
    SPLITS,
    find_tables,
    read_class_names,
    read_tables,
)
from superstar.datasets.image_folders import list_classes, list_images
from superstar.datasets.raw import RawFolder, digest_of_files
from superstar.errors import InputError
from superstar.images import ImageSet

TORCHVISION = "cifar-100-python"
ARCHIVE = f"{TORCHVISION}.tar.gz"
MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}
"""Sums of the files of CIFAR-100, as torchvision checks them."""
CIFAR_SIDE = 32


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


class LabelledImagesDataset(RawFolder):
    """Clean images from a folder (read only); the folder's layout is found out.

    - `cifar-100-python/` with `train`, `test` and `meta`: CIFAR-100 as torchvision leaves it. The
      files' sums are checked, so that they are read as what they are. Where the folder is empty,
      missing, or holds the archive alone, torchvision downloads and unpacks them.
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
        if self._folder is not None:
            _layout(self._folder)

    def identity(self) -> str:
        """A digest of the files; CIFAR-100 of torchvision is the same downloaded or not."""
        if self._folder is None:
            return "none"
        try:
            read = _layout(self._folder)
            if read in (download, read_torchvision):
                return TORCHVISION
            names = _hub_files if read is read_hub else _class_files
            return digest_of_files(self._folder, names(self._folder))
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
    if (folder / TORCHVISION).is_dir():
        missing = [name for name in MD5 if not (folder / TORCHVISION / name).is_file()]
        if missing:
            raise InputError(
                f"{folder / TORCHVISION} lacks {', '.join(missing)}: unpack "
                f"{ARCHIVE} there once more, or remove it"
            )
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
    there = [path.name for path in folder.iterdir()] if folder.exists() else []
    if all(name.startswith(".") or name == ARCHIVE for name in there):
        return download
    raise InputError(
        f"{folder} holds no images in a known layout: {TORCHVISION}/ of CIFAR-100, "
        "train*.parquet and test*.parquet of the Hugging Face hub, or train/<class>/ and "
        "test/<class>/"
    )


def download(folder: Path) -> LabelledImages:
    """CIFAR-100, downloaded by torchvision.

    Raises:
        InputError: there is no network.
    """
    from torchvision.datasets import CIFAR100

    try:
        # torchvision tells of its tries on standard output.
        with contextlib.redirect_stdout(io.StringIO()):
            CIFAR100(folder, download=True)
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"CIFAR-100 could not be downloaded: put {ARCHIVE} into {folder}, or "
            "the Hugging Face hub's train*.parquet and test*.parquet, or folders train/ and test/ "
            "of images by class"
        ) from error
    return read_torchvision(folder)


def read_torchvision(folder: Path) -> LabelledImages:
    """CIFAR-100 in the files of its own archive, which are pickles.

    Raises:
        InputError: files that are not those of CIFAR-100, whole.
    """
    contents = {}
    for name, expected in MD5.items():
        path = folder / TORCHVISION / name
        content = path.read_bytes()
        if hashlib.md5(content, usedforsecurity=False).hexdigest() != expected:
            raise InputError(
                f"{path} is not CIFAR-100's, or was cut short: unpack {ARCHIVE} once more"
            )
        contents[name] = read_plain_pickle(content, path)
    sets = [
        ImageSet(
            np.ascontiguousarray(
                np.asarray(contents[split]["data"])
                .reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE)
                .transpose(0, 2, 3, 1)
            ),
            np.array(contents[split]["fine_labels"], dtype=np.int64),
        )
        for split in SPLITS
    ]
    return LabelledImages(sets[0], sets[1], tuple(contents["meta"]["fine_label_names"]))


class _PlainUnpickler(pickle.Unpickler):
    """Builds arrays and plain containers, and nothing else."""

    ALLOWED = frozenset(
        (
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("_codecs", "encode"),
        )
    )

    def find_class(self, module: str, name: str) -> Any:
        """The constructors of arrays.

        Raises:
            UnpicklingError: anything else.
        """
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} does not belong there")
        return super().find_class(module, name)


def read_plain_pickle(content: bytes, path: Path) -> dict[str, Any]:
    """A dictionary of arrays, lists and strings; nothing else in the file is built or run.

    Raises:
        InputError: the file is no such dictionary.
    """
    try:
        value = _PlainUnpickler(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # what a damaged pickle raises cannot be foretold
        raise InputError(f"{path} cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} holds a {type(value).__name__}, not a dictionary")
    return value


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
