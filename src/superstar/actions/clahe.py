"""Contrast-limited adaptive histogram equalisation (K. Zuiderveld, 1994; paper, appendix E)."""

import cv2
import numpy as np
from torch import Tensor

from superstar.images import check_images, from_uint8, to_uint8


def clahe(images: Tensor, grid: int, clip_limit: float) -> Tensor:
    """Equalise the lightness of each image, tile by tile.

    Images are rounded to 8 bits, and equalised on the L channel of 8-bit Lab.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        grid: tiles along each side. (The paper's "tile size" is a count in the release.)
        clip_limit: highest bar of a tile's histogram, in units of its mean.

    Returns:
        The same shape, values k/255.

    Raises:
        InputError: not a batch of images.
    """
    check_images(images)
    levels = to_uint8(images)
    count, height, width, _ = levels.shape
    # Colour conversion looks at single pixels: the whole batch passes as one tall image.
    lab = cv2.cvtColor(levels.reshape(count * height, width, 3), cv2.COLOR_RGB2LAB)
    lightness = np.ascontiguousarray(lab[:, :, 0]).reshape(count, height, width)
    equaliser = cv2.createCLAHE(clipLimit=clip_limit, tileGridSize=(grid, grid))
    for plane in lightness:
        plane[:] = equaliser.apply(plane)
    lab[:, :, 0] = lightness.reshape(count * height, width)
    rgb = np.asarray(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), dtype=np.uint8)
    return from_uint8(rgb.reshape(levels.shape)).to(images.device)
