"""ImageNet-C's layout: folders of JPEG files by shift, severity and class.

Hendrycks and Dietterich, "Benchmarking neural network robustness to common corruptions and
perturbations", ICLR 2019: `<shift>/<severity>/<wnid>/<file>.JPEG`, 224x224 pixels, quality 85. The
clean images through the same JPEG, which the published benchmark lacks, are `none/<wnid>/`.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from superstar.datasets.image_sets import SEVERITIES, absent_shift, check_severity
from superstar.datasets.whole import Piece, PiecesDataset
from superstar.decoding import SUFFIXES, read_batches, read_images
from superstar.errors import InputError
from superstar.images import Indices, from_uint8

GROUPS = ("blur", "digital", "extra", "noise", "weather")
"""Names of the published archives, under which their shifts may lie."""
JPEG_QUALITY = 85
ENDINGS = {"jpeg": ".JPEG", "png": ".png"}
"""Of the files that we write: ImageNet-C's, and one that loses nothing."""
CLASSES = "classes.txt"
"""Beside the sets that we write: names of the class folders, in the order of the labels."""

_ENDINGS = " ".join(sorted(SUFFIXES))

logger = logging.getLogger(__name__)

Named = tuple[Sequence[str], NDArray[np.uint8]]
"""Some images of a set: `<class>/<file>` of each, and uint8 (N, H, W, 3)."""
Cells = Mapping[tuple[str, int | None], Callable[[], Iterable[Named]]]
"""By shift and severity (None for `none`), a function that makes the images."""


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

    def __len__(self) -> int:
        return len(self.names)

    def take(self, indices: Indices) -> "ImageFiles":
        """The files at `indices`, in that order."""
        chosen = np.atleast_1d(np.arange(len(self))[indices])
        return replace(self, names=tuple(self.names[i] for i in chosen), labels=self.labels[chosen])

    def batch(self, indices: Indices = slice(None)) -> Tensor:
        """The images at `indices` as float32 (N, 3, H, W) in [0, 1].

        Raises:
            InputError: an image that cannot be read, or images of several sizes.
        """
        return from_uint8(read_images(self.take(indices)._paths(), self.resize, self.crop))

    def read(self, batch_size: int, workers: int | None = None) -> Iterator[NDArray[np.uint8]]:
        """All images in order, as `superstar.decoding.read_batches` yields them."""
        return read_batches(self._paths(), batch_size, self.resize, self.crop, workers)

    def _paths(self) -> list[Path]:
        return [self.folder / name for name in self.names]


def read_wnids(path: Path) -> tuple[str, ...]:
    """Names of the classes' folders, one a line, in the order of the labels.

    Raises:
        InputError: no such file, no names, or a name that occurs twice.
    """
    expected = "it must hold the name of one class folder a line"
    if not path.is_file():
        raise InputError(
            f"list of classes {path} does not exist: {expected}, in the order of the labels "
            "(globals.class_list)"
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text: {expected}") from error
    wnids = tuple(name for line in lines if (name := line.strip()))
    if not wnids:
        raise InputError(f"{path} is empty: {expected}")
    seen: set[str] = set()
    for name in wnids:
        if name in seen:
            raise InputError(f"{path} names {name!r} twice")
        seen.add(name)
    return wnids


def list_classes(folder: Path) -> tuple[str, ...]:
    """Names of the class folders in a folder, sorted, as torchvision's ImageFolder labels them.

    Raises:
        InputError: no such folder, or no folders in it.
    """
    if not folder.is_dir():
        raise InputError(f"folder {folder} does not exist")
    classes = _visible(folder)[0]
    if not classes:
        raise InputError(f"{folder} holds no class folders, so there are no images")
    for name in classes:
        if name != name.strip() or len(name.splitlines()) != 1 or not _is_text(name):
            raise InputError(
                f"the class folder {name!r} in {folder} cannot be named in a list of classes: "
                "rename it without spaces at its ends, line breaks and bytes that are no UTF-8"
            )
    return tuple(classes)


def list_images(
    folder: Path,
    wnids: Sequence[str],
    count: int | None = None,
    resize: int | None = None,
    crop: int | None = None,
) -> ImageFiles:
    """The images of a folder of class folders, in an order that is the same on every machine.

    Args:
        folder: it holds one folder a class, for any of the classes.
        wnids: names of all classes' folders; a label is an index into them.
        count: take so many, spread evenly over the sorted files; None takes all.
        resize: as in `ImageFiles`.
        crop: as in `ImageFiles`.

    Raises:
        InputError: no such folder, no class folders in it or images beside them, one that is not
            in the list, that holds no image or that holds folders, or fewer images than `count`.
    """
    if folder.is_dir() and (images := [n for n in _visible(folder)[1] if _is_image(n)]):
        raise InputError(f"{folder / images[0]} lies outside the class folders of {folder}")
    classes = list_classes(folder)
    label_of = {wnid: label for label, wnid in enumerate(wnids)}
    names: list[str] = []
    labels: list[int] = []
    others: list[Path] = []
    for wnid in classes:
        if wnid not in label_of:
            raise InputError(f"{folder / wnid} is the folder of none of the {len(wnids)} classes")
        deeper, there = _visible(folder / wnid)
        if deeper:
            raise InputError(
                f"{folder / wnid / deeper[0]} is a folder within a class: "
                "images must lie at <class>/<file>"
            )
        files = [name for name in there if _is_image(name)]
        if not files:
            raise InputError(f"{folder / wnid} holds no images ({_ENDINGS})")
        others += [folder / wnid / name for name in there if not _is_image(name)]
        names += [f"{wnid}/{name}" for name in files]
        labels += [label_of[wnid]] * len(files)
    if others:
        logger.warning(
            "%d files are left out, whose endings are not those of images (%s): %s%s",
            len(others),
            _ENDINGS,
            ", ".join(map(str, others[:3])),
            ", ..." if len(others) > 3 else "",
        )
    found = ImageFiles(folder, tuple(names), np.array(labels, np.int64), resize, crop)
    if count is None:
        return found
    if not 1 <= count <= len(found):
        raise InputError(f"{count} images of {folder} are asked for, but it holds {len(found)}")
    return found.take(np.arange(count) * len(found) // count)


class ImageFolders:
    """Shifted test sets in ImageNet-C's layout, listed and opened only when they are asked for.

    The shifts lie in `folder` itself or under the names of the published archives (`GROUPS`).

    Args:
        folder: where they lie.
        wnids: names of the classes' folders; a label is an index into them.
        count: images of each set, as in `list_images`; None takes all.
        resize: as in `ImageFiles`.
        crop: as in `ImageFiles`.

    Raises:
        InputError: no such folder, or no folders in it.
    """

    def __init__(
        self,
        folder: Path,
        wnids: Sequence[str],
        count: int | None = None,
        resize: int | None = None,
        crop: int | None = None,
    ):
        self.folder = folder
        self.wnids = tuple(wnids)
        self.count, self.resize, self.crop = count, resize, crop
        if not folder.is_dir():
            raise InputError(f"folder {folder} does not exist")
        self._places: dict[str, list[Path]] = {}
        for name in _visible(folder)[0]:
            inside = _visible(folder / name)[0] if name in GROUPS else [""]
            for shift in inside:
                place = folder / name / shift
                self._places.setdefault(place.name, []).append(place)
        if not self._places:
            raise InputError(f"{folder} holds no <shift>/<severity>/ folders")

    @property
    def shifts(self) -> tuple[str, ...]:
        """Names of the shifts that are there, sorted."""
        return tuple(sorted(self._places))

    def severities(self, shift: str) -> tuple[int, ...]:
        """The severities of a shift that are there; none for `none`, which has no such folders.

        Raises:
            InputError: no such shift.
        """
        if shift == "none":
            return ()
        there = set(_visible(self._place(shift))[0])
        return tuple(severity for severity in SEVERITIES if str(severity) in there)

    def load(self, shift: str, severity: int | None = None) -> ImageFiles:
        """The images of one shift at one severity, which `none` lacks; none is opened yet.

        Raises:
            InputError: no such shift or severity, or what `list_images` refuses.
        """
        return list_images(
            self.place(shift, severity), self.wnids, self.count, self.resize, self.crop
        )

    def place(self, shift: str, severity: int | None = None) -> Path:
        """The folder of the class folders of one shift at one severity.

        Raises:
            InputError: no such shift or severity.
        """
        check_severity(shift, severity)
        place = self._place(shift)
        if severity is None:
            return place
        there = self.severities(shift)
        if severity not in there:
            named = ", ".join(map(str, there)) or "none at all"
            raise InputError(f"{place} has no severity {severity}: there are {named}")
        return place / str(severity)

    def _place(self, shift: str) -> Path:
        places = self._places.get(shift, [])
        if not places:
            raise absent_shift(self.folder, shift, self.shifts)
        if len(places) > 1:
            raise InputError(f"{shift} lies in {places[0]} and in {places[1]}: remove one of them")
        return places[0]


def encode_jpeg(image: NDArray[np.uint8]) -> bytes:
    """An image, uint8 (H, W, 3), as ImageNet-C's files are: JPEG of quality 85, Pillow's defaults.

    Equal images give equal bytes with the same version of Pillow and libjpeg.
    """
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=JPEG_QUALITY)
    return file.getvalue()


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """An image, uint8 (H, W, 3), without loss."""
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def write_images(folder: Path, batches: Iterable[Named]) -> None:
    """Write one set into a new folder, as `<class>/<file>`.

    Args:
        folder: it must not be there yet.
        batches: names `<class>/<file>`, whose endings are among `ENDINGS` and tell the format (see
            `output_name`), and images.

    Raises:
        InputError: no images, or not uint8 (N, H, W, 3), a name for each; a name of another form,
            or two that give the same file.
    """
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(cpu_count()) as pool:
        written = sum(_write_batch(folder, *batch, pool) for batch in batches)
    if written == 0:
        raise InputError("a set needs at least one image")


def _write_batch(
    folder: Path, names: Sequence[str], images: NDArray[np.uint8], pool: ThreadPoolExecutor
) -> int:
    if images.dtype != np.uint8 or images.ndim != 4 or len(names) != len(images):
        raise InputError(
            f"{len(names)} names need as many images, uint8 (N, H, W, 3), "
            f"not {images.dtype} {images.shape}"
        )
    for name, content in zip(names, pool.map(_encode, names, images), strict=True):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError as error:
            raise InputError(f"two images would be written to {name}") from error
    return len(images)


def output_names(names: Sequence[str], file_format: str) -> tuple[str, ...]:
    """Under which names the images are written: with the format's ending in place of an image's.

    Args:
        names: `<class>/<file>` of each.
        file_format: one of `ENDINGS`.

    Raises:
        InputError: two images would have one name.
    """
    taken: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        stem = path.stem if path.suffix.lower() in SUFFIXES else path.name
        new = f"{path.parent}/{stem}{ENDINGS[file_format]}"
        if new in taken:
            raise InputError(f"{taken[new]} and {name} would both be written to {new}: rename one")
        taken[new] = name
    return tuple(taken)


class ImageFoldersDataset(PiecesDataset):
    """A folder of shifted sets in ImageNet-C's layout.

    Saving takes `Cells`: by shift and severity, a function that makes the images, batch by batch.
    Sets that an interrupted save of the same run finished are kept.

    Args:
        filepath: the folder.
        wnids: file of the classes' folder names, one a line, in the order of the labels; by default
            the one among the sets (`CLASSES`), which names the classes that were saved, sorted.
        count: images of each set that are loaded; by default all.
        resize: of the shorter side, in pixels; by default none.
        crop: of the centre, in pixels; by default none.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        filepath: str,
        wnids: str | None = None,
        count: int | None = None,
        resize: int | None = None,
        crop: int | None = None,
        metadata: dict[str, Any] | None = None,
    ):
        super().__init__(filepath=filepath, metadata=metadata)
        self._wnids = self._filepath / CLASSES if wnids is None else Path(wnids)
        self._options = {"count": count, "resize": resize, "crop": crop}

    def load(self) -> ImageFolders:
        """Look what shifts there are; sets are listed and opened when they are asked for."""
        return ImageFolders(self._filepath, read_wnids(self._wnids), **self._options)

    def _pieces(self, data: Cells) -> Iterator[Piece]:
        first = ""
        for (shift, severity), make in data.items():
            check_severity(shift, severity)
            name = shift if severity is None else f"{shift}/{severity}"
            yield name, partial(_write_made, make)
            first = first or name
        yield CLASSES, partial(_write_classes, self._filepath / first)

    def _unit(self, name: str) -> str:
        # A set, not a file: a whole benchmark has millions of these.
        return "/".join(name.split("/")[:3])


def _write_made(make: Callable[[], Iterable[Named]], folder: Path) -> None:
    write_images(folder, make())


def _write_classes(images: Path, path: Path) -> None:
    path.write_text("".join(f"{name}\n" for name in list_classes(images)), encoding="utf-8")


def _visible(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and of the files in a folder, sorted, without hidden ones."""
    with os.scandir(folder) as entries:
        shown = [(e.name, e.is_dir()) for e in entries if not e.name.startswith(".")]
    shown.sort()
    return [name for name, is_dir in shown if is_dir], [n for n, is_dir in shown if not is_dir]


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_image(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in SUFFIXES


def _encode(name: str, image: NDArray[np.uint8]) -> bytes:
    path = PurePosixPath(name)
    if len(path.parts) != 2 or any(part.startswith(".") for part in path.parts):
        raise InputError(f"an image's name must be <class>/<file>, not {name!r}")
    if path.suffix == ENDINGS["png"]:
        return encode_png(image)
    if path.suffix == ENDINGS["jpeg"]:
        return encode_jpeg(image)
    raise InputError(f"{name!r} must end in {' or '.join(ENDINGS.values())}")
