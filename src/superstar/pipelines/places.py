"""Folders that a user names for a run: refused before anything is done."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from superstar.decoding import user_path
from superstar.errors import InputError, is_text, readable


def check_given(stage: str, given: Any, places: Mapping[str, Path]) -> None:
    """Refuse folders that are not given, or not on the command line.

    Args:
        stage: whose parameters they are.
        given: its parameters.
        places: by parameter, where the catalog has them.

    Raises:
        InputError: what to give.
    """
    for name, place in places.items():
        folder = getattr(given, name)
        if folder is None:
            raise InputError(f"{stage}.{name} is not given: add --params {stage}.{name}=FOLDER")
        if user_path(folder) != place:
            raise InputError(f"give {stage}.{name} with --params, not in a file of parameters")


def check_apart(stage: str, given: Any, source: Path, target: Path) -> None:
    """Refuse an output that the input lies in, or that lies in it.

    Raises:
        InputError: they are not apart.
    """
    beside = target.with_name(f".part-{target.name}")
    if (
        source.is_relative_to(target)
        or target.is_relative_to(source)
        or source.is_relative_to(beside)
    ):
        raise InputError(
            f"{stage}.output = {given.output!r} must not hold the input {given.input!r} "
            "or lie in it"
        )


def check_writable(stage: str, given: Any, target: Path) -> None:
    """Refuse an output that cannot be made, or whose name is not UTF-8.

    Raises:
        InputError: why.
    """
    if not is_text(str(target)):
        raise InputError(
            f"{stage}.output = {readable(str(target))} is not text in UTF-8: rename it"
        )
    parent = next(parent for parent in target.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"{stage}.output = {given.output!r}: nothing can be written to {parent}")
