"""One photograph under every shift, as a picture."""

from pathlib import Path

from benchmarks.corruptions.comparing import SEVERITIES
from benchmarks.corruptions.images import CROP, SIDE
from superstar.corruptions import SHIFTS, corrupt
from superstar.decoding import resize_and_crop
from superstar.images import from_uint8, to_uint8
from superstar.photos import load_photo
from superstar.pipelines.reporting.figures import contact_sheet

PHOTO = "chelsea"


def draw_sheet(file: Path) -> None:
    """Draw all 19 shifts at five severities of an embedded photograph, 224 x 224 pixels."""
    clean = resize_and_crop(load_photo(PHOTO), SIDE, CROP)
    batch = from_uint8(clean[None])
    shifted = {
        name: [to_uint8(corrupt(batch, name, severity))[0] for severity in SEVERITIES]
        for name in SHIFTS
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    contact_sheet(clean, shifted).savefig(file, dpi=60, pil_kwargs={"quality": 80})
