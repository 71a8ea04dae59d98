"""The textures of `frost`: photographs where they are installed, our own drawings elsewhere.

ImageNet-C lays photographs of frosted panes over the image. They are not ours to ship, but the
package `imagecorruptions-imaug` carries them. Where it is installed its photographs are read from
its files, none of its code being run: who installs it wants the benchmark itself. Elsewhere
`frost_drawings` draws textures with the photographs' colours and contrasts at every scale.

So frost, and frost alone, differs between a machine with that package and one without, as results
differ between versions of any dependency. It never differs within a process: the choice is made
once and logged. `frost_source` tells it; record that beside corrupted sets that you write. A
damaged installation is an error, not a silent change of textures.
"""

import logging
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from superstar.corruptions.frost_drawings import draw_frost
from superstar.errors import InputError

PACKAGE: Literal["imagecorruptions-imaug"] = "imagecorruptions-imaug"
# The package has a sixth, from which the benchmark's authors never drew.
PHOTOGRAPHS = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")
TEXTURES = len(PHOTOGRAPHS)

logger = logging.getLogger(__name__)


def frost_source() -> Literal["procedural", "imagecorruptions-imaug"]:
    """Where the textures of frost come from in this process.

    The package's name if it is installed and lists all photographs, else "procedural". Settled by
    the first call or the first frost, and the same from then on.
    """
    return PACKAGE if _photographs() else "procedural"


def frost_texture(index: int, height: int, width: int, scale: float) -> NDArray[np.uint8]:
    """Texture `index` of `TEXTURES`, uint8 RGB (3, at least `height`, at least `width`).

    Reduced or enlarged by `scale`, or by more if that is too small for `height` and `width`.

    Raises:
        InputError: a photograph of the installed package cannot be read.
    """
    own_height, own_width = _texture(index).shape[:2]
    factor = max(scale, height / own_height, width / own_width)
    rows, columns = max(height, round(own_height * factor)), max(width, round(own_width * factor))
    return _resized(index, rows, columns)


@lru_cache(maxsize=2 * TEXTURES)
def _resized(index: int, rows: int, columns: int) -> NDArray[np.uint8]:
    texture = _texture(index)
    # The benchmark reduces with plain linear samples.
    method = cv2.INTER_LINEAR if rows < len(texture) else cv2.INTER_CUBIC
    resized = cv2.resize(texture, (columns, rows), interpolation=method)
    return np.ascontiguousarray(resized.transpose(2, 0, 1), dtype=np.uint8)


@cache
def _texture(index: int) -> NDArray[np.uint8]:
    """A texture as it was photographed or drawn, uint8 RGB (H, W, 3)."""
    photographs = _photographs()
    if not photographs:
        return draw_frost(index)
    path = photographs[index]
    try:
        with Image.open(path) as photograph:
            return np.asarray(photograph.convert("RGB"))
    except OSError as error:
        raise InputError(
            f"the frost photograph {path} cannot be read: reinstall {PACKAGE}, or uninstall it "
            "to have frost drawn"
        ) from error


@cache
def _photographs() -> tuple[Path, ...]:
    """The installed package's photographs, or none."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    found = {file.name: Path(str(file.locate())) for file in files if file.parent.name == "frost"}
    if not all(name in found for name in PHOTOGRAPHS):
        logger.info("frost: procedural textures (%s is not installed)", PACKAGE)
        return ()
    logger.info("frost: photographs of %s", PACKAGE)
    return tuple(found[name] for name in PHOTOGRAPHS)
