"""Sets of labelled images: one file or a folder of lazily loaded parts; what shifted sets share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from kedro_datasets.partitions import PartitionedDataset as _PartitionedDataset
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from superstar.datasets.whole import FileDataset, Whole, require_file
from superstar.errors import InputError
from superstar.images import Images, ImageSet
from superstar.integers import whole

SEVERITIES = (1, 2, 3, 4, 5)


class ShiftedSets(Protocol):
    """Shifted test sets and the clean one, opened when they are asked for."""

    def load(self, shift: str, severity: int | None = None) -> Images:
        """The images of one shift at one severity, which `none` lacks."""
        ...


class ImageSetDataset(FileDataset):
    """Labelled 8-bit images in one safetensors file (`images`, `labels`)."""

    def _write(self, data: ImageSet) -> None:
        arrays = {"images": data.images, "labels": data.labels}
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        # Not by the library's save_file, which leaves a file that its owner alone can read.
        self._filepath.write_bytes(save(contiguous))

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


def check_severity(shift: str, severity: int | None) -> int | None:
    """Refuse a severity that the shift cannot have; any kind of integer comes back as `int`.

    Raises:
        InputError: no whole number from 1 to 5, or None, which `none` alone has.
    """
    if shift == "none":
        if severity is not None:
            raise InputError(f"none has no severity: leave {severity!r} out")
        return None
    return whole(severity, f"severity of {shift}", SEVERITIES[0], SEVERITIES[-1])


def absent_shift(folder: Path, shift: str, there: Sequence[str]) -> InputError:
    """An error for a shift that a folder of shifted sets lacks; it names those that are there."""
    hint = ""
    if shift == "none":
        hint = " (the benchmark itself lacks it: make it from the clean images)"
    return InputError(f"{folder} does not hold {shift}{hint}; there are: {', '.join(there)}")
