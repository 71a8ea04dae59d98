"""What worker processes do for the peers that know one thread only."""

import warnings
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

import cv2
import numpy as np
import pywt
from numpy.typing import NDArray
from skimage.filters.rank import entropy
from skimage.morphology import disk
from skimage.restoration import denoise_wavelet, estimate_sigma
from skimage.util import img_as_ubyte


@dataclass(frozen=True)
class Part:
    """Images `start` to `stop` of a file, and where their results go."""

    images: Path
    results: Path
    start: int
    stop: int

    def read(self) -> NDArray[np.float32]:
        """The images, float32 (n, H, W, 3); nothing of the file stays mapped."""
        return np.array(np.load(self.images, mmap_mode="r")[self.start : self.stop])

    def write(self, results: NDArray[np.float32]) -> None:
        """Put the results in their place."""
        np.load(self.results, mmap_mode="r+")[self.start : self.stop] = results


def set_up(ready: Barrier) -> None:
    """One thread for each worker, and no warnings of scikit-image about rounding."""
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")
    ready.wait()


def state(part: Part) -> None:
    """Brightness, standard deviation and entropy, as the paper's authors compute them."""
    rows = []
    for image in part.read():
        gray = cv2.cvtColor((image * 255).astype(np.uint8), cv2.COLOR_BGR2GRAY) / 255
        low, (_, _, high) = pywt.dwt2(gray, "bior1.3")
        rows.append((low.mean(), low.std(), entropy(img_as_ubyte(high), disk(10)).mean()))
    part.write(np.array(rows, dtype=np.float32))


def wavelet_bayes(part: Part) -> None:
    """BayesShrink of scikit-image."""
    part.write(np.stack([_denoise(image, "BayesShrink", None) for image in part.read()]))


def wavelet_visu(part: Part) -> None:
    """VisuShrink of scikit-image with half of the estimated noise."""
    denoised = []
    for image in part.read():
        sigma = estimate_sigma(image, channel_axis=2, average_sigmas=True) / 2
        denoised.append(_denoise(image, "VisuShrink", sigma))
    part.write(np.stack(denoised))


def _denoise(image: NDArray[np.float32], method: str, sigma: float | None) -> NDArray[np.float32]:
    return denoise_wavelet(
        image,
        sigma=sigma,
        method=method,
        mode="soft",
        convert2ycbcr=True,
        rescale_sigma=True,
        channel_axis=2,
    )
