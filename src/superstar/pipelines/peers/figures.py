"""Mean gains alone and behind the controllers, and accuracy along the stream."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from superstar.control.supervisor import CALIBRATED, PAPER
from superstar.peers import UNTOUCHED
from superstar.pipelines.peers.report import name_of
from superstar.pipelines.peers.summary import CLEAN, MEAN, NOTHING, SHIFTS, along_stream

COLOURS = {UNTOUCHED: "C0", PAPER: "C1", CALIBRATED: "C3"}


def peers_figure(table: pd.DataFrame, on_stream: pd.DataFrame, window: int) -> Figure:
    """Above, gains with their intervals; below, accuracy in a window of the stream.

    Args:
        table: of `summary.gain_table`.
        on_stream: a row a segment, front and peer.
        window: images over which accuracy is averaged.
    """
    mean = table[(table["setting"] == SHIFTS) & (table["part"] == MEAN)]
    alone = mean[(mean["front"] == UNTOUCHED) | (mean["peer"] == UNTOUCHED)]
    order = alone.sort_values("gain")[["front", "peer"]].itertuples(index=False, name=None)
    places = {pair: place for place, pair in enumerate(order)}
    figure = Figure(figsize=(10, 3.6 + 0.32 * len(places)), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[0.32 * len(places), 3])
    for front, colour in COLOURS.items():
        some = alone if front == UNTOUCHED else mean[mean["front"] == front]
        some = some if front == UNTOUCHED else some[some["peer"] != UNTOUCHED]
        heights = [
            places[pair if front == UNTOUCHED else (UNTOUCHED, pair[1])]
            for pair in zip(some["front"], some["peer"], strict=True)
        ]
        errors = [some["gain"] - some["gain_low"], some["gain_high"] - some["gain"]]
        label = "alone" if front == UNTOUCHED else f"behind {front}"
        top.errorbar(some["gain"], heights, xerr=errors, fmt="o", ms=4, color=colour, label=label)
    top.set_yticks(range(len(places)), [name_of(*pair) for pair in places])
    top.axvline(0, color="black", lw=0.8)
    top.grid(axis="x", alpha=0.3)
    top.set(xlabel="points gained, mean over shifts")
    top.legend(fontsize=8)
    segments, hits = along_stream(on_stream)
    for start, images, shift in segments[["start", "images", "shift"]].itertuples(index=False):
        if shift == CLEAN:
            bottom.axvspan(start, start + images, color="0.9", lw=0)
    peers = alone[(alone["front"] == UNTOUCHED) & ~alone["peer"].isin([UNTOUCHED])]
    best = [] if peers.empty else [peers.loc[peers["gain"].idxmax(), "peer"]]
    shown = [NOTHING, *((UNTOUCHED, peer) for peer in best), (CALIBRATED, UNTOUCHED)]
    for pair, colour in zip(shown, ("black", "C0", "C3")[-len(shown) :], strict=True):
        bottom.plot(_smooth(hits[pair], window), color=colour, lw=1, label=name_of(*pair))
    bottom.set(xlabel="images of the stream (gray: clean)", ylabel=f"% right of {window}")
    bottom.margins(x=0)
    bottom.legend(fontsize=8)
    return figure


def _smooth(hits: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """Share in % of the images around each that were answered rightly, where any was asked for."""
    asked, kernel = ~np.isnan(hits), np.ones(min(window, len(hits)))
    right = np.convolve(np.nan_to_num(hits), kernel, "same")
    return 100 * right / np.maximum(np.convolve(asked, kernel, "same"), 1)
