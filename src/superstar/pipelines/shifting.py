"""One set of images under one shift, as it rests on disk."""

from superstar.corruptions import corrupt
from superstar.images import ImageSet, to_uint8


def shift_set(
    clean: ImageSet,
    name: str,
    severity: int,
    scale: str,
    seed: int,
    strength: float | None = None,
    first_index: int = 0,
) -> ImageSet:
    """A set under a shift, rounded to 8 bits. Arguments are those of `corrupt`."""
    shifted = corrupt(clean.batch(), name, severity, scale, seed, first_index, strength)
    return ImageSet(to_uint8(shifted), clean.labels)
