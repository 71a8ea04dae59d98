"""Where images are read and sets are written: refused before anything is done."""

import logging
import os
from pathlib import Path

from kedro.io import DataCatalog

from superstar.datasets import ClassFoldersDataset, ImageFoldersDataset
from superstar.errors import InputError
from superstar.parameters import Corrupt

logger = logging.getLogger(__name__)


def check_places(catalog: DataCatalog, again: bool) -> None:
    """Refuse folders that are not given, that hold one another, or that are not ours to replace.

    Args:
        catalog: with the parameters, the images and the sets.
        again: whether the run makes the sets again if they are there.

    Raises:
        InputError: what is wrong, and what to give.
    """
    given = Corrupt.model_validate(catalog.load("params:corrupt"))
    images, output = catalog.get("images_to_corrupt"), catalog.get("corrupted_sets")
    assert isinstance(images, ClassFoldersDataset)
    assert isinstance(output, ImageFoldersDataset)
    for name, place in (("input", images.location), ("output", output.location)):
        folder = getattr(given, name)
        if folder is None:
            raise InputError(f"corrupt.{name} is not given: add --params corrupt.{name}=FOLDER")
        if Path(folder).expanduser().absolute() != place:
            raise InputError(f"give corrupt.{name} with --params, not in a file of parameters")
    source, target = images.location.resolve(), output.location.resolve()
    if source.is_relative_to(target) or target.is_relative_to(source):
        raise InputError(
            f"corrupt.output = {given.output!r} must not hold the input {given.input!r} "
            "or lie in it"
        )
    if output.foreign:
        raise InputError(
            f"corrupt.output = {given.output!r} is there already and not a benchmark of ours: "
            "name a new folder"
        )
    parent = next(parent for parent in target.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"corrupt.output = {given.output!r}: nothing can be written to {parent}")
    if again and output.exists():
        logger.warning("%s is made again: what it holds now will be replaced", target)
