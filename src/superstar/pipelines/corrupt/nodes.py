"""Shifted copies of image files, made batch by batch as they are written."""

from dataclasses import replace
from functools import partial
from typing import Any

from superstar.datasets import ImageFiles
from superstar.datasets.image_folders import Cells
from superstar.parameters import Corrupt
from superstar.pipelines.shifting import describe_shifts, shift_files


def corrupt_files(images: ImageFiles, parameters: dict[str, Any], scale: str, seed: int) -> Cells:
    """Every shift at every severity, and `none`: the images as they are, through the same JPEG."""
    given = Corrupt.model_validate(parameters)
    cropped = replace(images, resize=given.resize, crop=given.crop)
    made = partial(shift_files, cropped, scale=scale, seed=seed, batch_size=given.batch_size)
    cells = [(shift, severity) for shift in given.shifts for severity in given.severities]
    return {cell: partial(made, *cell) for cell in [("none", None), *cells]}


def describe(parameters: dict[str, Any], scale: str, seed: int) -> dict[str, Any]:
    """What the sets were made with."""
    given = Corrupt.model_validate(parameters)
    return describe_shifts(given.shifts, given.severities, scale, seed)
