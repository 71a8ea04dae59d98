"""Clean sets, and the validation set as points."""

from typing import Any

import pandas as pd
from torch import Tensor

from superstar.images import ImageSet
from superstar.measures import Projection
from superstar.parameters import DataPreparation, Distance
from superstar.photos import PHOTO_NAMES, photo_patches


def prepare_clean_sets(
    parameters: dict[str, Any], seed: int
) -> tuple[ImageSet, ImageSet, ImageSet, list[str], pd.DataFrame]:
    """The train, validation and test sets, the classes' names, and a table of what is in them."""
    given = DataPreparation.model_validate(parameters)
    counts = {"train": given.train, "validation": given.validation, "test": given.test}
    sets = photo_patches(size=given.size, counts=counts, seed=seed)
    summary = pd.DataFrame(
        {"photograph": PHOTO_NAMES}
        | {
            split: [int((images.labels == label).sum()) for label in range(len(PHOTO_NAMES))]
            for split, images in sets.items()
        }
    )
    return sets["train"], sets["validation"], sets["test"], list(PHOTO_NAMES), summary


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
