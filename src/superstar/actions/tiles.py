"""Pictures of any size as squares of one, so that crops of all of them are cut alike."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from superstar.errors import InputError


def tiles(
    pictures: Iterable[NDArray[np.uint8]], side: int, scales: Sequence[float] = (1.0,)
) -> NDArray[np.uint8]:
    """Squares that cover the pictures at several scales, as few as will do; neighbours overlap.

    Pictures made smaller (Lanczos) are sharper and show less of what JPEG once did to them.

    Args:
        pictures: uint8 (H, W, 3), of any sizes.
        side: of the squares, in pixels; a picture that is smaller at a scale is left out there.
        scales: shares of the pictures' sides, in (0, 1].

    Returns:
        uint8 (N, side, side, 3), picture by picture.

    Raises:
        InputError: a side below 1, a scale out of its range, or no picture large enough.
    """
    if side < 1 or not all(0 < scale <= 1 for scale in scales):
        raise InputError(
            f"tiles need a side of at least 1 and scales in (0, 1], not {side} and {list(scales)}"
        )
    cut = [
        scaled[top : top + side, left : left + side]
        for picture in pictures
        for scaled in (_scaled(picture, scale) for scale in scales)
        if min(scaled.shape[:2]) >= side
        for top in _starts(scaled.shape[0], side)
        for left in _starts(scaled.shape[1], side)
    ]
    if not cut:
        raise InputError(f"no picture has room for a tile of {side}x{side} pixels")
    return np.stack(cut)


def _scaled(picture: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    if scale == 1:
        return picture
    height, width = (round(scale * length) for length in picture.shape[:2])
    small = Image.fromarray(picture).resize(
        (max(1, width), max(1, height)), Image.Resampling.LANCZOS
    )
    return np.asarray(small)


def _starts(length: int, side: int) -> list[int]:
    count = -(-length // side)
    return np.linspace(0, length - side, count).round().astype(int).tolist()
