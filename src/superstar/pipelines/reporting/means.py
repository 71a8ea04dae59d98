"""Means over the shifts of a benchmark, and ImageNet-C's mCE (Hendrycks and Dietterich, 2019)."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from superstar.control.intervals import Bootstrap, weighted_sum
from superstar.corruptions import SHIFT_SETS, STANDARD_SHIFTS
from superstar.datasets import SEVERITIES
from superstar.pipelines.reporting.comparison import OWN

ALL = "all"
"""The group of all shifts that were evaluated, clean images apart."""
NAMES = ["policy", "controller", "classifier"]
COLUMNS = ["policy", "controller", "group", "shifts", "classifier"]
COLUMNS += ["shifted", "recovered", "delta", "delta_low", "delta_high"]
MCE_COLUMNS = [*NAMES, "mce_shifted", "mce_recovered", "change", "change_low", "change_high"]
ALEXNET_ERRORS = {
    "gaussian_noise": 0.886428,
    "shot_noise": 0.894468,
    "impulse_noise": 0.922640,
    "defocus_blur": 0.819880,
    "glass_blur": 0.826268,
    "motion_blur": 0.785948,
    "zoom_blur": 0.798360,
    "snow": 0.866816,
    "frost": 0.826572,
    "fog": 0.819324,
    "brightness": 0.564592,
    "contrast": 0.853204,
    "elastic_transform": 0.646056,
    "pixelate": 0.717840,
    "jpeg_compression": 0.606500,
    "speckle_noise": 0.845388,
    "gaussian_blur": 0.787108,
    "spatter": 0.717512,
    "saturate": 0.658248,
}
"""Error rates of AlexNet on ImageNet-C, means over the five severities, as its authors publish
them."""


def all_policies(own: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """Rows of the run's own policy, named so, before those of policies from elsewhere."""
    return pd.concat([own.assign(policy=OWN), elsewhere], ignore_index=True)


def mean_table(results: pd.DataFrame, gains: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """Accuracy shifted and recovered and Delta over all shifts, and over each of `SHIFT_SETS`.

    Each shift weighs as much as any other. Sets that were not evaluated in full are left out.
    Results and gains have the `policy`.

    Returns:
        A row a policy, controller, `group` and classifier: `shifts`, their number, `shifted`,
        `recovered` (percent), `delta`, `delta_low` and `delta_high` (points).
    """
    rows = []
    for (policy, controller, classifier), own, images in _by_policy(results, gains):
        every = tuple(shift for shift in own["shift"].unique() if shift != "none")
        for group, shifts in {ALL: every, **SHIFT_SETS}.items():
            if not set(shifts) <= set(own["shift"]):
                continue
            weights = dict.fromkeys(shifts, 1 / len(shifts))
            mean = weighted_sum(own, images, weights, bootstrap)
            shifted, recovered, low, high = (100 * value for value in mean)
            accuracies = (shifted, recovered, recovered - shifted, low, high)
            rows.append((policy, controller, group, len(shifts), classifier, *accuracies))
    table = pd.DataFrame(rows, columns=COLUMNS)
    order = table.groupby(["policy", "controller", "group"], sort=False).ngroup()
    return table.loc[order.sort_values(kind="stable").index].reset_index(drop=True)


def mce_table(results: pd.DataFrame, gains: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """mCE before and after recovery.

    A shift's corruption error is the classifier's error summed over severities, divided by
    AlexNet's; mCE is its mean over the benchmark's 15 shifts, the smaller the better.

    Returns:
        A row a policy, controller and classifier: `mce_shifted` and `mce_recovered` in percent,
        `change` and its interval in points. Empty unless all 15 shifts were evaluated at all five
        severities.
    """
    rows = []
    weights = {shift: 1 / ALEXNET_ERRORS[shift] / len(STANDARD_SHIFTS) for shift in STANDARD_SHIFTS}
    needed = {(shift, severity) for shift in STANDARD_SHIFTS for severity in SEVERITIES}
    for keys, own, images in _by_policy(results, gains):
        if not needed <= set(own[["shift", "severity"]].itertuples(index=False, name=None)):
            continue
        shifted, recovered, low, high = weighted_sum(own, images, weights, bootstrap)
        whole = sum(weights.values())
        before, after = 100 * (whole - shifted), 100 * (whole - recovered)
        rows.append((*keys, before, after, after - before, -100 * high, -100 * low))
    return pd.DataFrame(rows, columns=MCE_COLUMNS)


def _by_policy(
    results: pd.DataFrame, gains: pd.DataFrame
) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame, pd.DataFrame]]:
    for keys, own in results.groupby(NAMES, sort=False):
        yield keys, own, gains[(gains[NAMES] == list(keys)).all(axis=1)]


def mean_metrics(means: pd.DataFrame, mce: pd.DataFrame) -> dict[str, float]:
    """Means and mCE of the run's own policy, by name."""
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
