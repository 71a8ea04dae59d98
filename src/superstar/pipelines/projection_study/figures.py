"""The three figures of appendix C in one."""

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter, NullLocator

UNITS = {
    "gaussian_noise": "standard deviation",
    "impulse_noise": "share of pixels",
    "gaussian_blur": "sigma, pixels",
}


def distances_figure(distances: pd.DataFrame) -> Figure:
    """Distance over sample size, a curve a strength: a row a perturbation, a column a projection.

    Curves are means over trials, bands run from the least to the greatest. Every panel has its own
    scale, since projections differ in how they shrink distances.
    """
    perturbations = list(dict.fromkeys(distances["perturbation"]))
    projections = list(dict.fromkeys(distances["projection"]))
    sizes = sorted(distances["sample_size"].unique())
    figure = Figure(
        figsize=(2.35 * len(projections) + 1.6, 2.5 * len(perturbations) + 0.4),
        layout="constrained",
    )
    grid = figure.subplots(len(perturbations), len(projections), squeeze=False, sharex=True)
    for axes, perturbation in zip(grid, perturbations, strict=True):
        rows = distances[distances["perturbation"] == perturbation]
        strengths = sorted(rows["strength"].unique())
        colours = matplotlib.colormaps["viridis"].resampled(len(strengths) + 1)
        for axis, projection in zip(axes, projections, strict=True):
            panel = rows[rows["projection"] == projection]
            for place, strength in enumerate(strengths):
                curve = panel[panel["strength"] == strength].groupby("sample_size")["distance"]
                colour = colours(place)
                axis.fill_between(sizes, curve.min(), curve.max(), color=colour, alpha=0.15, lw=0)
                axis.plot(
                    sizes, curve.mean(), "o-", color=colour, ms=2.5, lw=1.2, label=f"{strength:g}"
                )
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(FixedLocator(sizes))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.yaxis.set_major_locator(MaxNLocator(5))
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.3)
        axes[0].set_ylabel(f"{perturbation.replace('_', ' ')}\nWasserstein distance")
        handles, _ = axes[-1].get_legend_handles_labels()
        # As the curves lie, the highest first.
        handles.sort(key=lambda curve: curve.get_ydata()[-1], reverse=True)
        axes[-1].legend(
            handles=handles,
            title=UNITS[perturbation],
            fontsize=8,
            title_fontsize=8,
            loc="center left",
            bbox_to_anchor=(1.02, 0.5),
        )
    for axis, projection in zip(grid[0], projections, strict=True):
        axis.set_title("no projection" if projection == "none" else projection)
    for axis in grid[-1]:
        axis.set_xlabel("sample size")
    figure.supxlabel(
        "Curves: means over trials; bands: from the least to the greatest. "
        "Each panel has its own scale.",
        fontsize=9,
    )
    return figure
