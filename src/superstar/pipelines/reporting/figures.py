"""Figures of a run's tables."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from superstar.datasets import SEVERITIES
from superstar.pipelines.drawing import (
    CORRECTIONS,
    WIDTH,
    colours,
    gain_maps,
    in_small_print,
    name_rows,
    stack_bars,
)
from superstar.pipelines.pages import number, readable
from superstar.pipelines.reporting.tables import OUTCOMES, SEVERITY

LEFT = {
    "clean": ("looks clean", "#e8e8e8"),
    "no_gain": ("no gain expected", "#cccccc"),
    "nop": ("policy chose nothing", "#b0b0b0"),
    "beta": ("comes no nearer (β)", "#949494"),
    "inoperable": ("inoperable (tree)", "#606060"),
}
"""Why images were left as they are, in words, and the gray that stands for it."""
FITS_A_ROW = 3
BAND = (0.1, 0.9)
"""Quantiles of the episodes of a window between which a training curve's band lies."""


def severity_figure(table: pd.DataFrame) -> Figure:
    """Delta by shift and severity of the main table, a panel a classifier and controller."""
    shifted = table[table["shift"] != "none"]
    columns = [name for name in table if str(name).startswith(SEVERITY)]
    names = {name: name.removeprefix(SEVERITY) for name in columns}
    panels = {
        f"{controller}\non {classifier}": own.set_index("shift")[columns].rename(columns=names)
        for classifier, rows in shifted.groupby("classifier", sort=False)
        for controller, own in rows.groupby("controller", sort=False)
    }
    return gain_maps(panels, "severity")


@in_small_print
def actions_figure(table: pd.DataFrame) -> Figure:
    """For each shift and controller, how often which correction came first, or why none did.

    Args:
        table: of `tables.action_table`.
    """
    shifts = list(dict.fromkeys(table["shift"]))
    controllers = list(dict.fromkeys(table["controller"]))
    names = CORRECTIONS | LEFT  # nothing chosen is no correction
    order = [name for name in names if name in set(table["what"])]
    figure = Figure(figsize=(WIDTH, 1.4 + 0.19 * len(shifts)), layout="constrained")
    axes = figure.subplots(1, len(controllers), sharey=True, squeeze=False)[0]
    for axis, controller in zip(axes, controllers, strict=True):
        own = table[table["controller"] == controller]
        shares = own.pivot(index="shift", columns="what", values="share")
        shares = shares.reindex(index=shifts, columns=order).fillna(0.0)
        stack_bars(axis, ((names[name][0], shares[name], names[name][1]) for name in order))
        axis.set(title=controller, xlabel="% of batches")
    name_rows(axes[0], [readable(shift) for shift in shifts])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside lower center", frameon=False)
    return figure


def inaction_figure(table: pd.DataFrame) -> Figure:
    """What the policy's first correction alone does to accuracy, by what became of it.

    Args:
        table: of `tables.inaction_table`; corrections of one outcome are averaged.
    """
    deltas = [str(name) for name in table if str(name).startswith("delta_")]
    shifts = list(dict.fromkeys(table["shift"]))
    outcomes = [name for name in OUTCOMES if (table["outcome"] == name).any()]
    weighted = table.assign(**{name: table[name] * table["share"] for name in deltas})
    sums = weighted.groupby(["shift", "outcome"])[[*deltas, "share"]].sum().unstack("outcome")
    shares = sums["share"].reindex(index=shifts, columns=outcomes)
    panels, texts = {}, {}
    for name in deltas:
        title = f"accuracy of {name.removeprefix('delta_')}"
        gains = sums[name].reindex(index=shifts, columns=outcomes) / shares
        panels[title] = gains.rename(columns=lambda name: OUTCOMES[name].replace(" ", "\n"))
        texts[title] = pd.DataFrame(
            {
                outcome: [
                    "" if np.isnan(gain) else f"{number(gain, 0, sign=True)} ({share:.0f}%)"
                    for gain, share in zip(gains[outcome], shares[outcome], strict=True)
                ]
                for outcome in outcomes
            }
        )
    return gain_maps(panels, "what became of the first correction", texts)


@in_small_print
def policy_figure(
    curves: pd.DataFrame, actions: Sequence[str], batches: Mapping[str, range], window: int
) -> Figure:
    """Training curves over a moving window of episodes (paper, appendix E).

    Args:
        curves: one row an episode.
        actions: names, each a column with how often it was taken.
        batches: numbers of each surrogate's batches; surrogates never drawn have no curve.
        window: episodes to average.
    """
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    reward, ratio, chosen = figure.subplots(1, 3)
    by_episode = curves.set_index("episode")
    for (name, own), colour in zip(batches.items(), colours(len(batches)), strict=True):
        part = by_episode[by_episode["batch"].isin(own)]
        if part.empty:
            continue
        _curve(reward, part["reward"], max(1, window // len(batches)), colour, readable(name))
        _curve(ratio, part["distance_ratio"], max(1, window // len(batches)), colour)
    reward.set(title="reward at the end", xlabel="episode")
    ratio.set(title="final / initial distance", xlabel="episode")
    ratio.axhline(1, color="black", lw=0.8)
    counts = by_episode[list(actions)].rolling(window, min_periods=1).mean()
    shares = 100 * counts.div(counts.sum(axis=1), axis=0)
    names, shades = zip(*(CORRECTIONS[name] for name in actions), strict=True)
    chosen.stackplot(shares.index, shares.to_numpy().T, labels=names, colors=shades)
    chosen.set(title="% of actions", xlabel="episode", ylim=(0, 100))
    chosen.margins(x=0)
    for axis in (reward, ratio):
        axis.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def _curve(
    axis: Axes, values: pd.Series, window: int, colour: str, label: str | None = None
) -> None:
    rolling = values.rolling(window, min_periods=1)
    low, high = (rolling.quantile(q) for q in BAND)
    axis.fill_between(values.index, low, high, color=colour, alpha=0.2, lw=0)
    axis.plot(rolling.mean(), color=colour, lw=1.4, label=label)


@in_small_print
def fits_figure(fits: pd.DataFrame, labels: pd.DataFrame) -> Figure:
    """Distance against accuracy of each surrogate, with its line and verdict."""
    height = -(-len(labels) // FITS_A_ROW)
    figure = Figure(figsize=(WIDTH, 2.3 * height), layout="constrained")
    axes = figure.subplots(height, FITS_A_ROW, squeeze=False)
    for axis in axes.flat[len(labels) :]:
        axis.axis("off")
    for axis, label in zip(axes.flat, labels.itertuples(), strict=False):
        points = fits[fits["surrogate"] == label.surrogate]
        span = np.array([points["accuracy"].min(), points["accuracy"].max()])
        axis.plot(span, label.intercept + label.slope * span, color="0.6")
        dots = axis.scatter(
            points["accuracy"],
            points["distance"],
            c=points["severity"],
            cmap=matplotlib.colormaps["viridis"].resampled(len(SEVERITIES)),
            vmin=SEVERITIES[0] - 0.5,
            vmax=SEVERITIES[-1] + 0.5,
        )
        verdict = "operable" if label.operable else "inoperable"
        axis.set_title(
            f"{readable(label.surrogate)}: {verdict}\nslope {label.slope:.3g}, "
            f"R² {label.r_squared:.2f}"
        )
        axis.set(xlabel="accuracy", ylabel="distance")
        axis.grid(alpha=0.3)
    figure.colorbar(dots, ax=axes, label="severity", ticks=list(SEVERITIES), shrink=0.6)
    return figure
