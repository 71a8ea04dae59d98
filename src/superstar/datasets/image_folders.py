"""ImageNet-C's layout: folders of JPEG files by shift, severity and class.

Hendrycks and Dietterich, "Benchmarking neural network robustness to common corruptions and
perturbations", ICLR 2019: `<shift>/<severity>/<wnid>/<file>.JPEG`, 224x224 pixels, quality 85. The
clean images through the same JPEG, which the benchmark lacks, are `none/<wnid>/`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from PIL import Image

from superstar.datasets.external import ExternalFolder
from superstar.datasets.image_files import (
    ImageFiles,
    list_classes,
    list_images,
    read_class_list,
    visible,
)
from superstar.datasets.image_sets import SEVERITIES, absent_shift, check_severity
from superstar.datasets.whole import Piece, PiecesDataset
from superstar.decoding import SUFFIXES, user_path
from superstar.digests import Digests
from superstar.errors import InputError

GROUPS = ("blur", "digital", "extra", "noise", "weather")
"""Names of the archives it comes in, under which their shifts may lie."""
JPEG_QUALITY = 85
ENDINGS = {"jpeg": ".JPEG", "png": ".png"}
"""Endings of the files that we write: ImageNet-C's, and a lossless one."""
CLASSES = "classes.txt"
"""Beside the sets that we write: names of the class folders, in the order of the labels."""

Named = tuple[Sequence[str], NDArray[np.uint8]]
"""Some images of a set: `<class>/<file>` of each, and uint8 (N, H, W, 3)."""
Cells = Mapping[tuple[str, int | None], Callable[[], Iterable[Named]]]
"""By shift and severity (None for `none`), a function that makes the images."""


class ImageFolders:
    """Shifted test sets in ImageNet-C's layout, listed and opened only when they are asked for.

    The shifts lie in `folder` itself or under the names of its archives (`GROUPS`).

    Args:
        folder: where they lie.
        class_list: names of the classes' folders; a label is an index into them.

    Raises:
        InputError: no such folder, or no folders in it.
    """

    def __init__(self, folder: Path, class_list: Sequence[str]):
        self.folder, self.class_list = folder, tuple(class_list)
        self._places: dict[str, list[Path]] = {}
        for name in visible(folder)[0]:
            inside = visible(folder / name)[0] if name in GROUPS else [""]
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
        there = set(visible(self._place(shift))[0])
        return tuple(severity for severity in SEVERITIES if str(severity) in there)

    def load(self, shift: str, severity: int | None = None) -> ImageFiles:
        """The images of one shift at one severity, which `none` lacks; none is opened yet.

        Raises:
            InputError: no such shift or severity, or what `list_images` refuses.
        """
        return list_images(self.place(shift, severity), self.class_list)

    def place(self, shift: str, severity: int | None = None) -> Path:
        """The folder of the class folders of one shift at one severity.

        Raises:
            InputError: no such shift or severity.
        """
        severity, place = check_severity(shift, severity), self._place(shift)
        if severity is None:
            return place
        there = self.severities(shift)
        if severity not in there:
            named = ", ".join(map(str, there)) or "none at all"
            raise InputError(f"{place} has no severity {severity}: there are {named}")
        return place / str(severity)

    def places(self) -> list[Path]:
        """The folders of all shifts and severities that are there.

        Raises:
            InputError: a shift that lies in two places.
        """
        cells = [(s, severity) for s in self.shifts for severity in self.severities(s) or [None]]
        return [self.place(*cell) for cell in cells]

    def _place(self, shift: str) -> Path:
        places = self._places.get(shift, [])
        if not places:
            raise absent_shift(self.folder, shift, self.shifts)
        if len(places) > 1:
            raise InputError(f"{shift} lies in {places[0]} and in {places[1]}: remove one of them")
        return places[0]


class ExternalFoldersDataset(ExternalFolder):
    """Shifted sets in ImageNet-C's layout, to be taken as they are: that benchmark, or parts of it.

    Args:
        folder: it holds `<shift>/<severity>/<class>/<file>`, or the folders `blur`, `digital`,
            `extra`, `noise` and `weather` that hold these; None if there are no such sets.
        classes: file with the names of all class folders, one a line, in the order of the labels.
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
                "shifted sets in folders need the names of all classes in the order of their "
                "labels: set globals.class_list in conf/<environment>/globals.yml"
            )
        return ImageFolders(self._folder, read_class_list(self._classes))

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
            for place in sets.places():
                list_classes(place)
        except InputError as error:
            raise InputError(
                f"{error}; see globals.external_sets in conf/<environment>/globals.yml"
            ) from error

    def identity(self, digests: Digests) -> str:
        """A digest of the images."""
        if (folder := self._folder) is None:
            return "none"
        try:
            places = ImageFolders(folder, ()).places()
        except InputError:
            return "missing"
        names = (name for place in places for name in _files(folder, place))
        return digests.of_files(folder, names)


def _files(folder: Path, place: Path) -> Iterator[str]:
    for name in visible(place)[0]:
        within = (place / name).relative_to(folder).as_posix()
        yield from (f"{within}/{file}" for file in visible(place / name)[1])


def encode(image: NDArray[np.uint8], ending: str = ENDINGS["jpeg"]) -> bytes:
    """An image, uint8 (H, W, 3), as a file: JPEG of quality 85 as ImageNet-C's are, or PNG.

    Equal images give equal bytes with the same version of Pillow and libjpeg.

    Args:
        image: its pixels.
        ending: one of `ENDINGS`, which tells the format.
    """
    file = BytesIO()
    if ending == ENDINGS["png"]:
        Image.fromarray(image).save(file, "PNG")
    else:
        Image.fromarray(image).save(file, "JPEG", quality=JPEG_QUALITY)
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
    """

    def load(self) -> Any:
        """Look what shifts there are; sets are listed and opened when they are asked for."""
        return ImageFolders(self._filepath, read_class_list(self._filepath / CLASSES))

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
        return "/".join(name.split("/")[:2])


def _write_made(make: Callable[[], Iterable[Named]], folder: Path) -> None:
    write_images(folder, make())


def _write_classes(images: Path, path: Path) -> None:
    path.write_text("".join(f"{name}\n" for name in list_classes(images)), encoding="utf-8")


def _encode(name: str, image: NDArray[np.uint8]) -> bytes:
    path = PurePosixPath(name)
    if len(path.parts) != 2 or any(part.startswith(".") for part in path.parts):
        raise InputError(f"an image's name must be <class>/<file>, not {name!r}")
    if path.suffix not in ENDINGS.values():
        raise InputError(f"{name!r} must end in {' or '.join(ENDINGS.values())}")
    return encode(image, path.suffix)
