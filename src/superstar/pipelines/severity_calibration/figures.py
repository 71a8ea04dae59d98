"""The change of the state along each grid."""

import pandas as pd
from matplotlib.figure import Figure

from superstar.corruptions import STRENGTH_LABELS


def severities_figure(
    changes: pd.DataFrame, chosen: pd.DataFrame, rule: tuple[float, float]
) -> Figure:
    """The change along each grid, the five strengths taken from it, and the rule for the fifth."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    for axis, (name, grid) in zip(
        figure.subplots(2, 3).flat, changes.groupby("surrogate", sort=False), strict=True
    ):
        picked = chosen[chosen["surrogate"] == name]
        axis.axhspan(*rule, color="0.92", zorder=0, label="allowed at severity 5")
        axis.plot(grid["strength"], grid["change"], "o-", color="0.6", ms=3, lw=1)
        axis.plot(picked["strength"], picked["change"], "o", color="C3", ms=7, label="severities")
        for severity, strength, change in zip(
            picked["severity"], picked["strength"], picked["change"], strict=True
        ):
            axis.annotate(
                str(severity), (strength, change), (0, 7), textcoords="offset points", ha="center"
            )
        axis.set(
            title=str(name).replace("_", " "),
            xlabel=STRENGTH_LABELS[str(name)],
            ylabel=f"relative change of {grid['feature'].iloc[0]}",
        )
        axis.margins(y=0.15)
        axis.grid(alpha=0.3)
    figure.axes[0].legend(loc="lower right")
    return figure
