"""Clean sets, and the validation set as points."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from superstar.datasets import LabelledImages
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.measures import Projection
from superstar.parameters import DataPreparation, Distance
from superstar.photos import PHOTO_NAMES, photo_patches
from superstar.pipelines.data_preparation.splitting import hold_out, occurring_in, spread

logger = logging.getLogger(__name__)


def prepare_clean_sets(
    source: Callable[[], LabelledImages] | None, parameters: dict[str, Any], seed: int
) -> tuple[ImageSet, ImageSet, ImageSet, list[str], pd.DataFrame]:
    """The train, validation and test sets, the classes' names, and a table of what is in them.

    Without a source they are patches of the embedded photographs. With one, validation images are
    held out of its training images.

    Raises:
        InputError: too few images, or images of another size.
    """
    given = DataPreparation.model_validate(parameters)
    names: Sequence[str] = PHOTO_NAMES
    if source is None:
        sets = _photographs(given, seed)
    else:
        sets, names = _split(source(), given, seed)
    equal = sets["train"].labels[occurring_in(sets["train"], sets["test"])]
    if len(equal):
        logger.info("%d training images equal a test image", len(equal))
    summary = pd.DataFrame(
        {"class": names}
        | {
            split: np.bincount(images.labels, minlength=len(names))
            for split, images in sets.items()
        }
        | {"train_equal_to_test": np.bincount(equal, minlength=len(names))}
    )
    return sets["train"], sets["validation"], sets["test"], list(names), summary


def _photographs(given: DataPreparation, seed: int) -> Mapping[str, ImageSet]:
    if given.train is None or given.test is None:
        raise InputError(
            "data_preparation.train and test must be numbers: patches of the photographs can be "
            "cut in any number"
        )
    counts = {"train": given.train, "validation": given.validation, "test": given.test}
    return photo_patches(size=given.size, counts=counts, seed=seed)


def _split(
    images: LabelledImages, given: DataPreparation, seed: int
) -> tuple[Mapping[str, ImageSet], Sequence[str]]:
    for split, whole in (("train", images.train), ("test", images.test)):
        height, width = whole.images.shape[1:3]
        if (height, width) != (given.size, given.size):
            raise InputError(
                f"the {split} images are {height}x{width} pixels, but data_preparation.size is "
                f"{given.size}"
            )
    known = occurring_in(images.train, images.test)
    validation, train = hold_out(images.train, given.validation, given.train, seed, known)
    test = spread(images.test.labels, given.test, seed)
    sets = {
        "train": images.train.take(train),
        "validation": images.train.take(validation),
        "test": images.test.take(test),
    }
    return sets, images.class_names


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
