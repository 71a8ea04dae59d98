"""Sets of labelled images: one file, a folder of lazily loaded parts, or CIFAR-100-C arrays."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from kedro_datasets.partitions import PartitionedDataset as _PartitionedDataset
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from superstar.datasets.whole import FileDataset, Whole, require_file
from superstar.errors import InputError
from superstar.images import ImageSet

SEVERITIES = (1, 2, 3, 4, 5)


class ImageSetDataset(FileDataset):
    """Labelled 8-bit images in one safetensors file (`images`, `labels`)."""

    def _write(self, data: ImageSet) -> None:
        arrays = {"images": data.images, "labels": data.labels}
        save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, self._filepath)

    def load(self) -> ImageSet:
        """Read the set.

        Raises:
            InputError: the file is missing, truncated, or not such a set.
        """
        require_file(self._filepath, "image set")
        try:
            arrays = load_file(self._filepath)
            return ImageSet(arrays["images"], arrays["labels"])
        except (SafetensorError, KeyError) as error:
            raise InputError(f"{self._filepath} is not a whole image set ({error})") from error


class PartitionedImageSets(Whole, _PartitionedDataset):
    """A folder of image sets, each loaded only when its part is called for.

    Saving takes a mapping from the part's name (`uniform_noise/3`) to a set or to a function
    that makes it; the folder appears when all parts are written.
    """

    def __init__(self, *, path: str, metadata: dict[str, Any] | None = None):
        super().__init__(
            path=path,
            dataset={"type": ImageSetDataset},
            filename_suffix=".safetensors",
            metadata=metadata,
        )


class CorruptionArrays:
    """Shifted test sets in CIFAR-100-C's layout, memory-mapped.

    `<shift>.npy` is uint8 (5 N, H, W, 3), severity 1 first; `labels.npy` holds the N labels
    (or the 5 N of the published files). `none.npy` is the clean set, with one block.

    Args:
        folder: where the arrays lie.

    Raises:
        InputError: the labels or arrays are missing or of the wrong length.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        names = sorted(path.stem for path in folder.glob("*.npy") if path.stem != "labels")
        if not names:
            raise InputError(f"{folder} holds no <shift>.npy arrays")
        self.shifts: tuple[str, ...] = tuple(names)
        self._labels = _load_array(folder / "labels.npy")

    def load(self, shift: str, severity: int | None) -> ImageSet:
        """The images of one shift at one severity (None for `none`).

        Raises:
            InputError: no such shift, or an array of the wrong length.
        """
        images = _load_array(self.folder / f"{shift}.npy")
        blocks = 1 if severity is None else len(SEVERITIES)
        count = len(images) // blocks
        if len(images) != count * blocks or len(self._labels) < count:
            raise InputError(
                f"{self.folder / f'{shift}.npy'} holds {len(images)} images: "
                f"{blocks} x {len(self._labels)} were expected"
            )
        start = 0 if severity is None else (severity - 1) * count
        return ImageSet(images[start : start + count], np.asarray(self._labels[:count], np.int64))


class CorruptionArraysDataset(FileDataset):
    """A folder of shifted sets in CIFAR-100-C's layout.

    Saving takes a mapping from the shift's name to a function that makes its sets, one for each
    severity (one alone for `none`); only one shift is in memory at a time.
    """

    def _write(self, data: Mapping[str, Callable[[], list[ImageSet]]]) -> None:
        self._filepath.mkdir(parents=True)
        for shift, make_sets in data.items():
            sets = make_sets()
            np.save(self._filepath / f"{shift}.npy", np.concatenate([s.images for s in sets]))
            np.save(self._filepath / "labels.npy", sets[0].labels)

    def load(self) -> CorruptionArrays:
        """Open the folder; arrays are mapped when a set is asked for."""
        return CorruptionArrays(self._filepath)


def _load_array(path: Path) -> np.ndarray:
    require_file(path, "array")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path} is not a whole array ({error})") from error
