"""The six surrogates that the system is designed on (DC4L, appendix "Surrogate Corruptions").

Every function takes images, float32 (N, 3, H, W) in [0, 1], and returns float32 of the same
shape; uniform noise is not yet clipped to [0, 1].
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.corruptions.noise import uniform

STRENGTH_LABELS: Mapping[str, str] = {
    "uniform_noise": "half-width of the noise (values in [0, 1])",
    "median_blur": "side of the window (pixels)",
    "gamma_increase": "gamma, in x^(1/gamma)",
    "gamma_decrease": "gamma, in x^(1/gamma)",
    "sigmoid_increase": "gain of the sigmoid",
    "sigmoid_decrease": "gain of the sigmoid",
}
"""What a surrogate's strength is, its one number, with the unit: a label of axes."""


def uniform_noise(
    images: NDArray[np.float32], generators: Sequence[np.random.Generator], half_width: float
) -> NDArray[np.float32]:
    """Add noise uniform in [-half_width, half_width), independent in every value."""
    out = uniform(images, generators)
    out *= 2
    out -= 1
    out *= half_width
    out += images
    return out


def gamma(images: NDArray[np.float32], gamma: float) -> NDArray[np.float32]:
    """x^(1/gamma): brighter for gamma > 1, darker for gamma < 1."""
    return np.power(images, np.float32(1 / gamma))


def sigmoid(images: NDArray[np.float32], gain: float) -> NDArray[np.float32]:
    """1 / (1 + exp(gain · (0.5 - x))), as `skimage.exposure.adjust_sigmoid` with cutoff 0.5."""
    # The logistic function through tanh, which cannot overflow.
    out = images - np.float32(0.5)
    out *= gain / 2
    np.tanh(out, out=out)
    out += 1
    out /= 2
    return out


def median_blur(images: NDArray[np.float32], size: float) -> NDArray[np.float32]:
    """Median over `size` × `size` pixels, each channel by itself.

    Equal to `scipy.ndimage.median_filter(size=size, mode="nearest")`: beyond the border stand
    copies of it, and of an even size the window reaches one pixel further up and left than down
    and right, and of the two middle values the greater one counts.
    """
    k = int(size)
    height, width = images.shape[2:]
    before, after = k // 2, k - 1 - k // 2
    border = (before, after)
    padded = np.pad(images, ((0, 0), (0, 0), border, border), mode="edge")
    out = np.empty_like(images)
    _median_planes(
        padded.reshape(-1, height + k - 1, width + k - 1), k, out.reshape(-1, height, width)
    )
    return out


@njit(cache=True, nogil=True)
def _order(low: NDArray[np.float32], high: NDArray[np.float32]) -> None:
    """Sort each pair (low[x], high[x]) in place."""
    for x in range(low.shape[0]):
        a, b = low[x], high[x]
        low[x] = a if a < b else b
        high[x] = b if a < b else a


@njit(cache=True, nogil=True)
def _median_planes(padded: NDArray[np.float32], k: int, out: NDArray[np.float32]) -> None:
    """Medians of k × k windows of `padded` (P, H + k - 1, W + k - 1) into `out` (P, H, W).

    Forgetful selection, on whole rows so that the comparisons vectorise: among half of the
    window's values plus two, neither the least nor the greatest can be the median, so both are
    dropped and one of the remaining values comes in, until three are left.
    """
    planes, height, width = out.shape
    # A value above all others makes the count odd and the upper of two middle values the median.
    sentinel = 1 - (k * k) % 2
    middle = (k * k) // 2
    kept = np.empty((middle + 2, width), np.float32)
    for p in range(planes):
        for y in range(height):
            if k == 1:
                out[p, y] = padded[p, y]
                continue
            if sentinel:
                kept[0] = np.inf
            taken = 0
            for row in range(sentinel, middle + 2):
                kept[row] = padded[p, y + taken // k, taken % k : taken % k + width]
                taken += 1
            for last in range(middle + 1, 1, -1):
                half = (last + 1) // 2
                for row in range(half):
                    _order(kept[row], kept[last - row])
                for row in range(1, last - half + 1):
                    _order(kept[0], kept[row])
                for row in range(half, last):
                    _order(kept[row], kept[last])
                if last > 2:
                    kept[0] = padded[p, y + taken // k, taken % k : taken % k + width]
                    taken += 1
            out[p, y] = kept[1]
