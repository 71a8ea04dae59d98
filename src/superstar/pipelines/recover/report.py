"""What was done to a folder: `report.json`, and one `report.html` that needs nothing else."""

import json
import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from PIL import Image

from superstar.actions import Plan
from superstar.errors import InputError

JSON_REPORT = "report.json"
HTML_REPORT = "report.html"
REPORTS = (JSON_REPORT, HTML_REPORT)

SHOWN_QUALITY = 90

logger = logging.getLogger(__name__)

UNREAD = "unread"
"""Why a group has no plan of which no image could be read."""

REASONS = {
    "clean": "They cannot be told from clean images: left as they are.",
    "home": "After these corrections they can no longer be told from clean images.",
    "no_gain": "No further correction is worth it.",
    "horizon": "As many corrections as are allowed.",
    "inoperable": "The operability tree says that corrections would not help: left as they are.",
    "alpha": "The distance fell as far as asked.",
    "beta": "The next correction would not have lowered the distance enough.",
    "nop": "The policy chose to do nothing more.",
    UNREAD: "No image could be read.",
}
"""In words, why a controller stopped."""

AT_ANY_SIZE = {
    "match_local_contrast": "its gain of fine structure was fitted to the reduced view",
    "match_sharpness": "its mask is one pixel wide, finer than in the reduced view",
    "median_3": "its window is 3 pixels wide, finer than in the reduced view",
    "bilateral": "its window is 5 pixels wide, finer than in the reduced view",
    "wavelet_bayes": "it takes off the noise of the full size, which the reduced view shows weaker",
    "wavelet_visu": "it takes off the noise of the full size, which the reduced view shows weaker",
}
"""Corrections that are an approximation at a file's own size, and why. The others are curves of
single pixels, gains about an image's mean, or act on shares of an image's side."""


def approximations(plan: Plan) -> dict[str, str]:
    """What of a plan is not quite the same at a file's own size."""
    return {name: AT_ANY_SIZE[name] for name in plan.names if name in AT_ANY_SIZE}


def picture(image: NDArray[np.uint8]) -> str:
    """An image, uint8 (H, W, 3), as the address of itself in a page."""
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=SHOWN_QUALITY, subsampling=0)
    return "data:image/jpeg;base64," + b64encode(file.getvalue()).decode("ascii")


def reports(
    about: Mapping[str, Any], decisions: Sequence[Mapping[str, Any]], left_out: Mapping[str, str]
) -> dict[str, str]:
    """Both reports by their names.

    Args:
        about: what was asked for.
        decisions: of each group, with its files; one of which no file was taken is left out.
        left_out: why a file is, by its name.

    Raises:
        InputError: no file could be taken.
    """
    # The table names the file already.
    left_out = {
        name: why.removeprefix(f"{about['input']}/{name}").strip() for name, why in left_out.items()
    }
    groups = []
    for decision in decisions:
        files = [file for file in decision["files"] if file["file"] not in left_out]
        shown = [each for each in decision["shown"] if each["file"] not in left_out]
        if files:
            groups.append({**decision, "files": files, "shown": shown})
    if not groups:
        name, reason = next(iter(left_out.items()))
        raise InputError(f"none of the {len(left_out)} files can be taken; {name}: {reason}")
    if left_out:
        logger.warning(
            "%d files are left out (%s tells why): %s%s",
            len(left_out),
            HTML_REPORT,
            ", ".join(list(left_out)[:3]),
            ", ..." if len(left_out) > 3 else "",
        )
    written = sum(len(group["files"]) for group in groups)
    content = {**about, "written": written, "left_out": left_out, "groups": groups}
    without = [{key: group[key] for key in group if key != "shown"} for group in groups]
    told = content | {"groups": without}
    page = _environment().get_template("recover.html").render(content, reasons=REASONS)
    return {JSON_REPORT: json.dumps(told, indent=1, ensure_ascii=False) + "\n", HTML_REPORT: page}


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("superstar.pipelines"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
