"""One set of images under one shift, as it rests on disk."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superstar import __version__
from superstar.corruptions.registry import corrupt, frost_of
from superstar.images import ImageSet, from_uint8, to_uint8
from superstar.jpeg import through_jpeg


def shift_set(
    clean: ImageSet,
    name: str,
    severity: int,
    scale: str,
    seed: int,
    strength: float | None = None,
    first_index: int = 0,
    jpeg_quality: int | None = None,
) -> ImageSet:
    """A set under a shift, rounded to 8 bits, or as JPEG of a quality leaves it.

    Other arguments are those of `corrupt`.
    """
    shifted = corrupt(clean.batch(), name, severity, scale, seed, first_index, strength)
    if jpeg_quality is not None:
        shifted = through_jpeg(shifted, jpeg_quality)
    return ImageSet(to_uint8(shifted), clean.labels)


def describe_shifts(
    shifts: Sequence[str], severities: Sequence[int], scale: str, seed: int
) -> dict[str, Any]:
    """What shifted sets were made with, frost's textures included, where there is frost."""
    return {
        "superstar": __version__,
        "shifts": list(shifts),
        "severities": list(severities),
        "scale": scale,
        "seed": seed,
        "frost": frost_of(shifts),
    }


def shift_files(
    read: Callable[[int], Iterable[NDArray[np.uint8]]],
    name: str,
    severity: int | None,
    names: Sequence[str],
    scale: str,
    seed: int,
    batch_size: int,
) -> Iterator[tuple[Sequence[str], NDArray[np.uint8]]]:
    """Images of a set under a shift (severity None: as it is) with their new names, by batches.

    The set is read by `read`, in batches of a size that has no bearing on the images. Other
    arguments are those of `corrupt`.
    """
    start = 0
    for images in read(batch_size):
        end = start + len(images)
        if severity is not None:
            shifted = corrupt(from_uint8(images), name, severity, scale, seed, first_index=start)
            images = to_uint8(shifted)
        yield names[start:end], images
        start = end
