"""Digital losses of ImageNet-C and CIFAR-C (Hendrycks & Dietterich, 2019, section 4.1).

Every function takes images, float32 (N, 3, H, W) in [0, 1], rounds them to 8 bits, and returns
float32 of the same shape.
"""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

Image8 = NDArray[np.uint8]


def jpeg_compression(images: NDArray[np.float32], quality: float) -> NDArray[np.float32]:
    """Write and read as JPEG of `quality` with 4:2:0 chroma, as Pillow does by default.

    OpenCV gives the same pixels as Pillow, small images in a third of the time.
    """
    options = [cv2.IMWRITE_JPEG_QUALITY, int(quality)]

    def rewrite(image: Image8) -> Image8:
        _, file = cv2.imencode(".jpg", image[..., ::-1], options)
        return np.asarray(cv2.imdecode(file, cv2.IMREAD_COLOR), dtype=np.uint8)[..., ::-1]

    return _each_in_8_bits(rewrite, images)


def pixelate(images: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Reduce both sides to `share` (rounded down) and enlarge again, with Pillow's box filter."""
    height, width = images.shape[2:]
    reduced = (int(width * share), int(height * share))

    def resize(image: Image8) -> Image8:
        small = Image.fromarray(image).resize(reduced, Image.Resampling.BOX)
        return np.asarray(small.resize((width, height), Image.Resampling.BOX))

    return _each_in_8_bits(resize, images)


def _each_in_8_bits(
    change: Callable[[Image8], Image8], images: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Apply a function of one RGB image, uint8 (H, W, 3), to every image."""
    # Numpy rather than torch: slices run in threads already, and torch would start its own in each.
    levels = np.rint(images * np.float32(255)).astype(np.uint8)
    out = np.empty_like(images)
    for planes, changed in zip(levels, out, strict=True):
        image = np.asarray(cv2.merge(list(planes)), dtype=np.uint8)
        np.divide(change(image).transpose(2, 0, 1), np.float32(255), out=changed)
    return out
