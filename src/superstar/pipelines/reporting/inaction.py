"""What the policy wanted, what stopped it, what that cost (paper, appendix G, Inaction)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from superstar.pipelines.reporting.figures import REASON_COLOURS
from superstar.pipelines.reporting.typesetting import readable

WORDS = {
    "kept": "carried out",
    "inoperable": "forbidden by the tree",
    "nop": "the policy wanted none",
    "beta": "stopped by β",
}
OUTCOMES = tuple(WORDS)
COLOURS = {**REASON_COLOURS, "kept": REASON_COLOURS["alpha"]}


def inaction_table(first_actions: pd.DataFrame) -> pd.DataFrame:
    """First actions by shift, each by what became of it, means over severities and trials.

    Args:
        first_actions: one row a cell, trial and classifier.

    Returns:
        `controller`, `shift`, `outcome` ("kept", or what stopped it), `wanted` (the first action;
        the commoner of one outcome first), `share` (of the shift's cells, a severity and a trial
        each, in %), `distance_change` (relative, by the first action alone, in %) and
        `delta_<classifier>` (points of accuracy that it gains alone).
    """
    names = list(dict.fromkeys(first_actions["classifier"]))
    gain = 100 * (first_actions["accuracy_first"] - first_actions["accuracy_shifted"])
    ratio = first_actions["distance_first"] / first_actions["distance_initial"]
    table = first_actions.assign(gain=gain, change=100 * (ratio - 1))
    rows = []
    for (controller, shift), cells in table.groupby(["controller", "shift"], sort=False):
        for outcome in OUTCOMES:
            stopped = cells[cells["outcome"] == outcome]
            for action in stopped["action"].value_counts().index:
                part = stopped[stopped["action"] == action]
                gains = part.groupby("classifier")["gain"].mean()
                rows.append(
                    {
                        "controller": controller,
                        "shift": shift,
                        "outcome": outcome,
                        "wanted": action,
                        "share": 100 * len(part) / len(cells),
                        "distance_change": part["change"].mean(),
                        **{f"delta_{name}": gains[name] for name in names},
                    }
                )
    return pd.DataFrame(rows)


def inaction_figure(table: pd.DataFrame, beta: float) -> Figure:
    """What the first action alone does to distance and accuracy, coloured by what became of it.

    Args:
        table: of `inaction_table`.
        beta: the threshold; an action must bring the distance below this share of the first.
    """
    deltas = [str(column) for column in table.columns if str(column).startswith("delta_")]
    figure = Figure(figsize=(11, 1.4 + 0.26 * len(table)), layout="constrained")
    distance, *axes = figure.subplots(1, 1 + len(deltas), sharey=True)
    rows = np.arange(len(table))
    colours = [COLOURS[outcome] for outcome in table["outcome"]]
    distance.barh(rows, table["distance_change"], color=colours)
    distance.axvline(100 * (beta - 1), color="black", lw=1, ls="--")
    distance.set_xlabel(f"change of the distance, %\n(dashed: β = {beta:.3f})")
    for axis, column in zip(axes, deltas, strict=True):
        axis.barh(rows, table[column], color=colours)
        axis.set_xlabel(f"Δ {column.removeprefix('delta_')}, points")
    for axis in (distance, *axes):
        axis.axvline(0, color="black", lw=0.8)
        axis.grid(axis="x", alpha=0.3)
    distance.set_yticks(
        rows,
        [f"{readable(row.shift)} ({row.share:.0f}%): {row.wanted}" for row in table.itertuples()],
        size=8,
    )
    distance.set_ylim(len(table) - 0.4, -0.6)
    shown = [outcome for outcome in OUTCOMES if (table["outcome"] == outcome).any()]
    figure.legend(
        handles=[Patch(color=COLOURS[outcome], label=WORDS[outcome]) for outcome in shown],
        title="first action alone (in brackets: share of severities and trials)",
        ncols=len(shown),
        loc="outside upper center",
    )
    return figure
