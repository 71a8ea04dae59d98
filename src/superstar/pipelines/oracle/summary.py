"""What the comparison amounts to, as tables and numbers."""

import pandas as pd

from superstar.pipelines.oracle.comparison import (
    BRAKED,
    BY_ACCURACY,
    BY_DISTANCE,
    FREE,
    LEARNED,
    ORACLE,
)

SET = ["split", "shift", "severity"]
RUNGS = {
    "oracle of accuracy": (FREE, BY_ACCURACY),
    "oracle of distance": (FREE, BY_DISTANCE),
    "policy, no brakes": (FREE, LEARNED),
    "policy": (BRAKED, LEARNED),
}
"""From the best that the library can do down to what the supervisor does."""


def oracle_table(found: pd.DataFrame) -> pd.DataFrame:
    """The learned policies, mean over their seeds, beside the oracles; a row a controller and set.

    Gains of the distance are relative falls, of accuracy points. The oracle of distance gives the
    one, the oracle of accuracy the other.
    """
    keys = ["controller", *SET]

    def gains(policy: str, column: str, name: str) -> pd.Series:
        rows = found[found["policy"] == policy]
        return rows.groupby(keys, sort=False, dropna=False)[column].mean().rename(name)

    columns = [
        gains(LEARNED, "distance_gain", "distance_gain_policy"),
        gains(BY_DISTANCE, "distance_gain", "distance_gain_oracle"),
        gains(LEARNED, "accuracy_gain", "accuracy_gain_policy"),
        gains(BY_ACCURACY, "accuracy_gain", "accuracy_gain_oracle"),
    ]
    return pd.concat(columns, axis=1).reset_index()


def ladder(found: pd.DataFrame, split: str) -> pd.DataFrame:
    """Accuracy by shift, in points: what was lost, and what of it comes back on each rung.

    `lost` is the accuracy on clean images less that on shifted ones; the surrogates have no clean
    set beside them, and lack the column.
    """
    part = found[found["split"] == split]
    before = part.groupby("shift", sort=False)["accuracy_before"].mean()
    table = pd.DataFrame(index=before.index)
    if "none" in before.index:
        table["lost"] = before["none"] - before
    for rung, (controller, policy) in RUNGS.items():
        rows = part[(part["controller"] == controller) & (part["policy"] == policy)]
        table[rung] = rows.groupby("shift", sort=False)["accuracy_gain"].mean()
    shifted = table.drop(index="none", errors="ignore")
    table.loc["mean of shifts"] = shifted.mean()
    return table.reset_index()


def by_policy(found: pd.DataFrame, split: str) -> pd.DataFrame:
    """Each policy's gains, means over shifted sets and seeds, with and without brakes."""
    part = found[(found["split"] == split) & (found["shift"] != "none")]
    groups = part.groupby(["policy", "controller"], sort=False)
    table = pd.DataFrame(
        {
            "distance gain %": 100 * groups["distance_gain"].mean(),
            "accuracy gain": groups["accuracy_gain"].mean(),
            "worst": groups["accuracy_gain"].min(),
            "actions": groups["sequence"].agg(lambda sequences: sequences.map(len).mean()),
        }
    ).reset_index()
    return table.pivot(index="policy", columns="controller").loc[part["policy"].unique()]


def return_shares(returns: pd.DataFrame) -> pd.DataFrame:
    """Mean return of each policy, and its share of what the oracle gains over `nop`."""
    means = returns.groupby("policy", sort=False)["return"].mean()
    lowest, highest = means["nop"], means[ORACLE]
    shares = (means - lowest) / (highest - lowest) if highest > lowest else means * float("nan")
    return pd.DataFrame({"return": means, "share": shares}).reset_index()


def metrics(table: pd.DataFrame, returns: pd.DataFrame) -> dict[str, float | None]:
    """Shares of the oracles' gains that the policy reaches, over all shifted sets."""
    numbers: dict[str, float | None] = {}
    shifted = table[table["shift"] != "none"]
    for (controller, split), rows in shifted.groupby(["controller", "split"]):
        for gain in ("distance", "accuracy"):
            best = float(rows[f"{gain}_gain_oracle"].sum())
            reached = float(rows[f"{gain}_gain_policy"].sum())
            numbers[f"oracle.{gain}_share.{controller}.{split}"] = (
                reached / best if best > 0 else None
            )
    shares = return_shares(returns).set_index("policy")["share"]
    return numbers | {
        f"oracle.return_share.{name.replace(' ', '_')}": None if pd.isna(share) else float(share)
        for name, share in shares.items()
    }
