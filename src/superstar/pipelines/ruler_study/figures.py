"""Fall of the reading beside gain in accuracy."""

import pandas as pd
from matplotlib.figure import Figure

COLUMNS = 3


def rulers_figure(surrogates: pd.DataFrame, tests: pd.DataFrame) -> Figure:
    """A panel a ruler, a point a shift, severity and correction.

    Falls are shares of the largest reading of that ruler, so that panels share their scale.
    """
    rulers = list(dict.fromkeys(surrogates["ruler"]))
    rows = -(-len(rulers) // COLUMNS)
    figure = Figure(figsize=(3.6 * COLUMNS, 3.2 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True).ravel()
    for axis in grid[len(rulers) :]:
        axis.set_visible(False)
    for axis, ruler in zip(grid, rulers, strict=False):
        parts = [table[table["ruler"] == ruler] for table in (surrogates, tests)]
        largest = max(part["before"].max() for part in parts)
        for part, colour, label in zip(parts, ("C0", "C1"), ("surrogates", "test"), strict=True):
            fall = (part["before"] - part["after"]) / largest
            axis.scatter(fall, part["gain"], s=6, alpha=0.4, lw=0, color=colour, label=label)
        axis.axhline(0, color="0.6", lw=0.8)
        axis.axvline(0, color="0.6", lw=0.8)
        axis.set_xlim(-0.6, 1)
        axis.set_title(str(ruler).replace("_", " "), fontsize=10)
    grid[0].legend(fontsize=8, markerscale=2)
    figure.supxlabel("fall of the reading (1: the largest reading; those that rise more are cut)")
    figure.supylabel("gain in accuracy, points")
    return figure
