"""Gains of the policy beside those of the oracles."""

import pandas as pd
from matplotlib.figure import Figure

from superstar.control.comparison import BY_DISTANCE, FREE
from superstar.pipelines.oracle.summary import RUNGS, ladder

LABELS = {
    "oracle of accuracy": "oracle of accuracy, no brakes",
    "oracle of distance": "oracle of distance, no brakes",
}
MARKERS = {
    "oracle of accuracy": ("D", "black"),
    "oracle of distance": ("s", "C0"),
    "policy, no brakes": ("o", "C1"),
    "policy": ("o", "C3"),
}


def oracle_figure(found: pd.DataFrame) -> Figure:
    """Accuracy that comes back by shift, and accuracy against distance of the nearest images."""
    table = ladder(found, "test")
    table = table[table["shift"] != "none"]
    figure = Figure(figsize=(13, max(4.5, 0.9 + 0.4 * len(table))), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = range(len(table))
    left.barh(rows, table["lost"], color="0.9", label="lost to the shift")
    for place, rung in enumerate(RUNGS):
        marker, colour = MARKERS[rung]
        heights = [row + 0.18 * (place - (len(RUNGS) - 1) / 2) for row in rows]
        left.plot(
            table[rung], heights, marker, color=colour, ms=5, ls="", label=LABELS.get(rung, rung)
        )
    left.axvline(0, color="black", lw=0.8)
    left.set_yticks(rows, [shift.replace("_", " ") for shift in table["shift"]])
    left.invert_yaxis()
    left.margins(y=0.01)
    left.grid(axis="x", alpha=0.3)
    left.set(title="test shifts", xlabel="accuracy of standard, points (mean over severities)")
    left.legend(fontsize=8)
    nearest = found[(found["controller"] == FREE) & (found["policy"] == BY_DISTANCE)]
    for split, colour in (("surrogate", "C0"), ("test", "C1")):
        part = nearest[nearest["split"] == split]
        right.scatter(
            100 * part["distance_gain"], part["accuracy_gain"], 14, color=colour, label=split
        )
    right.axhline(0, color="black", lw=0.8)
    right.grid(alpha=0.3)
    right.set(
        title="the images that come nearest without brakes, one point a set",
        xlabel="fall of the distance, %",
        ylabel="gain in accuracy of standard, points",
    )
    right.legend()
    return figure
