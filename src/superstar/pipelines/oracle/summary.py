"""What the comparison amounts to, as tables and numbers."""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from superstar.control.comparison import (
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


def ladder(tests: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by test shift, in points: what was lost, and what comes back on each rung.

    `lost` is the accuracy on clean images less that on shifted ones. The last row has the means.
    """
    before = tests.groupby("shift", sort=False)["accuracy_before"].mean()
    table = pd.DataFrame({"lost": before["none"] - before})
    for rung, (controller, policy) in RUNGS.items():
        rows = tests[(tests["controller"] == controller) & (tests["policy"] == policy)]
        table[rung] = rows.groupby("shift", sort=False)["accuracy_gain"].mean()
    table = table.drop(index="none")
    table.loc["mean of shifts"] = table.mean()
    return table.reset_index()


def by_policy(found: pd.DataFrame, split: str, controller: str, batch_size: int) -> pd.DataFrame:
    """Each policy's gains, means over shifted sets and seeds.

    Args:
        found: rows of `comparison.compare`.
        split: surrogate or test.
        controller: with brakes or without.
        batch_size: images that chose.

    Returns:
        A row a policy: `policy`; `distance_gain` in %; `accuracy_gain` in points and `error`, its
        standard error over the draw of the images; `above_learned`, the accuracy gain less the
        learned policy's, and `above_error`, its standard error, paired by image; `lowest_seed`
        and `highest_seed`, the accuracy gains of the seeds; `worst`, the lowest accuracy gain of
        a set and seed; and `actions`, the mean length of the sequences.
    """
    part = _shifted(found, split, controller)
    images = {
        str(policy): image_gains(rows, batch_size)
        for policy, rows in part.groupby("policy", sort=False)
    }
    table = []
    for name, rows in part.groupby("policy", sort=False):
        seeds = rows.groupby("seed")["accuracy_gain"].mean()
        above = images[str(name)] - images[LEARNED]
        table.append(
            {
                "policy": name,
                "distance_gain": 100 * rows["distance_gain"].mean(),
                "accuracy_gain": rows["accuracy_gain"].mean(),
                "error": standard_error(images[str(name)]),
                "above_learned": above.sum(),
                "above_error": standard_error(above),
                "lowest_seed": seeds.min(),
                "highest_seed": seeds.max(),
                "worst": rows["accuracy_gain"].min(),
                "actions": rows["sequence"].map(len).mean(),
            }
        )
    return pd.DataFrame(table)


def image_gains(rows: pd.DataFrame, batch_size: int) -> NDArray[np.float64]:
    """What each image adds to the mean accuracy gain of some rows, in points (N,).

    All sets are made of the same images, so that errors of a mean over sets come from the draw of
    images: an image's changes in all sets count as one observation.

    Args:
        rows: of one policy, each on a set of the same N images.
        batch_size: images of a set that chose and are not scored.
    """
    changes = np.stack(rows["changes"].to_list()).astype(np.float64)
    return 100 * changes.mean(axis=0) / (changes.shape[1] - batch_size)


def standard_error(parts: NDArray[np.float64]) -> float:
    """Standard error of a sum over images drawn independently."""
    return math.sqrt(len(parts)) * float(parts.std(ddof=1))


def return_shares(returns: pd.DataFrame) -> pd.DataFrame:
    """Return of each policy, and its share of what the oracle gains over `nop`.

    Returns:
        A row a policy: `policy`, `return` (mean over batches and seeds), `lowest_seed` and
        `highest_seed` (means over batches), `share`.
    """
    groups = returns.groupby("policy", sort=False)
    means = groups["return"].mean()
    seeds = returns.groupby(["policy", "seed"], sort=False)["return"].mean().groupby("policy")
    lowest, highest = means["nop"], means[ORACLE]
    shares = (means - lowest) / (highest - lowest) if highest > lowest else means * float("nan")
    columns = {
        "return": means,
        "lowest_seed": seeds.min(),
        "highest_seed": seeds.max(),
        "share": shares,
    }
    return pd.DataFrame(columns).loc[means.index].reset_index(names="policy")


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


def _shifted(found: pd.DataFrame, split: str, controller: str) -> pd.DataFrame:
    return found[
        (found["split"] == split) & (found["controller"] == controller) & (found["shift"] != "none")
    ]
