"""Digital losses of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], rounds them to 8 bits, and puts the
result, multiples of 1/255, into `out` of the same type and shape.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from superstar.jpeg import recompressed


def jpeg_compression(images: NDArray[np.float32], quality: float, out: NDArray[np.float32]) -> None:
    """Write and read as JPEG of `quality` with 4:2:0 chroma, as Pillow does by default."""
    picture = np.empty((*images.shape[2:], 3), np.uint8)
    for image, changed in zip(images, out, strict=True):
        _to_picture(image.reshape(3, -1), picture.reshape(-1))
        again = recompressed(picture, int(quality))
        _from_picture(again.reshape(-1), changed.reshape(3, -1))


def pixelate(images: NDArray[np.float32], share: float, out: NDArray[np.float32]) -> None:
    """Reduce both sides to `share` (rounded down) and enlarge again, by a box filter.

    As Pillow does it, in 8 bits: rows first, each mean rounded. (Pillow 13 takes columns first if
    the image is about twice as tall as wide; the order matters by one level.)
    """
    height, width = images.shape[2:]
    rows, columns = _Box.of(height, int(height * share)), _Box.of(width, int(width * share))
    _reduce_and_enlarge(images, rows, columns, out)


class _Box(NamedTuple):
    """How a side is reduced and enlarged: pixel i is the mean of those from starts[i] to stops[i],
    of weights[i] / 2^22 each, and places[j] is the pixel under the centre of pixel j.
    """

    starts: NDArray[np.uint32]
    stops: NDArray[np.uint32]
    weights: NDArray[np.int32]
    places: NDArray[np.uint32]

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, side: int, reduced: int) -> "_Box":
        scale = side / reduced
        centres = (np.arange(reduced) + 0.5) * scale
        # Pillow's arithmetic, since rounding decides at the borders of a box.
        reach = 0.5 * scale
        first, last = ((centres + at + 0.5).astype(int)[:, None] for at in (-reach, reach))
        pixels = np.arange(side)
        apart = (pixels - centres[:, None] + 0.5) * (1 / scale)
        covered = (first <= pixels) & (pixels < last) & (apart > -0.5) & (apart <= 0.5)
        starts = covered.argmax(axis=1)
        counts = covered.sum(axis=1)
        weights = (2.0**22 / counts + 0.5).astype(np.int32)
        places = ((np.arange(side) + 0.5) * (reduced / side)).astype(np.uint32)
        return cls(starts.astype(np.uint32), (starts + counts).astype(np.uint32), weights, places)


@njit(cache=True, nogil=True)
def _to_picture(image: NDArray[np.float32], picture: NDArray[np.uint8]) -> None:
    """Round channels (3, P) to 8 bits, as pixels in the order blue, green, red, (3 P,)."""
    red, green, blue = image[0], image[1], image[2]
    most = np.float32(255)
    for i in range(len(red)):
        picture[3 * i] = np.uint8(np.rint(blue[i] * most))
        picture[3 * i + 1] = np.uint8(np.rint(green[i] * most))
        picture[3 * i + 2] = np.uint8(np.rint(red[i] * most))


@njit(cache=True, nogil=True, error_model="numpy")
def _from_picture(picture: NDArray[np.uint8], image: NDArray[np.float32]) -> None:
    """The way back."""
    red, green, blue = image[0], image[1], image[2]
    most = np.float32(255)
    for i in range(len(red)):
        blue[i] = np.float32(picture[3 * i]) / most
        green[i] = np.float32(picture[3 * i + 1]) / most
        red[i] = np.float32(picture[3 * i + 2]) / most


# The three channels of a pixel, or their sums over some thousands, in one 64-bit number.
_BITS = 21
_CHANNEL = 2**_BITS - 1


@njit(cache=True, nogil=True, error_model="numpy")
def _reduce_and_enlarge(
    images: NDArray[np.float32], rows: _Box, columns: _Box, out: NDArray[np.float32]
) -> None:
    """Pixelate images (N, 3, H, W) into `out` of that shape."""
    height, width = out.shape[2:]
    starts, stops, weights, places = columns
    reduced = len(weights)
    most, half = np.float32(255), np.int32(2**21)
    pixels, sums = np.empty(width, np.int64), np.empty(reduced, np.int64)
    lines = np.empty((3, height, reduced), np.int32)
    total, means = np.empty(reduced, np.int32), np.empty(reduced, np.float32)
    for n in range(len(images)):
        for y in range(height):
            red, green, blue = images[n, 0, y], images[n, 1, y], images[n, 2, y]
            for x in range(width):
                pixels[x] = (
                    np.int64(np.int32(np.rint(red[x] * most)))
                    | (np.int64(np.int32(np.rint(green[x] * most))) << _BITS)
                    | (np.int64(np.int32(np.rint(blue[x] * most))) << (2 * _BITS))
                )
            for i in range(reduced):
                covered = np.int64(0)
                for x in range(starts[i], stops[i]):
                    covered += pixels[x]
                sums[i] = covered
            for c in range(3):
                line = lines[c, y]
                for i in range(reduced):
                    channel = np.int32((sums[i] >> (_BITS * c)) & _CHANNEL)
                    line[i] = (channel * weights[i] + half) >> 22
        for c in range(3):
            y = 0
            for j in range(len(rows.weights)):
                total[:] = 0
                for k in range(rows.starts[j], rows.stops[j]):
                    line = lines[c, k]
                    for i in range(reduced):
                        total[i] += line[i]
                weight = rows.weights[j]
                for i in range(reduced):
                    means[i] = np.float32((total[i] * weight + half) >> 22) / most
                first = out[n, c, y]
                for x in range(width):
                    first[x] = means[places[x]]
                y += 1
                while y < height and rows.places[y] == j:
                    copy = out[n, c, y]
                    for x in range(width):
                        copy[x] = first[x]
                    y += 1
