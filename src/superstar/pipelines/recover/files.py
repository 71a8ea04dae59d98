"""Image files in and out: their names, what they hold beside pixels, how they are written."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image

from superstar.errors import InputError
from superstar.pipelines.recover.report import REPORTS

WITHOUT_COLOUR = frozenset({".gif", ".pbm", ".pgm"})
"""Endings of formats that hold no 8-bit RGB."""

DESCRIBING = frozenset(
    {
        *(270, 271, 272, 282, 283, 296),  # description, maker, model, resolution
        *(305, 306, 315, 316),  # software, time, artist, computer
        *(700, 18246, 33432, 34665, 34853),  # XMP, rating, copyright, EXIF's own, place
        *(40091, 40092, 40093, 40094, 40095),  # title, comment, author, keywords, subject
    }
)
"""Tags of EXIF that speak of the photograph; others, of TIFF above all, of how it is stored."""

WITH_QUALITY = frozenset({"JPEG", "WEBP", "AVIF"})

logger = logging.getLogger(__name__)


def format_of(name: str) -> str | None:
    """The format that a file's ending stands for; None where it cannot be written."""
    ending = PurePosixPath(name).suffix.lower()
    found = Image.registered_extensions().get(ending)
    return None if ending in WITHOUT_COLOUR or found not in Image.SAVE else found


def output_names(names: Sequence[str]) -> dict[str, str]:
    """Under which name each file is written: its own, or with `.png` behind it.

    Raises:
        InputError: two files would have one name, or one that of a report.
    """
    outputs = {name: name if format_of(name) else f"{name}.png" for name in names}
    taken: dict[str, str] = {}
    for name, output in outputs.items():
        if output in taken or output.partition("/")[0] in REPORTS:
            other = taken.get(output, "the report")
            raise InputError(f"{name} and {other} would both be written to {output}: rename one")
        taken[output] = name
    return outputs


def metadata(path: Path) -> dict[str, Any]:
    """EXIF and colour profile of an image, as `Image.save` takes them.

    The orientation is left out, since pixels are upright once they are read, and with it whatever
    tells how pixels are stored; and a profile that is not for RGB, of a CMYK image say.
    """
    kept: dict[str, Any] = {}
    try:
        with Image.open(path) as file:
            exif = file.getexif()
            for tag in set(exif) - DESCRIBING:
                del exif[tag]
            if len(exif):
                kept["exif"] = exif.tobytes()
            profile = file.info.get("icc_profile")
            if profile and profile[16:20] == b"RGB ":
                kept["icc_profile"] = profile
    except MemoryError:
        raise
    except Exception as error:  # Pillow raises a dozen kinds; the pixels are there all the same.
        logger.warning("%s: EXIF and profile are left out (%s)", path, error)
    return kept


def taken_at(path: Path, changed: int) -> str:
    """When a photograph was taken, by its EXIF, or else when the file changed, for sorting.

    Args:
        path: of the file.
        changed: when it changed, in nanoseconds.
    """
    with suppress(Exception), Image.open(path) as file:  # What cannot be read is left out later.
        told = file.getexif().get_ifd(ExifTags.IFD.Exif)
        if taken := told.get(ExifTags.Base.DateTimeOriginal):
            return f"{taken}.{told.get(ExifTags.Base.SubsecTimeOriginal, '')}"
    return datetime.fromtimestamp(changed / 1e9, UTC).strftime("%Y:%m:%d %H:%M:%S.%f")


def encode(image: NDArray[np.uint8], name: str, quality: int, kept: dict[str, Any]) -> bytes:
    """An image as a file of the format that the name's ending stands for.

    Args:
        image: uint8 (H, W, 3).
        name: of the file.
        quality: of formats that have one, 1 to 100.
        kept: of `metadata`.

    Raises:
        InputError: the format does not hold such an image.
    """
    kind = format_of(name)
    options = {"quality": quality} if kind in WITH_QUALITY else {}
    try:
        return _saved(image, kind, options | kept)
    except MemoryError:
        raise
    except Exception as error:  # Pillow's encoders raise a dozen kinds.
        if kept:
            logger.warning("%s: EXIF and profile are left out (%s)", name, error)
            return encode(image, name, quality, {})
        raise InputError(f"{name} cannot be written as {kind} ({error})") from error


def _saved(image: NDArray[np.uint8], kind: str | None, options: dict[str, Any]) -> bytes:
    file = BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return file.getvalue()
