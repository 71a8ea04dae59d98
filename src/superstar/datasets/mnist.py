"""MNIST as torchvision keeps it."""

import contextlib
import io
from collections.abc import Callable

import numpy as np

from superstar.datasets.external import ExternalFolder
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.images import ImageSet

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


class MnistDataset(ExternalFolder):
    """The training images of MNIST (read only): downloaded where they are not there yet.

    The four idx files lie in `<folder>/MNIST/raw`, where torchvision looks for them.

    Args:
        folder: torchvision's root.
        metadata: for Kedro's plugins.
    """

    def load(self) -> Callable[[], ImageSet]:
        """A function that reads the set, so that only who uses it has to have it."""
        return self._read

    def check(self) -> None:
        """Nothing: whether it is used at all, the node knows that reads it."""

    def identity(self, digests: Digests) -> str:
        """One name, downloaded or not."""
        return "mnist"

    def _read(self) -> ImageSet:
        """The set: uint8 (N, 28, 28, 3), three equal channels, and the digits.

        Raises:
            InputError: no files and no download, or files that are not MNIST's.
        """
        from torchvision.datasets import MNIST

        assert self._folder is not None
        raw = self._folder / "MNIST" / "raw"
        try:
            # torchvision tells of its tries on standard output.
            with contextlib.redirect_stdout(io.StringIO()):
                mnist = MNIST(self._folder, download=True)
            gray = mnist.data.numpy()[..., None]
            return ImageSet(np.broadcast_to(gray, (*gray.shape[:3], 3)), mnist.targets.numpy())
        except (AssertionError, IndexError, OSError, RuntimeError, TypeError, ValueError) as error:
            if all((raw / name).is_file() for name in FILES):
                raise InputError(
                    f"the files in {raw} are not MNIST's: remove them, or put whole ones there"
                ) from error
            raise InputError(
                f"MNIST could not be downloaded: put its four idx files ({', '.join(FILES)}) into "
                f"{raw}, or set projection_study.source to photos"
            ) from error
