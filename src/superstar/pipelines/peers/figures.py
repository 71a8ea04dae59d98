"""Mean gains alone and behind the controllers, and accuracy along the stream."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from superstar.control.controllers import CALIBRATED
from superstar.peers import UNTOUCHED
from superstar.pipelines.drawing import CONTROLLERS as COLOURS
from superstar.pipelines.drawing import WIDTH, in_small_print
from superstar.pipelines.pages import readable
from superstar.pipelines.peers.summary import (
    CLEAN,
    MEAN,
    NOTHING,
    SHIFTS,
    alone,
    along_stream,
    controllers_before_peers,
    name_of,
)

ALONE, PEER = "#555555", "#2e9e6b"


@in_small_print
def peers_figure(table: pd.DataFrame, on_stream: pd.DataFrame, window: int) -> Figure:
    """Above, gains with their intervals; below, accuracy in a window of the stream.

    Args:
        table: of `summary.gain_table`.
        on_stream: a row a segment, front and peer.
        window: images over which accuracy is averaged.
    """
    mean = table[(table["setting"] == SHIFTS) & (table["part"] == MEAN)]
    singles = alone(mean).sort_values("gain")
    places = {name: place for place, name in enumerate(singles["name"])}
    figure = Figure(figsize=(WIDTH, 2.8 + 0.22 * len(places)), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[0.22 * len(places), 2.2])
    fronts = controllers_before_peers(mean)
    behind = mean[mean["peer"] != UNTOUCHED]
    shown = {"alone": singles} | {
        f"behind {front}": behind[behind["front"] == front] for front in fronts
    }
    shades = (ALONE, *(COLOURS[front] for front in fronts))
    for (label, some), colour in zip(shown.items(), shades, strict=True):
        names = some["name"] if label == "alone" else some["peer"].map(readable)
        errors = [some["gain"] - some["gain_low"], some["gain_high"] - some["gain"]]
        heights = names.map(places)
        top.errorbar(some["gain"], heights, xerr=errors, fmt="o", ms=4, color=colour, label=label)
    top.set_yticks(range(len(places)), list(places))
    top.axvline(0, color="black", lw=0.8)
    top.grid(axis="x", alpha=0.3)
    top.set(xlabel="points gained, mean over shifts")
    top.legend(loc="upper left")
    segments, hits = along_stream(on_stream)
    for start, images, shift in segments[["start", "images", "shift"]].itertuples(index=False):
        if shift == CLEAN:
            bottom.axvspan(start, start + images, color="0.9", lw=0)
    peers = mean[(mean["front"] == UNTOUCHED) & (mean["peer"] != UNTOUCHED)].set_index("peer")
    pairs = [NOTHING, (CALIBRATED, UNTOUCHED), (UNTOUCHED, peers["gain"].idxmax())]
    for pair, colour in zip(pairs, ("black", COLOURS[CALIBRATED], PEER), strict=True):
        bottom.plot(_smooth(hits[pair], window), color=colour, lw=1, label=name_of(*pair))
    bottom.set(xlabel="images of the stream (gray: clean)", ylabel=f"% right of {window}")
    bottom.margins(x=0)
    bottom.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    return figure


def _smooth(hits: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """Share in % of the images around each that were answered rightly, where any was asked for."""
    asked, kernel = ~np.isnan(hits), np.ones(min(window, len(hits)))
    right = np.convolve(np.nan_to_num(hits), kernel, "same")
    return 100 * right / np.maximum(np.convolve(asked, kernel, "same"), 1)
