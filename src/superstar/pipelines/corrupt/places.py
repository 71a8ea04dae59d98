"""Where images are read and sets are written: refused before anything is done."""

import logging
import os
from pathlib import Path

from kedro.io import DataCatalog

from superstar.corruptions import ALL_SHIFTS
from superstar.datasets import ClassFoldersDataset, ImageFoldersDataset, JSONDataset
from superstar.datasets.image_folders import CLASSES
from superstar.decoding import user_path
from superstar.errors import InputError, is_text, readable
from superstar.parameters import Corrupt

logger = logging.getLogger(__name__)


LONGEST_NAME = 255


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
    described = catalog.get("corrupted_description")
    assert isinstance(output, ImageFoldersDataset)
    assert isinstance(described, JSONDataset)
    for name, place in (("input", images.location), ("output", output.location)):
        folder = getattr(given, name)
        if folder is None:
            raise InputError(f"corrupt.{name} is not given: add --params corrupt.{name}=FOLDER")
        if user_path(folder) != place:
            raise InputError(f"give corrupt.{name} with --params, not in a file of parameters")
    source, target = images.location, output.location
    beside = target.with_name(f".part-{target.name}")
    if (
        source.is_relative_to(target)
        or target.is_relative_to(source)
        or source.is_relative_to(beside)
    ):
        raise InputError(
            f"corrupt.output = {given.output!r} must not hold the input {given.input!r} "
            "or lie in it"
        )
    strangers = _strangers(target)
    if output.not_ours or strangers:
        what = f"holds {strangers[0]!r}" if strangers else "is there already"
        raise InputError(
            f"corrupt.output = {given.output!r} {what} and is not a benchmark of ours: "
            "name a new folder"
        )
    ours = output.stamp_path.exists() or described.stamp_path.exists()
    if described.location.is_dir() or (described.location.exists() and not ours):
        raise InputError(
            f"{described.location} is there already, where the description of corrupt.output = "
            f"{given.output!r} would be written: name another folder"
        )
    if not is_text(str(target)):
        raise InputError(
            f"corrupt.output = {readable(str(target))} is not text in UTF-8: rename it"
        )
    if len(os.fsencode(described.stamp_path.name)) + len(".part") > LONGEST_NAME:
        raise InputError(f"corrupt.output = {given.output!r}: the folder's name is too long")
    parent = next(parent for parent in target.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"corrupt.output = {given.output!r}: nothing can be written to {parent}")
    if again and output.exists():
        logger.warning("%s is made again: what it holds now will be replaced", target)


def _strangers(output: Path) -> list[str]:
    """What lies in a folder of sets that none of our runs has written, hidden files apart."""
    names = sorted(path.name for path in output.iterdir()) if output.is_dir() else []
    return [
        name
        for name in names
        if name not in (CLASSES, "none")
        and not name.startswith(".")
        and not set(name.split("+")) <= set(ALL_SHIFTS)
    ]
