"""Shifted test sets, made one shift at a time as they are written."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from superstar.datasets import SEVERITIES, CorruptionArrays
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import BenchmarkGeneration
from superstar.pipelines.shifting import describe_shifts, shift_set


def generate_benchmark(
    test: ImageSet,
    published: CorruptionArrays | None,
    parameters: dict[str, Any],
    scale: str,
    seed: int,
) -> dict[str, Callable[[], Iterable[ImageSet]]]:
    """Every shift at five severities, and `none`, the clean set itself.

    Shifts that were published are taken as they are; the others are made.

    Raises:
        InputError: published sets of other images than the test set.
    """
    given = BenchmarkGeneration.model_validate(parameters)
    sets: dict[str, Callable[[], Iterable[ImageSet]]] = {"none": lambda: [test]}
    for shift in given.shifts:
        if published is not None and shift in published.shifts:
            _check_labels(published, shift, test)
            sets[shift] = partial(_published, published, shift)
        else:
            sets[shift] = partial(_made, test, shift, scale, seed)
    return sets


def describe_benchmark(
    published: CorruptionArrays | None, parameters: dict[str, Any], scale: str, seed: int
) -> dict[str, Any]:
    """What the shifted sets were made with, and which were published."""
    shifts = BenchmarkGeneration.model_validate(parameters).shifts
    there = () if published is None else published.shifts
    made = describe_shifts([s for s in shifts if s not in there], SEVERITIES, scale, seed)
    return made | {"shifts": list(shifts), "published": [s for s in shifts if s in there]}


def _made(test: ImageSet, shift: str, scale: str, seed: int) -> Iterator[ImageSet]:
    return (shift_set(test, shift, severity, scale, seed) for severity in SEVERITIES)


def _published(sets: CorruptionArrays, shift: str) -> Iterator[ImageSet]:
    return (sets.load(shift, severity) for severity in SEVERITIES)


def _check_labels(published: CorruptionArrays, shift: str, test: ImageSet) -> None:
    own, theirs = test.labels, published.load(shift, SEVERITIES[0])
    if not np.array_equal(own, theirs.labels):
        raise InputError(
            f"{shift} in {published.folder} has {len(theirs)} images, whose labels are not those "
            f"of the {len(own)} clean test images: published sets need the whole test set, in its "
            "own order"
        )
    if theirs.images.shape[1:] != test.images.shape[1:]:
        raise InputError(
            f"{shift} in {published.folder} has images of {theirs.images.shape[1:3]} pixels, the "
            f"clean test images have {test.images.shape[1:3]}"
        )
