"""What the sweep amounts to: one row a point."""

import math
from collections.abc import Iterator

import pandas as pd

from superstar.control.points import OWN
from superstar.parameters import RunTimeSweep, TrainingSweep

RUN_TIME, TRAINING = tuple(RunTimeSweep.model_fields), tuple(TrainingSweep.model_fields)


def summarise(table: pd.DataFrame, measured: pd.DataFrame, returns: pd.DataFrame) -> pd.DataFrame:
    """One row a point.

    Args:
        table: the points, one a row.
        measured: one row a point, set and trial.
        returns: one row a policy.

    Returns:
        The columns of `table`, and over all shifted sets and trials:
        `gain`: mean change of accuracy, in points; `gain_error`: its standard error over batches
        and draws of the policy (NaN with one batch).
        `above_own`: gain less that of the run's own setting, and `above_own_error`, its standard
        error, paired by batch; NaN for batches of another size.
        `harm`: mean loss of accuracy where it fell, counted 0 where it did not, in points; gain
        and harm add up to what is won where accuracy rose.
        `worst`: the lowest change of a single trial.
        `acted`: share of trials with a correction, in percent.
        `distance_gain`: mean relative fall of the distance, in percent.
        `actions`: mean number of corrections.
        On the clean set: `clean_gain` and `clean_acted`. Of the policy: `return`.
    """
    shifted = measured[measured["shift"] != "none"]
    clean = measured[measured["shift"] == "none"]
    groups, clean_groups = shifted.groupby("point"), clean.groupby("point")
    by_batch = (
        shifted.groupby(["point", "shift", "severity", "batch"])["accuracy_gain"].mean().unstack(0)
    )
    same_size = table.loc[table["batch_size"] == _own(table)["batch_size"], "point"]
    above = by_batch[same_size].sub(by_batch[OWN], axis=0)
    numbers = pd.DataFrame(
        {
            "gain": groups["accuracy_gain"].mean(),
            "gain_error": by_batch.apply(_error),
            "above_own": above.mean(),
            "above_own_error": above.apply(_error),
            "harm": groups["accuracy_gain"].agg(lambda gains: (-gains).clip(lower=0).mean()),
            "worst": groups["accuracy_gain"].min(),
            "acted": 100 * groups["sequence"].agg(_acted),
            "distance_gain": 100 * groups["distance_gain"].mean(),
            "actions": groups["sequence"].agg(lambda sequences: sequences.map(len).mean()),
            "clean_gain": clean_groups["accuracy_gain"].mean(),
            "clean_acted": 100 * clean_groups["sequence"].agg(_acted),
        }
    )
    return table.join(numbers, on="point").merge(returns, on="policy", how="left")


def lines(sweep: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Title, name and rows of each parameter swept, by value, the run's own setting among them.

    Parameters with no other value than the run's own are left out.
    """
    own = sweep[sweep["swept"] == OWN]
    for retrained, names in ((False, RUN_TIME), (True, TRAINING)):
        for name in names:
            rows = sweep[(sweep["swept"] == name) & (sweep["retrained"] == retrained)]
            if len(rows):
                title = f"{name}, retrained" if retrained and name in RUN_TIME else name
                yield title, name, pd.concat([rows, own]).sort_values(name)


def _own(table: pd.DataFrame) -> pd.Series:
    return table[table["swept"] == OWN].iloc[0]


def _error(means: pd.Series) -> float:
    """Standard error of the mean over sets, each a mean over batches that are drawn anew in it."""
    sets = means.dropna().groupby(["shift", "severity"])
    return math.sqrt((sets.var() / sets.size()).sum(skipna=False)) / sets.ngroups


def _acted(sequences: pd.Series) -> float:
    return float(sequences.map(len).gt(0).mean())
