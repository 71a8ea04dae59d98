"""Gain against harm."""

from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from superstar.pipelines.sensitivity.points import GRID, OWN
from superstar.pipelines.sensitivity.summary import lines

COLUMNS = 3


def sweep_figure(sweep: pd.DataFrame) -> Figure:
    """A panel a parameter on common axes: points in the order of its values, the run's own a star.

    The grid has a line for each α, along β.
    """
    panels = list(lines(sweep))
    rows = max(1, ceil(len(panels) / COLUMNS))
    figure = Figure(figsize=(4.6 * COLUMNS, 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, name, points) in zip(axes.flat, panels, strict=False):
        axis.set_title(title.replace("_", " "))
        axis.grid(alpha=0.3)
        if title == GRID:
            for alpha, part in points[points["swept"] == GRID].groupby("alpha"):
                _line(axis, part, name, label=f"alpha {alpha:g}")
            axis.legend(fontsize=8, loc="lower right")
        else:
            _line(axis, points, name)
        own = sweep[sweep["swept"] == OWN]
        axis.plot(own["harm"], own["gain"], "*", color="black", ms=13, zorder=3)
    figure.supxlabel("harm: mean loss of accuracy where it fell, points")
    figure.supylabel("gain in accuracy of standard, points")
    figure.suptitle("surrogates of validation images; ★ the run's own setting")
    return figure


def _line(axis: Axes, points: pd.DataFrame, name: str, label: str | None = None) -> None:
    axis.plot(points["harm"], points["gain"], "o-", ms=4, lw=1, alpha=0.8, label=label)
    # Points that lie on one another share a label.
    for (harm, gain), part in points.groupby(["harm", "gain"]):
        values = ", ".join(f"{value:.4g}" for value in part[name])
        axis.annotate(values, (harm, gain), (4, 4), textcoords="offset points", size=8)
