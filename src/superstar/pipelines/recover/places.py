"""Where images are read, and corrected ones written: refused before anything is done."""

import json
import logging
from pathlib import Path

from kedro.io import DataCatalog

from superstar.datasets import FolderFilesDataset, GivenSupervisorDataset, RecoveredDataset
from superstar.errors import InputError, check_name
from superstar.parameters import Recover
from superstar.pipelines.places import check_apart, check_given, check_writable
from superstar.pipelines.recover.report import JSON_REPORT, REPORTS

logger = logging.getLogger(__name__)


def check_places(catalog: DataCatalog, again: bool) -> None:
    """Refuse folders that are not given, that hold one another, or that are not ours to replace.

    Args:
        catalog: with the parameters, the images, the supervisor and the output.
        again: whether the run makes the output again if it is there.

    Raises:
        InputError: what is wrong, and what to give.
    """
    given = Recover.model_validate(catalog.load("params:recover"))
    images, output = catalog.get("images_to_recover"), catalog.get("recovered_images")
    supervisor = catalog.get("given_supervisor")
    assert isinstance(images, FolderFilesDataset)
    assert isinstance(output, RecoveredDataset)
    assert isinstance(supervisor, GivenSupervisorDataset)
    check_given("recover", given, {"input": images.location, "output": output.location})
    if given.supervisor is None:
        raise InputError(
            "recover.supervisor is not given: add --params recover.supervisor=NAME, of a benchmark "
            "that was trained here, or a supervisor's folder"
        )
    if given.supervisor != supervisor.name:
        raise InputError("give recover.supervisor with --params, not in a file of parameters")
    check_apart("recover", given, images.location, output.location)
    if output.not_ours or (stranger := _stranger(output.location)):
        what = "is there already" if output.not_ours else f"holds {stranger!r}"
        raise InputError(
            f"recover.output = {given.output!r} {what}, which no run of recover has written: "
            "name a new folder"
        )
    check_writable("recover", given, output.location)
    loaded = supervisor.supervisor
    if given.controller is not None:
        check_name("recover.controller", given.controller, loaded.controllers)
    height, width = loaded.image_size
    if height != width or (given.resize or height) < height:
        raise InputError(
            f"the supervisor takes images of {height}x{width} pixels, which no centre of images "
            f"with a shorter side of {given.resize or height} gives: "
            + ("it must be square" if height != width else "raise recover.resize, or null")
        )
    if again and output.exists():
        logger.warning("%s is made again: what it holds now will be replaced", output.location)


def _stranger(output: Path) -> str | None:
    """What lies in an output beside what its report lists, hidden files apart; None if nothing."""
    there = {
        path.relative_to(output).as_posix()
        for path in (output.rglob("*") if output.is_dir() else ())
        if path.is_file() and not path.name.startswith(".")
    }
    try:
        told = json.loads((output / JSON_REPORT).read_text(encoding="utf-8"))
        ours = {file["written"] for group in told["groups"] for file in group["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        ours = set()
    return next(iter(sorted(there - ours - set(REPORTS))), None)
