"""The comparison with rivals and oracles as one Markdown page."""

import pandas as pd

from superstar.control.comparison import BRAKED, BY_DISTANCE, FREE
from superstar.pipelines.oracle import summary
from superstar.pipelines.pages import ranges, render, with_errors

BRAKES = {BRAKED: "with brakes", FREE: "without brakes"}
SPLITS = {"surrogate": "surrogates", "test": "test shifts"}
WORST_SETS = 8


def compose(
    found: pd.DataFrame,
    returns: pd.DataFrame,
    metrics: dict[str, float | None],
    batch_size: int,
    exhaustive: int,
) -> str:
    """The page.

    Args:
        found: one row a set, controller, policy and seed.
        returns: one row a held-out batch, policy and seed.
        metrics: shares of the oracles' gains.
        batch_size: images that chose.
        exhaustive: length up to which the oracles look at all sequences.
    """
    nearest = found[found["policy"] == BY_DISTANCE]
    return render(
        "oracle.md",
        batch_size=batch_size,
        exhaustive=exhaustive,
        braked=BRAKED,
        free=FREE,
        brakes=BRAKES,
        splits=SPLITS,
        shares=_shares(metrics),
        batches=returns.groupby("surrogate", sort=False)["batch"].nunique(),
        returns=_returns(returns),
        policies={
            (split, controller): _policies(summary.by_policy(found, split, controller, batch_size))
            for split in SPLITS
            for controller in BRAKES
        },
        misled_shares={
            controller: _misled_share(nearest[nearest["controller"] == controller])
            for controller in BRAKES
        },
        misled=_misled(nearest[nearest["controller"] == FREE]).head(WORST_SETS),
    )


def _shares(metrics: dict[str, float | None]) -> pd.DataFrame:
    rows = []
    for split, sets in SPLITS.items():
        for controller in BRAKES:
            shares = {
                f"of the oracle of {gain}": _percent(
                    metrics[f"oracle.{gain}_share.{controller}.{split}"]
                )
                for gain in ("distance", "accuracy")
            }
            rows.append({"sets": sets, "controller": controller, **shares})
    return pd.DataFrame(rows)


def _percent(share: float | None) -> str:
    if share is None:
        return "not defined"
    return f"{100 * share:.0f}" if share >= 0 else "none: it loses"


def _returns(returns: pd.DataFrame) -> pd.DataFrame:
    table = summary.return_shares(returns)
    shares = [_percent(None) if pd.isna(s) else f"{100 * s:.1f}" for s in table["share"]]
    return pd.DataFrame(
        {
            "policy": table["policy"],
            "return": table["return"],
            "seeds": ranges(table["lowest_seed"], table["highest_seed"]),
            "share %": shares,
        }
    )


def _policies(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "policy": table["policy"],
            "distance gain %": table["distance_gain"],
            "accuracy gain": with_errors(table["accuracy_gain"], table["error"]),
            "above learned": with_errors(table["above_learned"], table["above_error"]),
            "seeds": ranges(table["lowest_seed"], table["highest_seed"]),
            "worst set": table["worst"],
            "actions": table["actions"],
        }
    )


def _misled(nearest: pd.DataFrame) -> pd.DataFrame:
    lost = nearest[nearest["accuracy_gain"] < 0].sort_values("accuracy_gain", kind="stable")
    columns = ["split", "shift", "sequence", "severity", "distance_gain", "accuracy_gain"]
    shown = lost.assign(
        sequence=lost["sequence"].map(", ".join), distance_gain=100 * lost["distance_gain"]
    )
    return shown[columns].rename(columns={"distance_gain": "distance gain %"})


def _misled_share(nearest: pd.DataFrame) -> str:
    return ", ".join(
        f"{(rows['accuracy_gain'] < 0).sum()} of {len(rows)} {split} sets"
        for split, rows in nearest.groupby("split", sort=False)
    )
