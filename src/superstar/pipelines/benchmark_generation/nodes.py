"""Shifted test sets, made one shift at a time as they are written."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from superstar.corruptions.sets import describe_shifts, shift_files, shift_set
from superstar.datasets import (
    SEVERITIES,
    CorruptionArrays,
    FolderBenchmark,
    ImageFiles,
    ImageFolders,
    same_images,
)
from superstar.datasets.image_folders import output_names
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import BenchmarkGeneration


def generate_benchmark(
    test: ImageSet | ImageFiles,
    external: CorruptionArrays | ImageFolders | None,
    class_names: list[str],
    parameters: dict[str, Any],
    scale: str,
    seed: int,
) -> dict[str, Callable[[], Iterable[ImageSet]]] | FolderBenchmark:
    """Every shift at five severities, and `none`, the clean set itself.

    External shifts are taken as they are; all others are made. If the images are files, `none`
    goes through the same JPEG as the rest.

    Raises:
        InputError: external sets of other images than the test set.
    """
    given = BenchmarkGeneration.model_validate(parameters)
    if isinstance(test, ImageFiles):
        return _of_files(test, external, class_names, given, scale, seed)
    sets: dict[str, Callable[[], Iterable[ImageSet]]] = {"none": lambda: [test]}
    for shift in given.shifts:
        if isinstance(external, CorruptionArrays) and shift in external.shifts:
            _check_labels(external, shift, test)
            sets[shift] = partial(_external, external, shift)
        else:
            sets[shift] = partial(_made, test, shift, scale, seed)
    return sets


def describe_benchmark(
    external: CorruptionArrays | ImageFolders | None,
    parameters: dict[str, Any],
    scale: str,
    seed: int,
) -> dict[str, Any]:
    """What the shifted sets were made with, and which are those of others."""
    shifts = BenchmarkGeneration.model_validate(parameters).shifts
    there = () if external is None else external.shifts
    made = describe_shifts([s for s in shifts if s not in there], SEVERITIES, scale, seed)
    return made | {"shifts": list(shifts), "external": [s for s in shifts if s in there]}


def _of_files(
    test: ImageFiles,
    external: CorruptionArrays | ImageFolders | None,
    class_names: list[str],
    given: BenchmarkGeneration,
    scale: str,
    seed: int,
) -> FolderBenchmark:
    names = output_names(test.names, "jpeg")
    there = external.shifts if isinstance(external, ImageFolders) else ()
    taken = [shift for shift in given.shifts if shift in there]
    for shift in taken:
        assert isinstance(external, ImageFolders)
        _check_files(external, shift, test, names)
    cells: list[tuple[str, int | None]] = [("none", None)]
    cells += [(shift, s) for shift in given.shifts if shift not in taken for s in SEVERITIES]
    made = partial(
        shift_files, test.read, names=names, scale=scale, seed=seed, batch_size=given.batch_size
    )
    return FolderBenchmark(
        {cell: partial(made, *cell) for cell in cells},
        external.folder if isinstance(external, ImageFolders) else None,
        taken,
        class_names,
    )


def _made(test: ImageSet, shift: str, scale: str, seed: int) -> Iterator[ImageSet]:
    return (shift_set(test, shift, severity, scale, seed) for severity in SEVERITIES)


def _external(sets: CorruptionArrays, shift: str) -> Iterator[ImageSet]:
    return (sets.load(shift, severity) for severity in SEVERITIES)


def _check_labels(external: CorruptionArrays, shift: str, test: ImageSet) -> None:
    own, theirs = test.labels, external.load(shift, SEVERITIES[0])
    if not np.array_equal(own, theirs.labels):
        raise InputError(
            f"{shift} in {external.folder} has {len(theirs)} images, whose labels are not those "
            f"of the {len(own)} clean test images: external sets need the whole test set, in its "
            "own order"
        )
    if theirs.images.shape[1:] != test.images.shape[1:]:
        raise InputError(
            f"{shift} in {external.folder} has images of {theirs.images.shape[1:3]} pixels, the "
            f"clean test images have {test.images.shape[1:3]}"
        )


def _check_files(
    external: ImageFolders, shift: str, test: ImageFiles, names: Sequence[str]
) -> None:
    one = slice(1)
    own = test.batch(one).shape[2:]
    for severity in SEVERITIES:
        found = same_images(external.load(shift, severity), names)
        theirs = found.batch(one).shape[2:]
        if theirs != own:
            raise InputError(
                f"{found.folder} has images of {tuple(theirs)} pixels, the clean test images have "
                f"{tuple(own)}"
            )
