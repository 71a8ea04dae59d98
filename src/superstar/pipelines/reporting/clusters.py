"""States of single images, clustered: which shifts look alike to the policy (appendices G, K)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from superstar.datasets import ShiftedSets
from superstar.images import stream
from superstar.measures import FEATURES, state_features
from superstar.pipelines.drawing import colours, name_rows, stack_bars
from superstar.pipelines.pages import readable

COLUMNS = list(FEATURES)
SHOWN = {"brightness": "brightness (0 black to 2 white)", "std": "standard deviation"}
"""Features drawn over the entropy."""


def sample_states(
    surrogates: pd.DataFrame,
    sets: ShiftedSets,
    shifts: Sequence[str],
    severities: Sequence[int],
    samples: int,
    seed: int,
) -> pd.DataFrame:
    """States of as many single images of each surrogate, shift and the clean set.

    Severities take turns. No image of a surrogate or shift is taken twice; all are where there
    are fewer than `samples`. Of the shifted sets the sampled images alone are read.

    Returns:
        One row a state: `group` ("surrogate" or "benchmark"), `shift`, `severity`, `image` and
        the features.
    """
    parts = []
    for name, states in surrogates.groupby("surrogate", sort=False):
        levels = sorted(states["severity"].unique())
        drawn = _sample(states["image"].nunique(), levels, samples, f"surrogate {name}", seed)
        table = states.set_index(["severity", "image"])[COLUMNS]
        for severity, images in drawn:
            picked = table.loc[severity].loc[images].reset_index()
            parts.append(picked.assign(group="surrogate", shift=name, severity=severity))
    for shift in ("none", *shifts):
        own: Sequence[int | None] = [None] if shift == "none" else severities
        count = len(sets.load(shift, own[0]))
        for severity, images in _sample(count, own, samples, f"shift {shift}", seed):
            batch = sets.load(shift, severity).batch(images)
            picked = pd.DataFrame(state_features(batch).numpy(), columns=COLUMNS)
            picked.insert(0, "image", images)
            parts.append(picked.assign(group="benchmark", shift=shift, severity=severity))
    columns = ["group", "shift", "severity", "image", *COLUMNS]
    return pd.concat(parts, ignore_index=True)[columns].astype({"severity": "Int64"})


def _sample(
    count: int, severities: Sequence[int | None], samples: int, name: str, seed: int
) -> list[tuple[int | None, NDArray[np.int64]]]:
    """Images without repeats, dealt out to the severities."""
    drawn = stream(seed, "clusters", name).permutation(count)[:samples]
    dealt = [(s, drawn[place :: len(severities)]) for place, s in enumerate(severities)]
    return [(severity, images) for severity, images in dealt if len(images)]


def cluster_table(samples: pd.DataFrame) -> pd.DataFrame:
    """How the samples of each surrogate and shift spread over their `cluster`s, in %.

    Returns:
        `group`, `shift`, `cluster` (the one with most of its samples), `share` (in it), and
        `cluster_1`, ... with the share in each.
    """
    keys = [samples["group"], samples["shift"]]
    shares = 100 * pd.crosstab(keys, samples["cluster"], normalize="index")
    shares = shares.loc[list(dict.fromkeys(zip(*keys, strict=True)))]
    table = shares.add_prefix("cluster_").rename_axis(columns=None)
    table.insert(0, "cluster", shares.idxmax(axis=1))
    table.insert(1, "share", shares.max(axis=1))
    return table.reset_index()


def cluster_figure(
    samples: pd.DataFrame, inertias: NDArray[np.float64], table: pd.DataFrame
) -> Figure:
    """The elbow, the states by cluster, and how each shift's samples spread.

    Args:
        samples: states with their `cluster`; there are as many clusters as the elbow says.
        inertias: with one cluster, two, and so on.
        table: of `cluster_table`.
    """
    clusters = sorted(samples["cluster"].unique())
    by_cluster = dict(zip(clusters, colours(len(clusters)), strict=True))
    figure = Figure(figsize=(12, max(8, 0.8 + 0.26 * len(table))), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False)[0]
    elbow, *scatters = left.subplots(3, 1, height_ratios=(2, 3, 3))
    counts = range(1, len(inertias) + 1)
    elbow.plot(counts, inertias, "o-", color="0.4", ms=4)
    elbow.plot(len(clusters), inertias[len(clusters) - 1], "o", color="C3", ms=9, label="elbow")
    ends = [counts[0], counts[-1]], [inertias[0], inertias[-1]]
    elbow.plot(*ends, color="0.7", ls="--", lw=1, label="chord")
    elbow.set(xlabel="number of clusters K", ylabel="inertia", xticks=counts)
    elbow.legend()
    elbow.grid(alpha=0.3)
    for scatter, (feature, label) in zip(scatters, SHOWN.items(), strict=True):
        for cluster, part in samples.groupby("cluster"):
            name, colour = f"cluster {cluster}", by_cluster[cluster]
            scatter.scatter(part["entropy"], part[feature], 5, colour, alpha=0.5, label=name)
        scatter.set(xlabel="entropy, bits", ylabel=label)
        scatter.grid(alpha=0.3)
    handles, labels = scatters[0].get_legend_handles_labels()
    left.legend(handles, labels, markerscale=3, ncols=5, loc="outside lower center")
    bars = right.subplots()
    stack_bars(bars, ((str(k), table[f"cluster_{k}"], colour) for k, colour in by_cluster.items()))
    bars.set_xlabel("samples in each cluster, %")
    names = [
        readable(row.shift) + (" (surrogate)" if row.group == "surrogate" else "")
        for row in table.itertuples()
    ]
    name_rows(bars, names)
    return figure
