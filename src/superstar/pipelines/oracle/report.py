"""The comparison with rivals and oracles as one Markdown page."""

import pandas as pd

from superstar.control.comparison import BRAKED, BY_DISTANCE, FREE
from superstar.pipelines.oracle import summary

BRAKES = {BRAKED: "with brakes", FREE: "without brakes"}


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
    length = "one action" if exhaustive == 1 else f"up to {exhaustive} actions"
    parts = [
        "# How good the policy could be",
        "Written by `kedro run --pipelines oracle`. All policies and oracles choose by the same "
        f"batch of {batch_size} images, drawn from each set; what they chose is scored on the rest "
        "of the set, by the accuracy of `standard` (no other classifier takes part here). "
        f"`{BRAKED}` is Algorithm 1 with its brakes; `{FREE}` is without operability tree and β, "
        f"as in training (an episode still ends at α). Oracles search all sequences of {length} "
        "and go on along a beam; they also know what the policies chose, so by what they choose by "
        "none is better. The oracle of accuracy knows the labels of the batch; on the rest of the "
        "set it may be beaten.",
        "What the learned policy gains, in % of what the oracle of the same does under the same "
        "brakes, over all shifted sets:",
        _markdown(_shares(metrics), texts=2),
        "## Returns on surrogate batches that nothing was trained on",
        f"Discounted return of the environment, without brakes, on {_batches(returns)}: what the "
        "policy is trained for, on images that it has not seen. Share: of what the oracle gains "
        "over `nop`. A return is no accuracy: see below which policies gain more of that.",
        _markdown(_returns(returns)),
    ]
    for split, title in (("surrogate", "Surrogates"), ("test", "Test shifts")):
        for controller, brakes in BRAKES.items():
            parts += [
                f"## {title}, {brakes}",
                "Means over shifted sets and seeds: fall of the distance, accuracy with its "
                "standard error (over the draw of images, those that score), what the policy "
                "gains above the learned one (paired by image), the lowest and the highest seed, "
                "the worst single set, and actions taken.",
                _markdown(_policies(summary.by_policy(found, split, controller, batch_size))),
            ]
        parts += [
            f"## {title}, {BRAKES[BRAKED]}: accuracy by shift",
            "Points, means over severities and seeds.",
            _markdown(summary.by_shift(found, split, BRAKED).round(1)),
            f"## {title}: from the library down to the supervisor",
            "Accuracy in points, means over severities; both oracles without brakes. What the "
            "oracle of accuracy leaves lost is beyond the library. The step from it to the oracle "
            "of distance is the distance's fault, and the next to the policy without brakes the "
            "policy's. The step to the policy as it runs is what the brakes give back, or cost "
            "where it is negative." + LOST[split],
            _markdown(summary.ladder(found, split).round(1)),
        ]
    parts += [
        "## Where the distance misleads",
        "Sets on which the sequence that brings the images nearest costs accuracy: "
        f"{'; '.join(f'{brakes} {_misled_share(found, kind)}' for kind, brakes in BRAKES.items())}"
        ". The worst without brakes:",
        _markdown(_misled(found).head(20), texts=3),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


LOST = {
    "surrogate": " (No clean set is scored beside the surrogates, so what they lost is not shown.)",
    "test": "",
}


def _shares(metrics: dict[str, float | None]) -> pd.DataFrame:
    rows = []
    for split, sets in (("surrogate", "surrogates"), ("test", "test shifts")):
        for controller in (BRAKED, FREE):
            shares = {
                f"of the oracle of {gain}": metrics[f"oracle.{gain}_share.{controller}.{split}"]
                for gain in ("distance", "accuracy")
            }
            shown = {name: _percent(share) for name, share in shares.items()}
            rows.append({"sets": sets, "controller": controller, **shown})
    return pd.DataFrame(rows)


def _percent(share: float | None) -> str:
    if share is None:
        return "not defined"
    return f"{100 * share:.0f}" if share >= 0 else "none: it loses"


def _batches(returns: pd.DataFrame) -> str:
    counts = returns.groupby("surrogate", sort=False)["batch"].nunique()
    return " and ".join(
        f"{count} batch{'es' if count > 1 else ''} of {name}" for name, count in counts.items()
    )


def _returns(returns: pd.DataFrame) -> pd.DataFrame:
    table = summary.return_shares(returns)
    return pd.DataFrame(
        {
            "policy": table["policy"],
            "return": table["return"].map("{:.1f}".format),
            "seeds": _range(table["lowest_seed"], table["highest_seed"]),
            "share %": (100 * table["share"]).map("{:.1f}".format),
        }
    ).replace("nan", "not defined")


def _policies(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "policy": table["policy"],
            "distance gain %": table["distance_gain"].map("{:.1f}".format),
            "accuracy gain": _with_error(table["accuracy_gain"], table["error"]),
            "above learned": _with_error(table["above_learned"], table["above_error"]),
            "seeds": _range(table["lowest_seed"], table["highest_seed"]),
            "worst set": table["worst"].map("{:.1f}".format),
            "actions": table["actions"].map("{:.2f}".format),
        }
    )


def _with_error(values: pd.Series, errors: pd.Series) -> list[str]:
    return [
        f"{value:+.2f} ± {error:.2f}" if error > 0 else f"{value:.2f}"
        for value, error in zip(values, errors, strict=True)
    ]


def _range(lowest: pd.Series, highest: pd.Series) -> list[str]:
    return [
        f"{low:.1f} to {high:.1f}" if low < high else ""
        for low, high in zip(lowest, highest, strict=True)
    ]


def _misled(found: pd.DataFrame) -> pd.DataFrame:
    rows = _nearest(found, FREE)
    misled = rows[rows["accuracy_gain"] < 0].sort_values("accuracy_gain", kind="stable")
    return pd.DataFrame(
        {
            "split": misled["split"],
            "shift": misled["shift"],
            "sequence": misled["sequence"].map(", ".join),
            "severity": misled["severity"].astype("string").fillna(""),
            "distance gain %": (100 * misled["distance_gain"]).round(1),
            "accuracy gain": misled["accuracy_gain"].round(1),
        }
    )


def _misled_share(found: pd.DataFrame, controller: str) -> str:
    shares = [
        f"{(rows['accuracy_gain'] < 0).sum()} of {len(rows)} {split} sets"
        for split, rows in _nearest(found, controller).groupby("split", sort=False)
    ]
    return ", ".join(shares)


def _nearest(found: pd.DataFrame, controller: str) -> pd.DataFrame:
    return found[(found["controller"] == controller) & (found["policy"] == BY_DISTANCE)]


def _markdown(table: pd.DataFrame, texts: int = 1) -> str:
    """A table whose first columns are texts, the others numbers, shown as they are."""
    tidy = table.rename(columns=lambda name: str(name).replace("_", " ")).astype("string")
    sides = ["left"] * texts + ["right"] * (tidy.shape[1] - texts)
    return str(tidy.to_markdown(index=False, disable_numparse=True, colalign=sides))
