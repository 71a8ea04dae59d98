"""CIFAR-100-C's layout: one array a shift.

Hendrycks and Dietterich, "Benchmarking neural network robustness to common corruptions and
perturbations", ICLR 2019: `<shift>.npy` is uint8 (5 N, H, W, 3), the N images at severity 1 first;
`labels.npy` holds their 5 N labels. The benchmark's arrays have N = 10,000 and 32x32 pixels. The
clean images, which it lacks, are `none.npy`, with N images.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superstar.datasets.external import ExternalFolder
from superstar.datasets.image_sets import SEVERITIES, absent_shift, check_severity
from superstar.datasets.whole import Piece, PiecesDataset, require_file
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.images import ImageSet

LABELS = "labels.npy"


class CorruptionArrays:
    """Shifted test sets in CIFAR-100-C's layout, memory-mapped.

    Args:
        folder: where the arrays lie.

    Raises:
        InputError: no such folder, no arrays in it, or labels that are missing, damaged, or not
            integers (N,).
    """

    def __init__(self, folder: Path):
        self.folder = folder
        if not folder.is_dir():
            raise InputError(f"folder {folder} does not exist")
        self.shifts: tuple[str, ...] = tuple(
            sorted(
                path.stem
                for path in folder.glob("*.npy")
                if path.name != LABELS and not path.name.startswith(".")
            )
        )
        if not self.shifts:
            raise InputError(f"{folder} holds no <shift>.npy arrays")
        self._labels = _map(folder / LABELS)
        if self._labels.ndim != 1 or self._labels.dtype.kind not in "iu":
            raise InputError(
                f"{folder / LABELS} must hold integers (N,), "
                f"not {self._labels.dtype} {self._labels.shape}"
            )

    def load(self, shift: str, severity: int | None = None) -> ImageSet:
        """The images of one shift at one severity, which `none` lacks; mapped, not read.

        Raises:
            InputError: no such shift or severity; an array that is damaged, not uint8
                (5 N, H, W, 3), or that does not match the labels.
        """
        severity = check_severity(shift, severity)
        if shift not in self.shifts:
            raise absent_shift(self.folder, shift, self.shifts)
        path = self.folder / f"{shift}.npy"
        images = _map(path)
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3:
            raise InputError(
                f"{path} must hold uint8 (N, H, W, 3), not {images.dtype} {images.shape}"
            )
        blocks = 1 if severity is None else len(SEVERITIES)
        count, rest = divmod(len(images), blocks)
        if rest:
            raise InputError(
                f"{path} holds {len(images)} images, "
                f"which are not {blocks} severities of equal size"
            )
        start = 0 if severity is None else (severity - 1) * count
        return ImageSet(images[start : start + count], self._labels_of(path, count))

    def _labels_of(self, path: Path, count: int) -> NDArray[np.int64]:
        """The labels of one severity: one for each image, or for each image at each severity."""
        given = np.asarray(self._labels, np.int64)
        if len(given) == count:
            return given
        if len(given) != len(SEVERITIES) * count:
            raise InputError(
                f"{path} holds {count} images a severity, which do not match the {len(given)} "
                f"labels of {self.folder / LABELS}"
            )
        blocks = given.reshape(len(SEVERITIES), count)
        if (blocks != blocks[0]).any():
            raise InputError(f"{self.folder / LABELS} differs from severity to severity")
        return blocks[0]


class ExternalArraysDataset(ExternalFolder):
    """Shifted sets in CIFAR-100-C's layout, to be taken as they are: that benchmark, say.

    Args:
        folder: it holds `<shift>.npy` and `labels.npy`; None if there are no such sets.
        metadata: for Kedro's plugins.
    """

    def load(self) -> CorruptionArrays | None:
        """Open the folder, if there is one; arrays are mapped when a set is asked for."""
        return None if self._folder is None else CorruptionArrays(self._folder)

    def check(self) -> None:
        """Refuse a folder without such sets, or with damaged ones.

        Raises:
            InputError: as `CorruptionArrays`.
        """
        if self._folder is None:
            return
        try:
            sets = CorruptionArrays(self._folder)
            for shift in sets.shifts:
                sets.load(shift, None if shift == "none" else SEVERITIES[0])
        except InputError as error:
            raise InputError(
                f"{error}; see globals.external_sets in conf/<environment>/globals.yml"
            ) from error

    def identity(self, digests: Digests) -> str:
        """A digest of the arrays."""
        if self._folder is None:
            return "none"
        return digests.of_files(self._folder, sorted(p.name for p in self._folder.glob("*.npy")))


class CorruptionArraysDataset(PiecesDataset):
    """A folder of shifted sets in CIFAR-100-C's layout.

    Saving takes a mapping from the shift's name to a function that makes its sets, one for each
    severity (one alone for `none`); of an iterator, one set at a time is in memory. Shifts that an
    interrupted save of the same run finished are kept.
    """

    def load(self) -> CorruptionArrays:
        """Open the folder; arrays are mapped when a set is asked for."""
        return CorruptionArrays(self._filepath)

    def _pieces(self, data: Mapping[str, Callable[[], Iterable[ImageSet]]]) -> Iterator[Piece]:
        for shift, make_sets in data.items():
            blocks = 1 if shift == "none" else len(SEVERITIES)
            yield f"{shift}.npy", partial(self._write_shift, shift, make_sets, blocks)

    def _write_shift(
        self, shift: str, make_sets: Callable[[], Iterable[ImageSet]], blocks: int, path: Path
    ) -> None:
        made = 0
        with path.open("wb") as file:
            for made, part in enumerate(make_sets(), start=1):
                if made == 1:
                    shape, labels = part.images.shape, part.labels
                    self._write_labels(labels)
                    header = {
                        "descr": np.lib.format.dtype_to_descr(np.dtype(np.uint8)),
                        "fortran_order": False,
                        "shape": (blocks * shape[0], *shape[1:]),
                    }
                    np.lib.format.write_array_header_1_0(file, header)
                if part.images.dtype != np.uint8 or part.images.shape != shape:
                    raise InputError(
                        f"severity {made} of {shift} is {part.images.dtype} {part.images.shape}, "
                        f"not uint8 {shape}"
                    )
                if not np.array_equal(part.labels, labels):
                    raise InputError(f"severity {made} of {shift} has other labels")
                file.write(np.ascontiguousarray(part.images).data)
        if made != blocks:
            raise InputError(f"{shift} has {made} sets, but {blocks} belong there")

    def _write_labels(self, labels: NDArray[np.int64]) -> None:
        """Write the labels before the first array appears, so that it never stands without them."""
        every, path = np.tile(labels, len(SEVERITIES)), self._filepath / LABELS
        if not path.exists():
            beside = path.with_name(f".part-{path.name}")
            np.save(beside, every)
            beside.rename(path)
        elif not np.array_equal(np.load(path), every):
            raise InputError("the shifts of one benchmark must have the same labels")


def _map(path: Path) -> np.ndarray:
    require_file(path, "array")
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # what a damaged header raises, tokenizer's errors too, varies
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{path} is not a whole array ({reason})") from error
