"""Where images are read and sets are written: refused before anything is done."""

import logging
import os
from pathlib import Path

from kedro.io import DataCatalog

from superstar.corruptions import ALL_SHIFTS
from superstar.datasets import ClassFoldersDataset, ImageFoldersDataset, JSONDataset
from superstar.datasets.image_folders import CLASSES
from superstar.errors import InputError
from superstar.parameters import Corrupt
from superstar.pipelines.places import check_apart, check_given, check_writable

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
    check_given("corrupt", given, {"input": images.location, "output": output.location})
    target = output.location
    check_apart("corrupt", given, images.location, target)
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
    if len(os.fsencode(described.stamp_path.name)) + len(".part") > LONGEST_NAME:
        raise InputError(f"corrupt.output = {given.output!r}: the folder's name is too long")
    check_writable("corrupt", given, target)
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
