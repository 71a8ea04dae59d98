"""The peer, imagecorruptions-imaug, in a process of one thread for each core."""

import os
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import START, THREAD_COUNTS, cores
from superstar.errors import InputError

MODULE, PACKAGE = "imagecorruptions", "imagecorruptions-imaug"
_SEEDED = ("impulse_noise", "glass_blur")
"""Corruptions that draw from a seed of their own instead of numpy's global state."""


def require_peer() -> None:
    """Raise InputError if the peer is not installed."""
    if find_spec(MODULE) is None:
        raise InputError(f"{MODULE} is not installed: pip install --no-deps {PACKAGE}")


class Peer:
    """Processes that hold the images and corrupt them by the peer's functions. Use as a context."""

    def __init__(self, images: NDArray[np.uint8]):
        require_peer()
        self._images = images

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / "images.npy"
        np.save(file, self._images)
        # Forking after OpenMP has run kills the child, so workers start afresh and read these.
        context = get_context("spawn")
        ready = context.Barrier(cores + 1)
        with patch.dict(os.environ, dict.fromkeys(THREAD_COUNTS, "1")):
            self._pool = context.Pool(cores, _set_up, (file, ready))
        ready.wait(START)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.terminate()
        self._pool.join()
        self._folder.cleanup()

    def corrupt(
        self, name: str, severity: int, draw: int, chosen: Sequence[int]
    ) -> NDArray[np.uint8]:
        """These images corrupted, uint8 (N, H, W, 3); equal draws give equal results.

        An image may be chosen several times, and is drawn anew for each.
        """
        jobs = [
            (name, severity, i, (draw, severity, place), draw * len(chosen) + place)
            for place, i in enumerate(chosen)
        ]
        return np.stack(self._pool.starmap(_corrupt, jobs))

    def work(self, name: str, severity: int, count: int) -> Callable[[], object]:
        """A call that corrupts the first images and leaves the results where they are."""
        bounds = np.linspace(0, count, cores + 1).astype(int).tolist()
        jobs = [(name, severity, *ends) for ends in pairwise(bounds)]
        return lambda: self._pool.starmap(_corrupt_range, jobs, chunksize=1)


_images: NDArray[np.uint8]
"""What a worker holds."""


def _set_up(file: Path, ready: Barrier) -> None:
    global _images
    _images = np.load(file)
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")
    ready.wait()


def _corrupt(
    name: str, severity: int, i: int, seed: tuple[int, ...], own_seed: int
) -> NDArray[np.uint8]:
    # Only the workers need the peer.
    from imagecorruptions import corrupt

    np.random.seed(seed)  # noqa: NPY002
    given = {"seed": own_seed} if name in _SEEDED else {}
    return corrupt(_images[i], corruption_name=name, severity=severity, **given)


def _corrupt_range(name: str, severity: int, start: int, stop: int) -> None:
    for i in range(start, stop):
        _corrupt(name, severity, i, (0, severity, i), i)
