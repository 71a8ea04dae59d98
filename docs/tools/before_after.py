"""Draw `docs/figures/before_after.jpg`: whole photographs before and after the controller.

    python docs/tools/before_after.py data/06_models/photos/supervisor

Each column is one stream: all 17 embedded photographs under one shift. The supervisor was made for
patches of 64x64 pixels. It chooses a plan from 255 patches that lie in the photographs' test bands.
The plan is then applied to a whole photograph, of which the figure shows the central square.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from superstar.actions import Plan
from superstar.control import Supervisor
from superstar.corruptions import corrupt
from superstar.images import from_uint8, to_uint8
from superstar.photos import PHOTO_NAMES, load_photo, patch_positions

FIGURE = Path(__file__).parents[1] / "figures" / "before_after.jpg"
STREAMS = (
    ("gaussian_noise", 4, "china"),
    ("contrast", 4, "chelsea"),
    ("brightness", 4, "coffee"),
    ("fog", 3, "flower"),
)
PATCH = 64
PATCHES = 255
SHOWN = 224
"""Side of the squares that the figure shows, in pixels of the photograph and of the figure."""
GAP, HEADING, FOOTING, DPI = 8, 22, 58, 100


def main() -> None:
    """Choose a plan for each stream and draw its photograph."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("supervisor", type=Path, help="folder that a run of `photos` left")
    parser.add_argument("--output", type=Path, default=FIGURE)
    given = parser.parse_args()
    supervisor = Supervisor.load(given.supervisor)
    width = len(STREAMS) * (SHOWN + GAP) - GAP
    height = HEADING + 2 * SHOWN + GAP + FOOTING
    figure = plt.figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    for column, (shift, severity, name) in enumerate(STREAMS):
        photos = shifted_photos(shift, severity)
        recovery = supervisor.recover(test_patches(photos), controller="calibrated")
        print(shift, severity, recovery.plan, recovery.stopped_by)
        before = photos[PHOTO_NAMES.index(name)]
        left, bottom = column * (SHOWN + GAP), FOOTING + SHOWN + GAP
        show(figure, left, bottom, before)
        show(figure, left, FOOTING, recovery.plan.apply(before))
        middle = (left + SHOWN / 2) / width
        heading = f"{shift.replace('_', ' ')}, severity {severity}"
        figure.text(middle, 1 - 16 / height, heading, ha="center", fontsize=9)
        below = (FOOTING - 6) / height
        figure.text(middle, below, in_words(recovery.plan), ha="center", va="top", fontsize=8)
    figure.savefig(given.output, pil_kwargs={"quality": 82, "optimize": True})


def shifted_photos(shift: str, severity: int) -> list[Tensor]:
    """The embedded photographs whole, under a shift, rounded to 8 bits: float32 (1, 3, H, W)."""
    return [
        from_uint8(
            to_uint8(
                corrupt(from_uint8(load_photo(name)[None].copy()), shift, severity, first_index=i)
            )
        )
        for i, name in enumerate(PHOTO_NAMES)
    ]


def test_patches(photos: list[Tensor]) -> Tensor:
    """Patches of the photographs' test bands, float32 (N, 3, 64, 64); photographs take turns."""
    positions = patch_positions(PATCH, {"test": PATCHES})["test"]
    return torch.cat(
        [photos[i][:, :, top : top + PATCH, left : left + PATCH] for i, top, left in positions]
    )


def show(figure: Figure, left: int, bottom: int, images: Tensor) -> None:
    """The central square of the first image, pixel for pixel."""
    pixels = to_uint8(images)[0]
    top, start = (pixels.shape[0] - SHOWN) // 2, (pixels.shape[1] - SHOWN) // 2
    figure.figimage(pixels[top : top + SHOWN, start : start + SHOWN], left, bottom, origin="upper")


def in_words(plan: Plan) -> str:
    """Names of the corrections, without their numbers."""
    return "\nthen ".join(plan.names) or "left as it is"


if __name__ == "__main__":
    main()
