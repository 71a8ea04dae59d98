"""The operability tree, drawn, and how its depth was chosen."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from sklearn.tree import DecisionTreeClassifier

from superstar.measures import FEATURES

SHOWN_DEPTH = 4
"""Depth to which a tree is drawn; beyond, the boxes would be too small to read."""
UNITS = {"entropy": " bits"}
INOPERABLE, OPERABLE = "#b0b0b0", "#7fb0ea"
SHADES = LinearSegmentedColormap.from_list("operable", [INOPERABLE, "#ffffff", OPERABLE])


def tree_figure(tree: DecisionTreeClassifier) -> Figure:
    """The tree from the root at the left, to a depth that can be read."""
    figure = Figure(layout="constrained")
    axis = figure.subplots()
    height = _draw_below(axis, tree, 0, 0, 0.0)[1]
    shown = min(tree.get_depth(), SHOWN_DEPTH)
    figure.set_size_inches(2.35 * (shown + 1), max(2.2, 0.5 * height + 1.0))
    axis.set(xlim=(-0.5, shown + 0.5), ylim=(height - 0.4, -0.6))
    axis.axis("off")
    depth, leaves, images = tree.get_depth(), tree.get_n_leaves(), tree.tree_.n_node_samples[0]
    cut = f", drawn to depth {SHOWN_DEPTH}" if depth > SHOWN_DEPTH else ""
    axis.set_title(
        f"Operability tree of depth {depth} with {leaves} leaves{cut}; {images:,} images at "
        "severity 5. Upper branch: the condition holds.",
        size=10,
    )
    figure.legend(
        handles=[
            Patch(facecolor=OPERABLE, edgecolor="0.4", label="all operable"),
            Patch(facecolor="white", edgecolor="0.4", label="half of them"),
            Patch(facecolor=INOPERABLE, edgecolor="0.4", label="all inoperable"),
        ],
        loc="outside lower center",
        ncols=3,
    )
    return figure


def _draw_below(
    axis: Axes, tree: DecisionTreeClassifier, node: int, depth: int, row: float
) -> tuple[float, float]:
    """Draw a node and what is below it from a row on; its own row, and the next free one."""
    inner = tree.tree_
    left, right = int(inner.children_left[node]), int(inner.children_right[node])
    lines = []
    if left != right:
        name = FEATURES[inner.feature[node]]
        lines.append(f"{name} ≤ {inner.threshold[node]:.3g}{UNITS.get(name, '')}")
    counts = dict(zip(tree.classes_, inner.value[node, 0], strict=True))
    operable = float(counts.get(1, 0.0) / sum(counts.values()))
    lines.append(f"{100 * operable:.0f}% operable of {inner.n_node_samples[node]:,}")
    centre, free = row, row + 1
    if left != right and depth < SHOWN_DEPTH:
        upper, free = _draw_below(axis, tree, left, depth + 1, row)
        lower, free = _draw_below(axis, tree, right, depth + 1, free)
        centre = (upper + lower) / 2
        for child in (upper, lower):
            axis.plot([depth, depth + 1], [centre, child], color="0.6", lw=1, zorder=0)
    elif left != right:
        lines[-1] += " …"
    axis.text(
        depth,
        centre,
        "\n".join(lines),
        ha="center",
        va="center",
        size=8,
        bbox={"boxstyle": "round", "facecolor": SHADES(operable), "edgecolor": "0.4"},
    )
    return centre, free


def depths_figure(sweep: pd.DataFrame, chosen: int, commonest: float) -> Figure:
    """Accuracy and AUROC on the hold-out by depth of the tree, the chosen depth marked.

    Args:
        sweep: a row a depth.
        chosen: the depth chosen.
        commonest: accuracy of always saying the commoner label.
    """
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.axvline(chosen, color="0.6", ls="--", lw=1, label=f"chosen: {chosen}")
    axis.plot(sweep["depth"], sweep["accuracy"].astype(float), "o-", label="accuracy")
    axis.plot(sweep["depth"], sweep["auroc"].astype(float), "s-", label="AUROC")
    axis.axhline(commonest, color="C0", ls=":", lw=1, label="accuracy, commoner label")
    axis.set(
        xlabel="greatest depth of the tree",
        ylabel="on images held out, severity 5",
        xticks=sweep["depth"],
    )
    axis.grid(alpha=0.3)
    axis.legend()
    return figure
