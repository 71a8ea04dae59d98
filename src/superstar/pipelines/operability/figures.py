"""The operability tree, drawn, and how its depth was chosen."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from sklearn.tree import DecisionTreeClassifier

from superstar.measures import FEATURES
from superstar.pipelines.drawing import WIDTH, in_small_print

SHOWN_LEAVES = 6
"""Branches of the drawing; the splits that tell most apart come first."""
UNITS = {"entropy": " bits"}
INOPERABLE, OPERABLE = "#b0b0b0", "#7fb0ea"
SHADES = LinearSegmentedColormap.from_list("operable", [INOPERABLE, "#ffffff", OPERABLE])


@in_small_print
def tree_figure(tree: DecisionTreeClassifier) -> Figure:
    """The tree from the root at the left, cut to the splits that decide most."""
    split = deciding_splits(tree, SHOWN_LEAVES - 1)
    figure = Figure(layout="constrained")
    axis = figure.subplots()
    below, height = _draw_below(axis, tree, split, 0, 0, 0.0)[1:]
    figure.set_size_inches(WIDTH, max(1.6, 0.5 * height + 0.9))
    axis.set(xlim=(-0.5, below + 0.5), ylim=(height - 0.4, -0.6))
    axis.axis("off")
    depth, leaves, images = tree.get_depth(), tree.get_n_leaves(), tree.tree_.n_node_samples[0]
    cut = f", the {len(split)} splits that decide most" if len(split) < leaves - 1 else ""
    axis.set_title(
        f"Operability tree of depth {depth} with {leaves} leaves{cut}\n"
        f"{images:,} images at severity 5. Upper branch: the condition holds."
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


def deciding_splits(tree: DecisionTreeClassifier, count: int) -> set[int]:
    """Nodes whose splits lower the impurity most, at most `count`, each below another or the root.

    Splits under which all images get one verdict decide nothing, and are left out.
    """
    inner = tree.tree_
    weighted = inner.impurity * inner.n_node_samples

    def verdicts(node: int) -> set[int]:
        left, right = int(inner.children_left[node]), int(inner.children_right[node])
        if left == right:
            return {int(inner.value[node, 0].argmax())}
        return verdicts(left) | verdicts(right)

    chosen: set[int] = set()
    open_nodes = [0]
    while open_nodes and len(chosen) < count:
        gains = {
            node: weighted[node]
            - weighted[inner.children_left[node]]
            - weighted[inner.children_right[node]]
            for node in open_nodes
            if len(verdicts(node)) > 1
        }
        if not gains:
            break
        best = max(gains, key=lambda node: gains[node])
        chosen.add(best)
        open_nodes.remove(best)
        open_nodes += [int(inner.children_left[best]), int(inner.children_right[best])]
    return chosen


def _draw_below(
    axis: Axes, tree: DecisionTreeClassifier, split: set[int], node: int, depth: int, row: float
) -> tuple[float, int, float]:
    """Draw a node and what is below it from a row on.

    Returns:
        Its own row, the greatest depth drawn, and the next free row.
    """
    inner = tree.tree_
    lines, deepest = [], depth
    counts = dict(zip(tree.classes_, inner.value[node, 0], strict=True))
    operable = float(counts.get(1, 0.0) / sum(counts.values()))
    centre, free = row, row + 1
    if node in split:
        name = FEATURES[inner.feature[node]]
        lines.append(f"{name} ≤ {inner.threshold[node]:.3g}{UNITS.get(name, '')}")
        left, right = int(inner.children_left[node]), int(inner.children_right[node])
        upper, deep, free = _draw_below(axis, tree, split, left, depth + 1, row)
        lower, deeper, free = _draw_below(axis, tree, split, right, depth + 1, free)
        centre, deepest = (upper + lower) / 2, max(deep, deeper)
        for child in (upper, lower):
            axis.plot([depth, depth + 1], [centre, child], color="0.6", lw=1, zorder=0)
    lines.append(f"{100 * operable:.0f}% operable of {inner.n_node_samples[node]:,}")
    axis.text(
        depth,
        centre,
        "\n".join(lines),
        ha="center",
        va="center",
        size=8,
        bbox={"boxstyle": "round", "facecolor": SHADES(operable), "edgecolor": "0.4"},
    )
    return centre, deepest, free


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
