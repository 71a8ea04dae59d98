"""Shifted copies of image files, made batch by batch as they are written."""

import logging
from dataclasses import replace
from functools import partial
from typing import Any

from superstar.corruptions.sets import describe_shifts, shift_files
from superstar.datasets import ImageFiles
from superstar.datasets.image_folders import JPEG_QUALITY, Cells, output_names
from superstar.parameters import Corrupt

logger = logging.getLogger(__name__)


def corrupt_files(images: ImageFiles, parameters: dict[str, Any], scale: str, seed: int) -> Cells:
    """Every shift at every severity, and `none`: the images as they are, in files of the same kind.

    Raises:
        InputError: two images whose names differ in their endings alone.
    """
    given = Corrupt.model_validate(parameters)
    cropped = replace(images, resize=given.resize, crop=given.crop)
    sets = 1 + len(given.shifts) * len(given.severities)
    classes = len(set(images.labels.tolist()))
    logger.info("%d images of %d classes, %d sets of them", len(images), classes, sets)
    made = partial(
        shift_files,
        cropped.read,
        names=output_names(images.names, given.format),
        scale=scale,
        seed=seed,
        batch_size=given.batch_size,
    )
    cells = [(shift, severity) for shift in given.shifts for severity in given.severities]
    return {cell: partial(made, *cell) for cell in [("none", None), *cells]}


def describe(
    images: ImageFiles, parameters: dict[str, Any], scale: str, seed: int
) -> dict[str, Any]:
    """What the sets were made from and with."""
    given = Corrupt.model_validate(parameters)
    return {
        "input": str(images.folder),
        "images": len(images),
        "classes": len(set(images.labels.tolist())),
        "resize": given.resize,
        "crop": given.crop,
        "format": given.format,
        "jpeg_quality": JPEG_QUALITY if given.format == "jpeg" else None,
        **describe_shifts(given.shifts, given.severities, scale, seed),
    }
