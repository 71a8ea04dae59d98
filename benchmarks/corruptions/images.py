"""The images that both corrupt."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.images import photo_windows
from superstar.errors import InputError

PHOTOS = "photos"
"""Stands for the embedded photographs instead of a folder."""
SIDE, CROP = 256, 224
_SUFFIXES = {".jpeg", ".jpg"}


def load_images(source: str, count: int) -> NDArray[np.uint8]:
    """Images of 224 x 224 pixels, uint8 (N, 224, 224, 3).

    Args:
        source: a folder with JPEG files anywhere in it, or "photos" for windows of the embedded
            photographs.
        count: images at most; those of a folder are spread evenly over its files, by name.

    Raises:
        InputError: no such folder, no JPEG file in it, or a file that is not an image.
    """
    if source == PHOTOS:
        return photo_windows(count, CROP, "corruptions")
    folder = Path(source)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: name one with JPEG files, or {PHOTOS!r}")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES)
    if not files:
        raise InputError(f"{folder} holds no JPEG file")
    chosen = np.linspace(0, len(files), min(count, len(files)), endpoint=False).astype(int)
    return np.stack([_load(files[i]) for i in chosen])


def _load(file: Path) -> NDArray[np.uint8]:
    """Shorter side to 256 (bilinear, with antialiasing), then the central 224 x 224."""
    try:
        with Image.open(file) as opened:
            image = opened.convert("RGB")
    except OSError as error:
        raise InputError(f"{file} is not an image ({error})") from None
    scale = SIDE / min(image.size)
    width, height = (round(side * scale) for side in image.size)
    resized = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - CROP) // 2, (height - CROP) // 2
    return np.asarray(resized.crop((left, top, left + CROP, top + CROP)))
