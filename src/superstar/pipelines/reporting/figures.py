"""Figures of a run's tables."""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from superstar.datasets import SEVERITIES
from superstar.pipelines.pages import readable
from superstar.pipelines.reporting.tables import OUTCOMES, STOP_REASONS

REASON_COLOURS = {
    "inoperable": "#777777",
    "nop": "#c7c7c7",
    "beta": "#e8a33d",
    "alpha": "#3b7dd8",
    "clean": "#c7c7c7",
    "no_gain": "#e8a33d",
    "home": "#3b7dd8",
    "horizon": "#7a3bd8",
}
OUTCOME_COLOURS = {**REASON_COLOURS, "kept": REASON_COLOURS["alpha"]}
FITS_A_ROW = 3


def colours(count: int) -> list[str]:
    """So many different colours."""
    few = matplotlib.colormaps["tab10"]
    scale = few if count <= few.N else matplotlib.colormaps["turbo"].resampled(count)
    return [to_hex(shade) for shade in scale(range(count))]


def name_rows(axis: Axes, names: Sequence[str], size: int | None = None) -> None:
    """Name the rows of a panel, the first at the top."""
    axis.set_yticks(range(len(names)), names, size=size)
    axis.set_ylim(len(names) - 0.4, -0.6)


def stack_bars(axis: Axes, parts: Iterable[tuple[str, pd.Series, str]]) -> None:
    """Horizontal bars from 0 to 100, a row each value: label, lengths and colour of each part."""
    left = 0.0
    for label, lengths, colour in parts:
        axis.barh(range(len(lengths)), lengths, left=left, color=colour, label=label)
        left = left + lengths.to_numpy()
    axis.set_xlim(0, 100)


def delta_figure(table: pd.DataFrame) -> Figure:
    """Delta of each shift, controller and classifier with its interval, a panel a controller."""
    shifts = list(dict.fromkeys(table["shift"]))
    classifiers = list(dict.fromkeys(table["classifier"]))
    controllers = list(dict.fromkeys(table["controller"]))
    size = (2.5 + 6 * len(controllers), 0.8 + 0.42 * len(shifts))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(controllers), sharex=True, sharey=True, squeeze=False)[0]
    height = 0.8 / len(classifiers)
    for axis, controller in zip(axes, controllers, strict=True):
        own = table[table["controller"] == controller]
        for place, (name, colour) in enumerate(
            zip(classifiers, colours(len(classifiers)), strict=True)
        ):
            part = own[own["classifier"] == name].set_index("shift").loc[shifts]
            rows = np.arange(len(shifts)) + (place - (len(classifiers) - 1) / 2) * height
            bounds = part[["delta_low", "delta_high"]].to_numpy().T
            errors = np.abs(bounds - part["delta"].to_numpy())
            label = name if axis is axes[0] else None
            axis.barh(
                rows,
                part["delta"],
                height,
                xerr=errors,
                color=colour,
                label=label,
                error_kw={"lw": 1},
            )
        axis.axvline(0, color="black", lw=0.8)
        axis.set(title=f"controller {controller}", xlabel="Δ accuracy, points (bars: interval)")
        axis.grid(axis="x", alpha=0.3)
    name_rows(axes[0], [readable(shift) for shift in shifts])
    figure.legend(title="classifier", loc="outside right upper")
    return figure


def severity_figure(table: pd.DataFrame) -> Figure:
    """Delta by shift and severity, a panel a classifier and controller."""
    table = table.assign(panel=table["classifier"] + ", " + table["controller"])
    classifiers = list(dict.fromkeys(table.sort_values("classifier", kind="stable")["panel"]))
    shifts = list(dict.fromkeys(table["shift"]))
    columns = [column for column in table.columns if str(column).startswith("severity_")]
    values = {
        name: part.set_index("shift").loc[shifts, columns].to_numpy(float)
        for name, part in table.groupby("panel")
    }
    bound = max(1.0, max(np.abs(v).max() for v in values.values()))
    figure = Figure(
        figsize=(2 + 3.2 * len(classifiers), 1 + 0.36 * len(shifts)), layout="constrained"
    )
    axes = figure.subplots(1, len(classifiers), sharey=True, squeeze=False)[0]
    for axis, name in zip(axes, classifiers, strict=True):
        image = axis.imshow(values[name], cmap="RdBu", vmin=-bound, vmax=bound, aspect="auto")
        for (row, column), value in np.ndenumerate(values[name]):
            colour = "white" if abs(value) > 0.6 * bound else "black"
            text = "0" if value == 0 else f"{value:+.1f}".replace("-0.0", "0.0")
            axis.text(column, row, text, ha="center", va="center", color=colour, size=8)
        axis.set_xticks(range(len(columns)), [c.removeprefix("severity_") for c in columns])
        axis.set_yticks(range(len(shifts)), [readable(shift) for shift in shifts])
        axis.set(title=name, xlabel="severity")
    figure.colorbar(image, ax=list(axes), label="Δ accuracy, points", shrink=0.8)
    return figure


def actions_figure(table: pd.DataFrame) -> Figure:
    """For each shift and controller, how often it acted and what ended the sequence."""
    controllers = list(dict.fromkeys(table["controller"]))
    shifts = list(dict.fromkeys(table["shift"]))
    size = (2 + 7 * len(controllers), 0.9 + 0.36 * len(shifts))
    figure = Figure(figsize=size, layout="constrained")
    ratios = (1, 2) * len(controllers)
    axes = figure.subplots(1, len(ratios), sharey=True, width_ratios=ratios)
    for place, controller in enumerate(controllers):
        own = table[table["controller"] == controller].set_index("shift").loc[shifts]
        acted, stopped = axes[2 * place : 2 * place + 2]
        stack_bars(acted, [("acted", own["acted"], REASON_COLOURS["alpha"])])
        acted.set(title=controller, xlabel="acted, % of cells")
        reasons = [name for name in STOP_REASONS if own[f"stopped_by_{name}"].any()]
        stack_bars(
            stopped,
            ((name, own[f"stopped_by_{name}"], REASON_COLOURS[name]) for name in reasons),
        )
        stopped.set_xlabel("stopped by, % of cells")
        stopped.legend(ncols=3, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    name_rows(axes[0], [readable(shift) for shift in shifts])
    return figure


def inaction_figure(table: pd.DataFrame, thresholds: Mapping[str, float]) -> Figure:
    """What the first action alone does to distance and accuracy, coloured by what became of it.

    Args:
        table: of `tables.inaction_table`.
        thresholds: `beta`; an action must bring the distance below this share of the first.
    """
    beta = thresholds["beta"]
    deltas = [str(column) for column in table.columns if str(column).startswith("delta_")]
    figure = Figure(figsize=(11, 1.4 + 0.26 * len(table)), layout="constrained")
    distance, *axes = figure.subplots(1, 1 + len(deltas), sharey=True)
    rows = range(len(table))
    filled = [OUTCOME_COLOURS[outcome] for outcome in table["outcome"]]
    distance.barh(rows, table["distance_change"], color=filled)
    distance.axvline(100 * (beta - 1), color="black", lw=1, ls="--")
    distance.set_xlabel(f"change of the distance, %\n(dashed: β = {beta:.3f})")
    for axis, column in zip(axes, deltas, strict=True):
        axis.barh(rows, table[column], color=filled)
        axis.set_xlabel(f"Δ {column.removeprefix('delta_')}, points")
    for axis in (distance, *axes):
        axis.axvline(0, color="black", lw=0.8)
        axis.grid(axis="x", alpha=0.3)
    name_rows(
        distance,
        [f"{readable(row.shift)} ({row.share:.0f}%): {row.wanted}" for row in table.itertuples()],
        size=8,
    )
    shown = [outcome for outcome in OUTCOMES if (table["outcome"] == outcome).any()]
    figure.legend(
        handles=[Patch(color=OUTCOME_COLOURS[name], label=OUTCOMES[name]) for name in shown],
        title="first action alone (in brackets: share of severities and trials)",
        ncols=len(shown),
        loc="outside upper center",
    )
    return figure


def policy_figure(
    curves: pd.DataFrame, actions: Sequence[str], batches: Mapping[str, range], window: int
) -> Figure:
    """Training curves, averaged over a moving window of episodes (paper, appendix E).

    Args:
        curves: one row an episode.
        actions: names, each a column with how often it was taken.
        batches: numbers of each surrogate's batches; surrogates never drawn have no curve.
        window: episodes to average.
    """
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    reward, ratio, chosen = figure.subplots(1, 3)
    by_episode = curves.set_index("episode")
    smooth = by_episode.rolling(window, min_periods=1).mean()
    first, *others = colours(1 + len(batches))
    reward.plot(by_episode["reward"], color="0.85", lw=0.6, label="each episode")
    reward.plot(smooth["reward"], color=first, label=f"mean of {window}")
    ratio.plot(smooth["distance_ratio"], color=first, label="all")
    for (name, own), colour in zip(batches.items(), others, strict=True):
        part = by_episode[by_episode["batch"].isin(own)]
        part = part.rolling(max(1, window // len(batches)), min_periods=1).mean()
        if len(part):
            reward.plot(part["reward"], color=colour, lw=1, label=readable(name))
            ratio.plot(part["distance_ratio"], color=colour, lw=1, label=readable(name))
    reward.set(xlabel="episode", ylabel="reward at termination")
    reward.legend(fontsize=7, loc="lower right")
    ratio.set(xlabel="episode", ylabel="final / initial distance")
    ratio.legend(fontsize=7)
    shares = smooth[list(actions)].div(smooth[list(actions)].sum(axis=1), axis=0)
    chosen.stackplot(smooth.index, shares.to_numpy().T, labels=actions, alpha=0.85)
    chosen.set(xlabel="episode", ylabel="share of actions", ylim=(0, 1))
    chosen.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    for axis in (reward, ratio):
        axis.grid(alpha=0.3)
    return figure


def fits_figure(fits: pd.DataFrame, labels: pd.DataFrame) -> Figure:
    """Distance against accuracy of each surrogate, with its line and verdict."""
    height = -(-len(labels) // FITS_A_ROW)
    figure = Figure(figsize=(11, 3 * height), layout="constrained")
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
        sign = "+" if label.slope > 0 else "−"
        line = f"distance = {label.intercept:.1f} {sign} {abs(label.slope):.1f} · accuracy"
        axis.set_title(
            f"{readable(label.surrogate)}: {verdict}\n{line}, R² = {label.r_squared:.2f}", size=9
        )
        axis.set(xlabel="accuracy (share of images)", ylabel="distance")
        axis.grid(alpha=0.3)
    figure.colorbar(dots, ax=axes, label="severity", ticks=list(SEVERITIES), shrink=0.6)
    return figure
