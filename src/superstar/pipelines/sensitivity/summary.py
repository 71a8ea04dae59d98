"""What the sweep amounts to: one row a point."""

from collections.abc import Iterator

import pandas as pd

from superstar.pipelines.sensitivity.points import OWN, RUN_TIME, TRAINING


def summarise(table: pd.DataFrame, measured: pd.DataFrame, returns: pd.DataFrame) -> pd.DataFrame:
    """One row a point.

    Args:
        table: the points, one a row.
        measured: one row a point, set and trial.
        returns: one row a policy.

    Returns:
        The columns of `table`, and over all shifted sets and trials:
        `gain`: mean change of accuracy, in points.
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
    numbers = pd.DataFrame(
        {
            "gain": groups["accuracy_gain"].mean(),
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


def _acted(sequences: pd.Series) -> float:
    return float(sequences.map(len).gt(0).mean())
