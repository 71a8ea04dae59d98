"""One photograph under every shift, as a picture."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from benchmarks.corruptions.comparing import SEVERITIES
from benchmarks.corruptions.images import CROP, SIDE
from superstar.corruptions import SHIFTS, corrupt, frost_source
from superstar.datasets.image_folders import encode
from superstar.decoding import Encoded, read_image
from superstar.images import from_uint8, to_uint8
from superstar.photos import load_photo

PHOTO = "chelsea"
TILE = 128
"""Side of a tile in pixels: as large as leaves the picture a fair quality within the bytes."""
MOST_BYTES = 300_000
"""Of a picture in the docs."""

# Where the photograph's tile begins, and lengths of the layout, in pixels.
_TOP, _LEFT = 30, 20
_LABEL, _GAP, _BETWEEN = 24, 3, 24
_BLOCKS = 2

Tile = NDArray[np.uint8]


def draw_sheet(file: Path) -> None:
    """Draw all 19 shifts at five severities of an embedded photograph.

    The photograph is corrupted at 224 x 224 pixels; shown is a window of `TILE` x `TILE` of them,
    neither reduced nor enlarged. The file is a JPEG of the best quality that fits `MOST_BYTES`.
    """
    clean = read_image(Encoded(PHOTO, encode(load_photo(PHOTO), ".png")), SIDE, CROP)
    batch = from_uint8(clean[None])
    rows = {"clean; below, severities 1 to 5 of each shift": [_window(clean)]}
    for name in SHIFTS:
        label = name.replace("_", " ")
        if name == "frost":
            label += f" (textures: {frost_source()})"
        rows[label] = [
            _window(to_uint8(corrupt(batch, name, severity))[0]) for severity in SEVERITIES
        ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_encoded(_composed(rows)))


def _window(image: Tile) -> Tile:
    return image[_TOP : _TOP + TILE, _LEFT : _LEFT + TILE]


def _composed(rows: Mapping[str, Sequence[Tile]]) -> Image.Image:
    """The rows of tiles, each below its label, in blocks side by side."""
    height = -(-len(rows) // _BLOCKS)
    down, across = _LABEL + TILE + _GAP, TILE + _GAP
    block = len(SEVERITIES) * across + _BETWEEN
    sheet = Image.new("RGB", (_BLOCKS * block - _BETWEEN + _GAP, height * down), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_LABEL - 6)
    for place, (label, tiles) in enumerate(rows.items()):
        left, top = _GAP + place // height * block, place % height * down
        draw.text((left, top + _LABEL / 2), label, "black", font, anchor="lm")
        for column, tile in enumerate(tiles):
            sheet.paste(Image.fromarray(tile), (left + column * across, top + _LABEL))
    return sheet


def _encoded(sheet: Image.Image) -> bytes:
    for quality in range(95, 0, -1):
        file = io.BytesIO()
        sheet.save(file, "JPEG", quality=quality, optimize=True)
        if file.tell() <= MOST_BYTES:
            return file.getvalue()
    raise RuntimeError(f"the picture takes more than {MOST_BYTES:,} bytes at every quality")
