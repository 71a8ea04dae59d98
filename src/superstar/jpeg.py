"""What JPEG leaves of images; ImageNet-C comes so, in quality 85 (Hendrycks & Dietterich, 2019)."""

import cv2
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from superstar.images import from_uint8, to_uint8
from superstar.integers import whole


def recompressed(picture: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    """What JPEG leaves of a picture, uint8 (H, W, 3), blue first as OpenCV has it.

    The pixels are those of Pillow with its defaults, 4:2:0 chroma among them, small pictures in a
    third of the time.
    """
    _, file = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(file, cv2.IMREAD_COLOR), dtype=np.uint8)


def through_jpeg(images: Tensor, quality: int) -> Tensor:
    """Write and read images as JPEG with 4:2:0 chroma, as Pillow does by default.

    Noise is then no longer independent from pixel to pixel: two by two pixels share their chroma.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        quality: from 1 to 100, as Pillow and OpenCV count it.

    Returns:
        float32 (N, 3, H, W), multiples of 1/255 in [0, 1].

    Raises:
        InputError: a quality out of its range.
    """
    quality = whole(quality, "the quality of JPEG", 1, 100)
    pictures = to_uint8(images)
    for picture in pictures:
        picture[...] = recompressed(picture[:, :, ::-1], quality)[:, :, ::-1]
    return from_uint8(pictures)


def as_it_comes(images: Tensor, quality: int | None) -> Tensor:
    """Images as files hold them: in 8 bits, through JPEG unless the quality is None.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        quality: of JPEG, as of `through_jpeg`.
    """
    return from_uint8(to_uint8(images)) if quality is None else through_jpeg(images, quality)
