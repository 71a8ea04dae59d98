"""The figures of appendix C in one, on one scale."""

import pandas as pd
from matplotlib.figure import Figure

from superstar.pipelines.drawing import WIDTH, colours, in_small_print
from superstar.pipelines.pages import readable

UNITS = {
    "gaussian_noise": "standard deviation",
    "impulse_noise": "share of pixels",
    "gaussian_blur": "sigma, pixels",
}
KEYS = ["perturbation", "projection", "sample_size"]


@in_small_print
def distances_figure(distances: pd.DataFrame) -> Figure:
    """Distance over strength, as a multiple of that at strength 0; a curve a projection.

    Above with the smallest samples, below with the largest. Curves are means over trials, thinner
    from one to the next so that those below show; bands run from the least to the greatest.
    """
    sizes = sorted({distances["sample_size"].min(), distances["sample_size"].max()})
    perturbations = list(dict.fromkeys(distances["perturbation"]))
    projections = list(dict.fromkeys(distances["projection"]))
    clean = distances[distances["strength"] == 0].set_index([*KEYS, "trial"])["distance"]
    rows = distances[distances["sample_size"].isin(sizes)].join(
        clean.rename("clean"), on=[*KEYS, "trial"]
    )
    rows = rows.assign(ratio=rows["distance"] / rows["clean"])
    shades = colours(len(projections))
    figure = Figure(figsize=(WIDTH, 0.6 + 2.1 * len(sizes)), layout="constrained")
    grid = figure.subplots(len(sizes), len(perturbations), squeeze=False, sharex="col", sharey=True)
    for axes, size in zip(grid, sizes, strict=True):
        axes[0].set_ylabel(f"{size} images")
        for axis, perturbation in zip(axes, perturbations, strict=True):
            panel = rows[(rows["sample_size"] == size) & (rows["perturbation"] == perturbation)]
            for place, projection in enumerate(projections):
                colour, width = shades[place], 1 + 0.8 * (len(projections) - place)
                curve = panel[panel["projection"] == projection].groupby("strength")["ratio"]
                axis.fill_between(
                    curve.min().index, curve.min(), curve.max(), color=colour, alpha=0.1, lw=0
                )
                label = "no projection" if projection == "none" else projection
                axis.plot(curve.mean(), color=colour, lw=width, label=label)
            axis.axhline(1, color="black", lw=0.8)
            axis.grid(alpha=0.3)
    for axis, perturbation in zip(grid[0], perturbations, strict=True):
        axis.set_title(readable(perturbation))
    for axis, perturbation in zip(grid[-1], perturbations, strict=True):
        axis.set_xlabel(UNITS[perturbation])
    figure.legend(
        *axis.get_legend_handles_labels(), loc="outside lower center", ncols=len(projections)
    )
    figure.supylabel("distance / distance at strength 0", fontsize=8)
    return figure
