"""What figures share: names of corrections, colours that mean one thing everywhere, gain maps."""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from superstar.control.controllers import CALIBRATED, PAPER
from superstar.pipelines.pages import number, readable

WIDTH = 8.0
"""Inches: what the column of a page shows without shrinking the text."""
in_small_print = matplotlib.rc_context({"font.size": 8, "axes.titlesize": 9})
"""Decorates what draws a figure that is `WIDTH` wide."""
PANELS_A_ROW = 4
PANELS_WITH_TEXTS = 2
FULL_COLOUR = 20.0
"""Points of accuracy from which on a colour is full."""

CONTROLLERS = {PAPER: "#d9762b", CALIBRATED: "#2468b0"}
CORRECTIONS = {
    "dncnn": ("denoise, network", "#1f5a9e"),
    "wavelet_bayes": ("denoise, wavelets (Bayes)", "#5b9bd5"),
    "wavelet_visu": ("denoise, wavelets (Visu)", "#9cc3ea"),
    "bilateral": ("smooth, edges kept", "#3aa6a0"),
    "median_3": ("median of 3 × 3", "#8fd0cb"),
    "match_sharpness": ("match sharpness", "#2e7d32"),
    "match_tone": ("match tone", "#b8541a"),
    "match_brightness": ("match brightness", "#f2b134"),
    "match_contrast": ("match contrast", "#e0792e"),
    "match_local_contrast": ("match local contrast", "#f4a98a"),
    "match_veil": ("remove veil", "#8e5bb5"),
    "match_colour": ("match colour", "#d0568c"),
    "clahe_2_1": ("local contrast (CLAHE 2, 1)", "#a3c644"),
    "clahe_2_2": ("local contrast (CLAHE 2, 2)", "#6f9a1f"),
    "clahe_6_1": ("local contrast (CLAHE 6, 1)", "#cfe08a"),
    "nop": ("nothing", "#c9c9c9"),
}
"""What a reader calls each correction, and its colour."""


def corrections(names: Iterable[str]) -> str:
    """A sequence of corrections in words."""
    return ", then ".join(CORRECTIONS[name][0] for name in names)


def colours(count: int) -> list[str]:
    """So many different colours."""
    few = matplotlib.colormaps["tab10"]
    scale = few if count <= few.N else matplotlib.colormaps["turbo"].resampled(count)
    return [to_hex(shade) for shade in scale(range(count))]


def name_rows(axis: Axes, names: Sequence[str]) -> None:
    """Name the rows of a panel, the first at the top."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)


def stack_bars(axis: Axes, parts: Iterable[tuple[str, pd.Series, str]]) -> None:
    """Horizontal bars from 0 to 100, a row each value: label, lengths and colour of each part."""
    left = 0.0
    for label, lengths, colour in parts:
        axis.barh(range(len(lengths)), lengths, left=left, color=colour, label=label)
        left = left + lengths.to_numpy()
    axis.set_xlim(0, 100)


@in_small_print
def gain_maps(
    panels: Mapping[str, pd.DataFrame], label: str, texts: Mapping[str, pd.DataFrame] | None = None
) -> Figure:
    """Gains as colours, a panel each table: blue where accuracy rose, red where it fell.

    Args:
        panels: points, by the panel's title. All have the same rows, which are shifts; a cell may
            be missing.
        label: below each panel, of its columns.
        texts: what stands in the cells; the rounded gain if None, nothing where it is 0.

    Colours mean the same in all figures; gains beyond `FULL_COLOUR` are seen from the numbers.
    """
    rows = next(iter(panels.values())).index
    across = min(PANELS_A_ROW if texts is None else PANELS_WITH_TEXTS, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(WIDTH, down * (0.9 + 0.19 * len(rows))), layout="constrained")
    widths = [len(table.columns) for table in list(panels.values())[:across]]
    axes = figure.subplots(down, across, squeeze=False, sharey=True, width_ratios=widths)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, table) in zip(axes.flat, panels.items(), strict=False):
        values = table.to_numpy(float)
        shown = None if texts is None else texts[title].to_numpy()
        image = axis.imshow(values, cmap="RdBu", vmin=-FULL_COLOUR, vmax=FULL_COLOUR, aspect="auto")
        for place, value in np.ndenumerate(values):
            text = _rounded(value) if shown is None else str(shown[place])
            colour = "white" if abs(value) > 0.6 * FULL_COLOUR else "black"
            axis.text(*place[::-1], text, ha="center", va="center", color=colour, size=7)
        axis.set_xticks(range(len(table.columns)), list(table.columns))
        axis.set_yticks(range(len(rows)), [readable(shift) for shift in rows])
        axis.tick_params(length=0)
        axis.set(title=title, xlabel=label)
    figure.colorbar(image, ax=axes, label="Δ accuracy, points", shrink=0.6, pad=0.01, extend="both")
    return figure


def _rounded(value: float) -> str:
    return "" if value == 0 else number(value, 0, sign=True)
