"""The peers: what one would take from other packages for the same task.

They get images in the layout they like best, and all cores: their own threads, or, where they know
one thread only, a process for each core.
"""

import os
from collections.abc import Callable
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self
from unittest.mock import patch

import cv2
import numpy as np
import ot
import torch
from numpy.typing import NDArray
from pytorch_msssim import ssim
from torch import Tensor

from benchmarks import workers
from benchmarks.measure import Prepare
from benchmarks.workers import Part
from superstar.actions import DnCNN

MEMORY = Path("/dev/shm")
PARTS_A_WORKER = 8
START = 300.0
"""Seconds that the processes have to start."""
SSIM_CHUNK = 50
THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """A process of one thread for each core; images go to them and back through files in memory.

    Use as a context; then `share` images before anything runs.
    """

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self._images = Path(self._folder.name) / "images.npy"
        self._results = Path(self._folder.name) / "results.npy"
        # Forking after OpenMP has run kills the child, so workers start afresh and read these.
        context = get_context("spawn")
        ready = context.Barrier(cores + 1)
        with patch.dict(os.environ, dict.fromkeys(THREAD_COUNTS, "1")):
            self._pool = context.Pool(cores, workers.set_up, (ready,))
        ready.wait(START)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.terminate()
        self._pool.join()
        self._folder.cleanup()

    def share(self, images: NDArray[np.float32]) -> None:
        """Take these images, float32 (N, H, W, 3), for the tasks to come."""
        np.save(self._images, images)

    def prepare(self, task: Callable[[Part], None], result_shape: tuple[int, ...]) -> Prepare:
        """A task on the first images that gives float32 (N, *result_shape)."""

        def prepare(count: int) -> Callable[[], NDArray[np.float32]]:
            # Written whole, so that its pages exist: making them is no part of the task.
            np.save(self._results, np.zeros((count, *result_shape), dtype=np.float32))
            bounds = np.linspace(0, count, min(count, PARTS_A_WORKER * cores) + 1).astype(int)
            parts = [Part(self._images, self._results, *ends) for ends in pairwise(bounds.tolist())]

            def run() -> NDArray[np.float32]:
                self._pool.map(task, parts, chunksize=1)
                return np.load(self._results)

            return run

        return prepare


def bilateral(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """OpenCV's filter, image by image, the sigma of colour being the image's deviation."""
    filtered = np.empty_like(images)
    for image, result in zip(images, filtered, strict=True):
        cv2.bilateralFilter(image, 5, float(image.std()), 1.0, dst=result)
    return filtered


def clahe(images: NDArray[np.float32], grid: int, clip_limit: float) -> NDArray[np.float32]:
    """OpenCV's equalisation of L in 8-bit Lab, image by image."""
    equaliser = cv2.createCLAHE(clipLimit=clip_limit, tileGridSize=(grid, grid))
    equalised = np.empty_like(images)
    for image, result in zip(images, equalised, strict=True):
        lab = cv2.cvtColor(np.rint(image * 255).astype(np.uint8), cv2.COLOR_RGB2LAB)
        lab[:, :, 0] = equaliser.apply(lab[:, :, 0])
        np.divide(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), np.float32(255), out=result)
    return equalised


def published_dncnn() -> DnCNN:
    """The shape of the paper's denoiser, for one channel, batch norm folded in."""
    return DnCNN(depth=20, width=64, unshuffle=1, channels=1).fuse()


def denoise(model: DnCNN, images: Tensor) -> Tensor:
    """Each channel through the network on its own, in float32."""
    with torch.inference_mode():
        return model(images.flatten(0, 1)[:, None]).view_as(images)


def exact_distance(a: Tensor, b: Tensor) -> float:
    """POT's distances between points and exact transport, in double precision."""
    costs = ot.dist(a.double().numpy(), b.double().numpy(), metric="euclidean")
    return ot.emd2([], [], costs, numItermax=10**8)


def sliced_distance(
    a: NDArray[np.float32], b: NDArray[np.float32], directions: NDArray[np.float32]
) -> float:
    """POT's sliced distance along given directions (m, L)."""
    return ot.sliced_wasserstein_distance(a, b, p=1, projections=directions)


def mean_ssim(a: Tensor, b: Tensor) -> float:
    """pytorch-msssim in chunks, as the paper's authors call it."""
    with torch.inference_mode():
        total = sum(
            len(first) * float(ssim(first, second, data_range=255.0, win_size=11))
            for first, second in zip(a.split(SSIM_CHUNK), b.split(SSIM_CHUNK), strict=True)
        )
    return total / len(a)
