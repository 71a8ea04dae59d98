"""The paper's tables from unaggregated results. Accuracies in percent, gains in points."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from superstar.control.operability import regression_labels
from superstar.images import stream

KEYS = ["controller", "shift", "classifier"]

DIGITS = 6
COUNTS_AT_ONCE = 2**23
"""Of the bootstrap: 64 MB."""


def main_table(
    results: pd.DataFrame, gains: pd.DataFrame, resamples: int, confidence: float, seed: int
) -> pd.DataFrame:
    """Accuracy shifted and recovered, and their difference, over severities and trials.

    `delta_low` and `delta_high` bound Delta over the draw of images, by a paired bootstrap (an
    image is drawn with its outcomes before and after, at all severities and in all trials), and
    over the draw of batches and of the policy, by the spread of the trials.
    """
    means = results.groupby(KEYS, sort=False)[["accuracy_shifted", "accuracy_recovered"]].mean()
    table = (100 * means).rename(
        columns={"accuracy_shifted": "shifted", "accuracy_recovered": "recovered"}
    )
    table["delta"] = table["recovered"] - table["shifted"]
    spreads = trial_errors(results)
    bounds = {
        keys: bootstrap_interval(mean_by_image(part), resamples, confidence, seed, spreads[keys])
        for keys, part in gains.groupby(KEYS, sort=False)
    }
    table["delta_low"] = [100 * bounds[keys][0] for keys in table.index]
    table["delta_high"] = [100 * bounds[keys][1] for keys in table.index]
    return table.reset_index()


def trial_errors(results: pd.DataFrame) -> pd.Series:
    """Standard error of the mean gain (a share) over trials, by controller, shift and classifier.

    Trials are drawn independently in every cell. Zero where there is one trial: its spread is
    unknown.
    """
    gain = results["accuracy_recovered"] - results["accuracy_shifted"]
    cells = gain.groupby([results[key] for key in (*KEYS, "severity")], sort=False, dropna=False)
    variances = (cells.var(ddof=1) / cells.size()).fillna(0.0).groupby(KEYS, sort=False)
    return np.sqrt(variances.sum()) / variances.size()


def bootstrap_interval(
    values: NDArray[np.floating],
    resamples: int,
    confidence: float,
    seed: int,
    spread: float = 0.0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of `values`.

    Args:
        values: (N,).
        resamples: of the values, with replacement.
        confidence: of the interval.
        seed: of the draws.
        spread: standard error of the mean from elsewhere, normal and independent.
    """
    rng = stream(seed, "bootstrap")
    count = len(values)
    # Resampling with replacement is a draw of how often each value occurs. Means of gains are few
    # values over many images, once single precision's rounding is taken off.
    distinct, times = np.unique(values.astype(np.float64).round(DIGITS), return_counts=True)
    block = max(1, COUNTS_AT_ONCE // len(distinct))
    means = np.concatenate(
        [
            rng.multinomial(count, times / count, size=min(block, resamples - start)) @ distinct
            for start in range(0, resamples, block)
        ]
    )
    means = means / count + spread * rng.standard_normal(resamples)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def overall_table(
    main: pd.DataFrame,
    results: pd.DataFrame,
    gains: pd.DataFrame,
    resamples: int,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Delta over all shifts, clean images apart: mean, best shift and worst, in points.

    Args:
        main: of `main_table`.
        results: by trial, as there.
        gains: by image, as there. Those of a shift weigh as much as those of any other.
        resamples: of the bootstrap, paired by image.
        confidence: of its interval.
        seed: of its draws.

    Returns:
        Three rows a controller and classifier: `figure` (mean, best or worst), `shift` (missing
        for the mean), `delta`, `delta_low` and `delta_high`.
    """
    columns = ["delta", "delta_low", "delta_high"]
    rows = []
    spreads = trial_errors(results[results["shift"] != "none"])
    shifted = main[main["shift"] != "none"]
    for keys, part in shifted.groupby(["controller", "classifier"], sort=False):
        over_trials = spreads.xs(keys, level=("controller", "classifier"))
        spread = float(np.sqrt((over_trials**2).sum())) / len(over_trials)
        named = dict(zip(("controller", "classifier"), keys, strict=True))
        own = gains[(gains["controller"] == keys[0]) & (gains["classifier"] == keys[1])]
        by_shift = [
            mean_by_image(some)
            for shift, some in own.groupby("shift", sort=False)
            if shift != "none"
        ]
        bounds = bootstrap_interval(np.mean(by_shift, axis=0), resamples, confidence, seed, spread)
        values = (part["delta"].mean(), 100 * bounds[0], 100 * bounds[1])
        rows.append(
            {**named, "figure": "mean", "shift": None, **dict(zip(columns, values, strict=True))}
        )
        for figure, place in (("best", part["delta"].idxmax()), ("worst", part["delta"].idxmin())):
            rows.append({**named, "figure": figure, **part.loc[place, ["shift", *columns]]})
    return pd.DataFrame(rows)


TRANSFER_COLUMNS = ["policy", *KEYS, "shifted", "recovered", "delta", "delta_low", "delta_high"]


def transfer_table(
    results: pd.DataFrame, gains: pd.DataFrame, resamples: int, confidence: float, seed: int
) -> pd.DataFrame:
    """The main table of every policy that comes from another benchmark.

    Args:
        results: by trial, with the `policy`; may be empty.
        gains: by image, likewise.
        resamples: of the bootstrap, as in `main_table`.
        confidence: of its interval.
        seed: of its draws.

    Returns:
        The columns of `main_table` behind `policy`, and for each policy and classifier a row
        `mean` over all shifts, clean images apart.
    """
    if results.empty:
        return pd.DataFrame(columns=TRANSFER_COLUMNS)
    parts = []
    for policy, own in results.groupby("policy", sort=False):
        own_gains = gains[gains["policy"] == policy]
        table = main_table(own, own_gains, resamples, confidence, seed)
        overall = overall_table(table, own, own_gains, resamples, confidence, seed)
        means = overall[overall["figure"] == "mean"].assign(shift="mean")
        shifted = table[table["shift"] != "none"].groupby(["controller", "classifier"])
        accuracies = shifted[["shifted", "recovered"]].mean().reset_index()
        means = means.merge(accuracies, on=["controller", "classifier"])
        parts.append(pd.concat([table, means]).assign(policy=policy))
    return pd.concat(parts, ignore_index=True)[TRANSFER_COLUMNS]


def mean_by_image(gains: pd.DataFrame) -> NDArray[np.floating]:
    """Mean gain of each image."""
    return np.mean(np.stack(gains["gain"].to_list()), axis=0)


def severity_table(results: pd.DataFrame) -> pd.DataFrame:
    """Delta (points) by shift, classifier and severity, the severities as columns."""
    shifted = results.dropna(subset="severity")
    delta = 100 * (shifted["accuracy_recovered"] - shifted["accuracy_shifted"])
    table = delta.groupby([shifted[key] for key in (*KEYS, "severity")], sort=False).mean()
    wide = table.unstack("severity")
    wide.columns = [f"severity_{severity}" for severity in wide.columns]
    return wide.reset_index()


def action_table(results: pd.DataFrame) -> pd.DataFrame:
    """What was done, by shift: how often it acted, why it stopped, its commonest sequence.

    Shares are in percent of (severity, trial) cells.
    """
    cells = results.drop_duplicates(["controller", "shift", "severity", "trial"])
    rows = []
    for (controller, shift), part in cells.groupby(["controller", "shift"], sort=False):
        sequences = part["sequence"].map(lambda names: " > ".join(names) or "none")
        acted = sequences[sequences != "none"]
        reasons = part["stop_reason"].value_counts(normalize=True)
        rows.append(
            {
                "controller": controller,
                "shift": shift,
                "acted": 100 * len(acted) / len(part),
                **{f"stopped_by_{name}": 100 * reasons.get(name, 0.0) for name in STOP_REASONS},
                "commonest_sequence": acted.mode().iloc[0] if len(acted) else "none",
            }
        )
    return pd.DataFrame(rows)


def worst_cells(results: pd.DataFrame, count: int) -> pd.DataFrame:
    """The shifts and severities at which a classifier lost most, and what was done there.

    Args:
        results: by trial.
        count: at most so many; those that lost nothing are left out.

    Returns:
        `shift`, `severity`, `classifier`, `delta` (points, mean over trials), `sequences` and
        `stop_reasons` (each with the number of trials), and `distance_change`, in % of the first.
    """
    keys = ["shift", "severity", "classifier"]
    shown = results.assign(
        delta=100 * (results["accuracy_recovered"] - results["accuracy_shifted"]),
        sequences=results["sequence"].map(lambda names: " > ".join(names) or "none"),
        stop_reasons=results["stop_reason"],
        distance_change=100 * (results["distance_final"] / results["distance_initial"] - 1),
    )
    cells = shown.groupby(keys, sort=False, dropna=False).agg(
        delta=("delta", "mean"),
        sequences=("sequences", _counted),
        stop_reasons=("stop_reasons", _counted),
        distance_change=("distance_change", "mean"),
    )
    return cells[cells["delta"] < 0].nsmallest(count, "delta").reset_index()


def _counted(values: pd.Series) -> str:
    return ", ".join(f"{value} ({count})" for value, count in values.value_counts().items())


STOP_REASONS = ("inoperable", "nop", "beta", "alpha", "horizon")
GROUPS = ("surrogate", "benchmark")


def operability_table(surrogates: pd.DataFrame, shifts: pd.DataFrame) -> pd.DataFrame:
    """% of single images judged inoperable, surrogates and benchmark shifts."""
    by_shift = shifts.groupby("shift", sort=False)["percent_inoperable"].mean().reset_index()
    first = surrogates.rename(columns={"surrogate": "shift"}).assign(group="surrogate")
    both = pd.concat([first, by_shift.assign(group="benchmark")], ignore_index=True)
    return both[["group", "shift", "percent_inoperable"]]


def two_columns(operability: pd.DataFrame, first_actions: pd.DataFrame) -> pd.DataFrame:
    """% inoperable as the paper prints it: surrogates at the left, benchmark shifts at the right.

    Args:
        operability: of `operability_table`.
        first_actions: what became of the first action, a row a cell, trial and classifier.

    Returns:
        `surrogate`, `surrogate_inoperable`, `shift`, `shift_inoperable` (% of single images) and
        `shift_abstained` (% of severities and trials in which the whole batch was called
        inoperable); the shorter side is filled up with empty cells.
    """
    columns = ["shift", "percent_inoperable"]
    left, right = (
        operability.loc[operability["group"] == group, columns].reset_index(drop=True)
        for group in GROUPS
    )
    forbidden = 100 * (first_actions["outcome"] == "inoperable")
    right["abstained"] = right["shift"].map(forbidden.groupby(first_actions["shift"]).mean())
    left.columns = ["surrogate", "surrogate_inoperable"]
    right.columns = ["shift", "shift_inoperable", "shift_abstained"]
    return pd.concat([left, right], axis=1)


def distance_table(
    results: pd.DataFrame, classifier: str, r_squared_threshold: float
) -> pd.DataFrame:
    """The distance of each test shift, and whether it meets the definition of operable.

    For the reader: no stage learns from it.

    Args:
        results: unaggregated; distances as the batches came, means over trials.
        classifier: whose accuracy the definition takes.
        r_squared_threshold: of the definition.

    Returns:
        A row a shift: `controller`, `shift`, `severity_1`, ... (distances), `slope` and
        `r_squared` of the line of distance on accuracy, and `operable`; the last three are missing
        where there are fewer than three severities. The clean set has its distance in
        `severity_0`, which the others lack.
    """
    own = results[results["classifier"] == classifier]
    names = ["controller", "shift"]
    cells = (
        own.assign(severity=own["severity"].fillna(0))
        .groupby([*names, "severity"], sort=False)[["accuracy_shifted", "distance_initial"]]
        .mean()
        .reset_index()
    )
    wide = cells.pivot_table("distance_initial", names, "severity", sort=False)
    wide.columns = [f"severity_{severity}" for severity in wide.columns]
    lines = []
    for keys, part in cells.groupby(names, sort=False):
        if len(part) < 3:
            continue
        fits = part.rename(
            columns={
                "shift": "surrogate",
                "accuracy_shifted": "accuracy",
                "distance_initial": "distance",
            }
        )
        line = regression_labels(fits, r_squared_threshold).iloc[0]
        lines.append((*keys, line["slope"], line["r_squared"], line["operable"]))
    columns = [*names, "slope", "r_squared", "operable"]
    fitted = pd.DataFrame(lines, columns=columns).astype({"operable": "boolean"})
    return wide.reset_index().merge(fitted, on=names, how="left")


def metrics(table: pd.DataFrame, actions: pd.DataFrame) -> dict[str, float]:
    """Numbers that compare across runs: every Delta, and how often it acted."""
    deltas = {f"delta.{row.shift}.{row.classifier}": row.delta for row in table.itertuples()}
    clean = {
        f"clean_accuracy.{row.classifier}": row.shifted
        for row in table[table["shift"] == "none"].itertuples()
    }
    shifted = table[table["shift"] != "none"]
    means = {
        f"mean_delta.{name}": round(float(part["delta"].mean()), 3)
        for name, part in shifted.groupby("classifier")
    }
    worst = {
        f"worst_delta.{name}": float(part["delta"].min())
        for name, part in shifted.groupby("classifier")
    }
    acted = {f"acted_percent.{row.shift}": row.acted for row in actions.itertuples()}
    return deltas | clean | means | worst | acted
