"""Which images of a data set train, validate and test."""

import hashlib
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from superstar.errors import InputError
from superstar.images import ImageSet, stream


def hold_out(
    images: ImageSet,
    held: int,
    kept: int | None,
    seed: int,
    apart_from: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split a set by class: the images held out, and those kept.

    Images that occur twice (CIFAR-100 has 14 pairs, some of two classes) are not held out, so that
    none is trained on and judged on; nor are those that equal a test image.

    The same share of every class is held out, up to one image or two. The images
    held out come in pairs of one class, so that every second one makes a half in which all classes
    are as frequent as in the other; and classes take turns, so that the first ones stand for all.

    Args:
        images: the set, of N images.
        held: images to hold out.
        kept: images to keep; None keeps the rest.
        seed: of the draw.
        apart_from: which images are not held out either, bool (N,); None excludes none.

    Returns:
        Indices into the set, int64 (held,) and (kept,), that have none in common.

    Raises:
        InputError: more images than there are.
    """
    once = np.flatnonzero(~_occurring_twice(images))
    rest = len(images) - held
    if (rest if kept is None else kept) > rest or rest < 1:
        wanted = "some to train on" if kept is None else f"{kept} to train on"
        raise InputError(
            f"data_preparation asks for {held} images to hold out and {wanted}, but there are "
            f"{len(images)}"
        )
    out = _draw(images, once, held, seed)
    # Drawn anew only where it must be, for the draw depends on how many images there are.
    if apart_from is not None and apart_from[out].any():
        out = _draw(images, once[~apart_from[once]], held, seed)
    others = np.setdiff1d(np.arange(len(images)), out)
    order = others[_in_turns(images.labels[others], 1, seed)]
    return out, order[:kept]


def split_by_class(labels: NDArray[np.int64], classes: int, seed: int) -> NDArray[np.bool_]:
    """Which images are of so many classes, drawn among those that occur: bool (N,).

    Args:
        labels: of all images, int64 (N,).
        classes: to draw.
        seed: of the draw.

    Raises:
        InputError: not fewer classes than there are.
    """
    there = np.unique(labels)
    if classes >= len(there):
        raise InputError(
            f"data_preparation.design_classes = {classes} leaves none of the {len(there)} classes "
            "for testing"
        )
    drawn = stream(seed, "design classes").permutation(there)[:classes]
    return np.isin(labels, drawn)


def draw_by_class(
    labels: NDArray[np.int64], count: int | None, seed: int, asked: str
) -> NDArray[np.int64]:
    """Indices of so many images of a set, of each class as large a share; in the set's order.

    Args:
        labels: of all images, int64 (N,).
        count: of images; None takes all.
        seed: of the draw.
        asked: the parameter that asks for them.

    Raises:
        InputError: more images than there are.
    """
    if count is None:
        return np.arange(len(labels))
    if count > len(labels):
        raise InputError(f"{asked} asks for {count} images, but there are {len(labels)}")
    return np.sort(_in_turns(labels, 1, seed)[:count])


def _draw(images: ImageSet, fit: NDArray[np.int64], held: int, seed: int) -> NDArray[np.int64]:
    """So many of the images that are fit to be held out."""
    if held > len(fit):
        raise InputError(
            f"data_preparation.validation = {held}, but only {len(fit)} of the {len(images)} "
            "training images occur once, and not among the test images"
        )
    return fit[_in_turns(images.labels[fit], 2, seed)][:held]


def occurring_in(images: ImageSet, others: ImageSet) -> NDArray[np.bool_]:
    """Which images equal, pixel for pixel, one of another set, bool (N,)."""
    known = set(_digests(others))
    return np.array([digest in known for digest in _digests(images)])


def _occurring_twice(images: ImageSet) -> NDArray[np.bool_]:
    """Which images are equal to another one, bool (N,)."""
    digests = _digests(images)
    counts = Counter(digests)
    return np.array([counts[digest] > 1 for digest in digests])


def _digests(images: ImageSet) -> list[bytes]:
    return [hashlib.blake2b(image, digest_size=16).digest() for image in images.images]


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
