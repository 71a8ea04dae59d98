"""Which images of a data set train, validate and test."""

import numpy as np
from numpy.typing import NDArray

from superstar.errors import InputError
from superstar.images import stream


def hold_out(
    labels: NDArray[np.int64], held: int, kept: int | None, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split a set by class: the images held out, and those kept.

    Of each class as large a share is held out as of the others, up to one image or two. The images
    held out come in pairs of one class, so that every second one makes a half in which all classes
    are as frequent as in the other; and classes take turns, so that the first ones stand for all.

    Args:
        labels: of all images, int64 (N,).
        held: images to hold out.
        kept: images to keep; None keeps the rest.
        seed: of the draw.

    Returns:
        Indices into the set, int64 (held,) and (kept,), that have none in common.

    Raises:
        InputError: more images than there are.
    """
    rest = len(labels) - held
    if (rest if kept is None else kept) > rest or rest < 1:
        wanted = "some to train on" if kept is None else f"{kept} to train on"
        raise InputError(
            f"data_preparation asks for {held} images to hold out and {wanted}, but there are "
            f"{len(labels)}"
        )
    order = _in_turns(labels, 2, seed)
    return order[:held], order[held : None if kept is None else held + kept]


def spread(labels: NDArray[np.int64], count: int | None, seed: int) -> NDArray[np.int64]:
    """Indices of so many images of a set, of each class as large a share; in the set's order.

    Args:
        labels: of all images, int64 (N,).
        count: of images; None takes all.
        seed: of the draw.

    Raises:
        InputError: more images than there are.
    """
    if count is None:
        return np.arange(len(labels))
    if count > len(labels):
        raise InputError(
            f"data_preparation.test asks for {count} images, but there are {len(labels)}"
        )
    return np.sort(_in_turns(labels, 1, seed)[:count])


def _in_turns(labels: NDArray[np.int64], together: int, seed: int) -> NDArray[np.int64]:
    """All images in an order of chance in which classes take turns, with so many at a time."""
    rng = stream(seed, "split by class")
    shuffled = rng.permutation(len(labels))
    turns = rng.permutation(int(labels.max()) + 1)
    places = np.empty(len(labels), np.int64)
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    places[by_class] = np.arange(len(labels)) - starts
    rounds = (places // together + 0.5) / -(-counts[labels] // together)
    return np.lexsort((places % together, turns[labels], rounds))
