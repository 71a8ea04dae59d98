"""How well each projected distance tells the strength of a perturbation: the table, its metrics."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

ORTHONORMAL = ("haar", "dct", "uniform_qr")
RANDOM = ("gaussian", "sparse")
PROJECTIONS = (*ORTHONORMAL, *RANDOM)


def summarise(distances: pd.DataFrame) -> pd.DataFrame:
    """One row a perturbation and projection, at the largest sample.

    Args:
        distances: one row a perturbation, strength, projection, sample size and trial, with the
            `distance` and, for the same draws, the `unprojected` one.

    Returns:
        `spearman`: rank correlation of distance and strength over the points of all trials.
        `spearman_by_trial`: the mean of those within each trial.
        `agreement`: mean over trials of the rank correlation with the unprojected distance.
        `loss`: mean of 1 - projected / unprojected distance.
        `rise`: mean over trials of distance at the last strength / at strength 0 - 1.
        `variation`: standard deviation of the distance over trials / its mean; mean over strengths.
        `ratio_variation`: the same of the ratio projected / unprojected distance.
        `right_from`: the smallest sample from which on every trial puts all strengths in order.
        What is not defined is NaN.
    """
    largest = distances["sample_size"].max()
    rows = []
    for (perturbation, projection), part in distances.groupby(
        ["perturbation", "projection"], sort=False
    ):
        points = part[part["sample_size"] == largest]
        strengths, distance, full = points["strength"], points["distance"], points["unprojected"]
        ratio = distance / full.where(full > 0)
        trials = [trial for _, trial in points.sort_values("strength").groupby("trial")]
        rows.append(
            {
                "perturbation": perturbation,
                "projection": projection,
                "sample_size": largest,
                "spearman": rank_correlation(strengths, distance),
                "spearman_by_trial": _mean(
                    rank_correlation(t["strength"], t["distance"]) for t in trials
                ),
                "agreement": _mean(
                    rank_correlation(t["unprojected"], t["distance"]) for t in trials
                ),
                "loss": 1 - ratio.mean(),
                "rise": _mean(_rise(t["distance"].to_numpy()) for t in trials),
                "variation": _variation(distance, strengths),
                "ratio_variation": _variation(ratio, strengths),
                "right_from": _right_from(part),
            }
        )
    return pd.DataFrame(rows).astype({"right_from": "Int64"})


def metrics(table: pd.DataFrame) -> dict[str, float | None]:
    """`projection_study.<quantity>.<perturbation>.<projection>`; None where it is not defined."""
    quantities = table.columns.drop(["perturbation", "projection", "sample_size"])
    return {
        f"projection_study.{quantity}.{row['perturbation']}.{row['projection']}": (
            None if pd.isna(row[quantity]) else float(row[quantity])
        )
        for quantity in quantities
        for row in table.to_dict("records")
    }


def rank_correlation(first: pd.Series, second: pd.Series) -> float:
    """Spearman's rank correlation; NaN if one of the two does not vary."""
    if first.nunique() < 2 or second.nunique() < 2:
        return float("nan")
    return float(spearmanr(first, second).statistic)


def ceiling(distances: pd.DataFrame) -> float:
    """The most that `spearman` can reach, since trials share their strengths."""
    largest = distances["sample_size"].max()
    points = distances[(distances["sample_size"] == largest) & (distances["projection"] == "none")]
    return max(
        rank_correlation(ordered, pd.Series(range(len(ordered))))
        for _, part in points.groupby("perturbation")
        for ordered in [part["strength"].sort_values()]
    )


def _rise(distances: np.ndarray) -> float:
    return float(distances[-1] / distances[0] - 1) if distances[0] > 0 else float("nan")


def _variation(values: pd.Series, strengths: pd.Series) -> float:
    by_strength = values.groupby(strengths)
    means = by_strength.mean()
    return float((by_strength.std() / means.where(means > 0)).mean())


def _right_from(part: pd.DataFrame) -> float:
    right_from = float("nan")
    for size in sorted(part["sample_size"].unique(), reverse=True):
        sample = part[part["sample_size"] == size].sort_values("strength")
        if not all((np.diff(trial["distance"]) > 0).all() for _, trial in sample.groupby("trial")):
            break
        right_from = float(size)
    return right_from


def _mean(values: Iterable[float]) -> float:
    return float(pd.Series(list(values), dtype=float).mean())
