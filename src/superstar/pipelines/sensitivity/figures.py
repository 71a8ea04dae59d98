"""Gain and harm over the values of each parameter."""

from math import ceil

import pandas as pd
from matplotlib.figure import Figure

from superstar.control.points import OWN
from superstar.pipelines.sensitivity.report import heading
from superstar.pipelines.sensitivity.summary import lines

COLUMNS = 3
Z_95 = 1.96
MARKERS = {"gain": ("o", "C0"), "harm": ("s", "C3")}


def sweep_figure(sweep: pd.DataFrame) -> Figure:
    """A panel a parameter, its values side by side at equal distances, the run's own shaded.

    Bars show how far other batches may move the gain; bands behind the panels of what was trained
    anew, how far other seeds do.
    """
    panels = list(lines(sweep))
    seeds = sweep[sweep["swept"].isin(["seed", OWN])]
    trained = set(sweep.loc[sweep["retrained"], "point"])
    rows = max(1, ceil(len(panels) / COLUMNS))
    figure = Figure(figsize=(4.2 * COLUMNS, 0.8 + 2.6 * rows), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, sharey=True, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, name, points) in zip(axes.flat, panels, strict=False):
        places = range(len(points))
        for measure, (marker, colour) in MARKERS.items():
            axis.plot(
                places, points[measure], marker + "-", color=colour, ms=5, lw=1, label=measure
            )
        axis.errorbar(
            places,
            points["gain"],
            yerr=Z_95 * points["gain_error"],
            fmt="none",
            ecolor=MARKERS["gain"][1],
            capsize=2,
            lw=1,
            label="gain, 95% over batches",
        )
        if trained.intersection(points["point"]) and len(seeds) > 1:
            for measure, (_, colour) in MARKERS.items():
                low, high = seeds[measure].min(), seeds[measure].max()
                axis.axhspan(low, high, color=colour, alpha=0.12, lw=0, label=f"{measure}, seeds")
        own = points["swept"].tolist().index(OWN)
        axis.axvspan(own - 0.3, own + 0.3, color="0.9", zorder=0, label="the run's own value")
        axis.axhline(0, color="black", lw=0.8)
        axis.set_xticks(places, [f"{value:.4g}" for value in points[name]])
        axis.tick_params(axis="x", labelsize=8)
        axis.set_xlim(-0.5, len(points) - 0.5)
        axis.grid(axis="y", alpha=0.3)
        axis.set_title(heading(title))
    labelled = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(labelled.values(), labelled, loc="outside upper right", ncols=len(labelled))
    figure.supylabel("accuracy of standard, points")
    return figure
