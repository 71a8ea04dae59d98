"""Means over the shifts of a benchmark, as those who use it expect them, with intervals."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from superstar.corruptions import SHIFT_SETS
from superstar.pipelines.reporting.reference import OWN
from superstar.pipelines.reporting.tables import bootstrap_interval, mean_by_image, trial_errors

NAMES = ["policy", "controller", "classifier"]
COLUMNS = ["policy", "controller", "group", "shifts", "classifier"]
COLUMNS += ["shifted", "recovered", "delta", "delta_low", "delta_high"]


class Weighted(NamedTuple):
    """A weighted sum over shifts: before, after, and an interval of the difference; shares."""

    shifted: float
    recovered: float
    low: float
    high: float


def all_policies(own: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """Rows of the run's own policy, named so, before those of policies from elsewhere."""
    return pd.concat([own.assign(policy=OWN), elsewhere], ignore_index=True)


def mean_table(
    results: pd.DataFrame, gains: pd.DataFrame, resamples: int, confidence: float, seed: int
) -> pd.DataFrame:
    """Accuracy shifted and recovered and Delta over each set of shifts (`SHIFT_SETS`).

    Each shift weighs as much as any other. Sets that were not evaluated in full are left out.

    Args:
        results: by trial, with the `policy`.
        gains: by image, likewise.
        resamples: of the bootstrap, paired by image.
        confidence: of its interval.
        seed: of its draws.

    Returns:
        A row a policy, controller, `group` and classifier: `shifts`, their number, `shifted`,
        `recovered` (percent), `delta`, `delta_low` and `delta_high` (points).
    """
    rows = []
    for (policy, controller, classifier), own in results.groupby(NAMES, sort=False):
        images = gains[(gains[NAMES] == [policy, controller, classifier]).all(axis=1)]
        for group, shifts in SHIFT_SETS.items():
            if not set(shifts) <= set(own["shift"]):
                continue
            weights = dict.fromkeys(shifts, 1 / len(shifts))
            mean = weighted_sum(own, images, weights, resamples, confidence, seed)
            shifted, recovered, low, high = (100 * value for value in mean)
            rows.append(
                (
                    *(policy, controller, group, len(shifts), classifier),
                    *(shifted, recovered, recovered - shifted, low, high),
                )
            )
    table = pd.DataFrame(rows, columns=COLUMNS)
    order = table.groupby(["policy", "controller", "group"], sort=False).ngroup()
    return table.loc[order.sort_values(kind="stable").index].reset_index(drop=True)


def weighted_sum(
    results: pd.DataFrame,
    gains: pd.DataFrame,
    weights: Mapping[str, float],
    resamples: int,
    confidence: float,
    seed: int,
) -> Weighted:
    """Accuracies of one classifier with one policy, summed over shifts.

    The interval is that of the main table: over the draw of images, of which each is drawn with its
    outcomes under all shifts, and over that of batches and the policy, which are independent from
    shift to shift.

    Args:
        results: of that classifier and policy, by trial.
        gains: likewise, by image.
        weights: of each shift.
        resamples: of the bootstrap.
        confidence: of its interval.
        seed: of its draws.
    """
    columns = ["accuracy_shifted", "accuracy_recovered"]
    shifts = list(weights)
    factors = np.array(list(weights.values()))
    accuracies = results.groupby("shift")[columns].mean().loc[shifts].to_numpy()
    spreads = trial_errors(results).droplevel(["controller", "classifier"]).loc[shifts].to_numpy()
    by_shift = dict(list(gains.groupby("shift")))
    by_image = sum(weights[shift] * mean_by_image(by_shift[shift]) for shift in shifts)
    spread = float(np.sqrt(((factors * spreads) ** 2).sum()))
    low, high = bootstrap_interval(np.asarray(by_image), resamples, confidence, seed, spread)
    shifted, recovered = factors @ accuracies
    return Weighted(float(shifted), float(recovered), low, high)


def mean_metrics(means: pd.DataFrame, mce: pd.DataFrame) -> dict[str, float]:
    """Means of the run's own policy, by name.

    Args:
        means: of `mean_table`.
        mce: of `mce.mce_table`; may be empty.
    """
    own, errors = means[means["policy"] == OWN], mce[mce["policy"] == OWN]
    return {
        f"mean_{name}.{row.group}.{row.classifier}": float(getattr(row, name))
        for row in own.itertuples()
        for name in ("shifted", "recovered", "delta")
    } | {
        f"{name}.{row.classifier}": float(getattr(row, name))
        for row in errors.itertuples()
        for name in ("mce_shifted", "mce_recovered")
    }
