"""Clean sets, and the validation set as points."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from superstar.datasets import ImageFiles, LabelledFiles, LabelledImages
from superstar.errors import InputError
from superstar.images import Images, ImageSet
from superstar.measures import Projection
from superstar.parameters import DataPreparation, Distance
from superstar.photos import PHOTO_NAMES, photo_patches
from superstar.splitting import draw_by_class, hold_out, occurring_in, split_by_class

READ_TOGETHER = 1000
CleanSets = tuple[ImageSet, ImageSet, Images]
"""To train on, to validate with, and to test on."""

logger = logging.getLogger(__name__)


def prepare_clean_sets(
    source: Callable[[], LabelledImages | LabelledFiles] | None,
    parameters: dict[str, Any],
    seed: int,
) -> tuple[ImageSet, ImageSet, Images, list[str], pd.DataFrame]:
    """The train, validation and test sets, the classes' names, and a table of what is in them.

    Without a source they are patches of the embedded photographs. With one, validation images are
    held out of its training images. Test images in files are listed, not read.

    Raises:
        InputError: too few images, or images of another size.
    """
    given = DataPreparation.model_validate(parameters)
    names: Sequence[str] = PHOTO_NAMES
    if source is None:
        train, validation, test = _photographs(given, seed)
    else:
        images = source()
        names = images.class_names
        if isinstance(images, LabelledFiles):
            train, validation, test = _split_files(images, given, seed)
        else:
            train, validation, test = _split(images, given, seed)
    sets = {"train": train, "validation": validation, "test": test}
    summary = pd.DataFrame(
        {"class": names}
        | {
            split: np.bincount(images.labels, minlength=len(names))
            for split, images in sets.items()
        }
    )
    if isinstance(test, ImageSet):
        equal = train.labels[occurring_in(train, test)]
        summary["train_equal_to_test"] = np.bincount(equal, minlength=len(names))
        if len(equal):
            logger.info("%d training images equal a test image", len(equal))
    return train, validation, test, list(names), summary


def _photographs(given: DataPreparation, seed: int) -> CleanSets:
    if given.train is None or given.test is None:
        raise InputError(
            "data_preparation.train and test must be numbers: patches of the photographs can be "
            "cut in any number"
        )
    counts = {"train": given.train, "validation": given.validation, "test": given.test}
    sets = photo_patches(size=given.size, counts=counts, seed=seed)
    return sets["train"], sets["validation"], sets["test"]


def _split(images: LabelledImages, given: DataPreparation, seed: int) -> CleanSets:
    for split, whole in (("train", images.train), ("test", images.test)):
        height, width = whole.images.shape[1:3]
        if (height, width) != (given.size, given.size):
            raise InputError(
                f"the {split} images are {height}x{width} pixels, but data_preparation.size is "
                f"{given.size}"
            )
    known = occurring_in(images.train, images.test)
    validation, train = hold_out(images.train, given.validation, given.train, seed, known)
    test = draw_by_class(images.test.labels, given.test, seed, "data_preparation.test")
    return images.train.take(train), images.train.take(validation), images.test.take(test)


def _split_files(images: LabelledFiles, given: DataPreparation, seed: int) -> CleanSets:
    design, test = images.design, images.test
    if test is None and images.opened and given.test is not None:
        return _part(design, given, seed)
    if test is None:
        if given.design_classes is None:
            raise InputError(
                f"{design.folder} holds class folders alone: say in "
                "data_preparation.design_classes how many of the classes are for designing"
            )
        designing = split_by_class(design.labels, given.design_classes, seed)
        design, test = (design.take(np.flatnonzero(which)) for which in (designing, ~designing))
    elif given.design_classes is not None:
        raise InputError(
            f"data_preparation.design_classes must be null: {design.folder} has test images beside"
        )
    wanted = None if given.train is None else given.validation + given.train
    drawn = draw_by_class(design.labels, wanted, seed, "data_preparation.validation + train")
    read = _read(_cut(design.take(drawn), given))
    if images.opened:
        return _split(
            LabelledImages(read, _read(_cut(test, given)), images.class_names), given, seed
        )
    validation, train = hold_out(read, given.validation, given.train, seed)
    tested = draw_by_class(test.labels, given.test, seed, "data_preparation.test")
    return read.take(train), read.take(validation), _cut(test.take(tested), given)


def _part(files: ImageFiles, given: DataPreparation, seed: int) -> CleanSets:
    """All three sets out of one folder; of each class as large a share."""
    assert given.test is not None
    held = given.validation + given.test
    drawn = draw_by_class(
        files.labels,
        None if given.train is None else held + given.train,
        seed,
        "data_preparation.train + validation + test",
    )
    read = _read(_cut(files.take(drawn), given))
    tested, others = hold_out(read, given.test, None, seed)
    rest = read.take(others)
    validation, train = hold_out(rest, given.validation, given.train, seed)
    return rest.take(train), rest.take(validation), read.take(tested)


def _cut(files: ImageFiles, given: DataPreparation) -> ImageFiles:
    return replace(files, resize=given.resize, crop=given.size)


def _read(files: ImageFiles) -> ImageSet:
    return ImageSet(np.concatenate(list(files.read(READ_TOGETHER))), files.labels)


def split_validation(validation: ImageSet) -> tuple[ImageSet, ImageSet]:
    """The validation set in two halves, image by image in turn.

    The first half becomes the validation points V; the second calibrates, labels and is shifted,
    so that nothing is measured against itself.
    """
    return validation.take(slice(0, None, 2)), validation.take(slice(1, None, 2))


def project_validation(
    reference: ImageSet, parameters: dict[str, Any], seed: int
) -> tuple[Tensor, dict[str, Any]]:
    """V as points (n, m), and the projection that made them (paper, Dimensionality Reduction)."""
    given = Distance.model_validate(parameters)
    pixels = reference.images.shape[1] * reference.images.shape[2]
    projection = Projection.create(
        given.projection, n=pixels, m=given.dimensions, seed=seed, mean=given.mean, std=given.std
    )
    return projection(reference.batch()), projection.to_dict()
