"""The comparison with rivals and oracles as one Markdown page."""

import pandas as pd

from superstar.pipelines.oracle import summary
from superstar.pipelines.oracle.comparison import BRAKED, BY_DISTANCE, FREE


def compose(found: pd.DataFrame, returns: pd.DataFrame, metrics: dict[str, float | None]) -> str:
    """The page.

    Args:
        found: one row a set, controller, policy and seed.
        returns: one row a held-out batch, policy and seed.
        metrics: shares of the oracles' gains.
    """
    parts = [
        "# How good the policy could be",
        "Written by `kedro run --pipelines oracle`. All policies and oracles choose by the same "
        "batch of images, drawn from each set; what they chose is scored on the rest of the set. "
        f"`{BRAKED}` is Algorithm 1 with its brakes; `{FREE}` is without operability tree and β, "
        "as in training (an episode still ends at α). Oracles search all sequences of two actions "
        "and go on along a beam; they also know what the policies chose, so by what they choose by "
        "none is better. The oracle of accuracy knows the labels of the batch; on the rest of the "
        "set it may be beaten.",
        "What the learned policy gains, in % of what the oracle of the same does under the same "
        "brakes, over all shifted sets:",
        _markdown(_shares(metrics)),
        "## Returns on surrogate batches that nothing was trained on",
        "Discounted return of the environment. Share: of what the oracle gains over `nop`.",
        _markdown(summary.return_shares(returns).round({"return": 1, "share": 3})),
    ]
    for split, title in (("surrogate", "Surrogates"), ("test", "Test shifts")):
        parts += [
            f"## {title}: all policies",
            "Means over shifted sets and seeds: fall of the distance in %, accuracy of `standard` "
            "in points with the worst single set, and actions taken.",
            _markdown(_flat(summary.by_policy(found, split).round(2))),
            f"## {title}: from the library down to the supervisor",
            "Accuracy of `standard` in points, means over severities; both oracles without brakes. "
            "What the oracle of accuracy leaves lost is beyond the library. The step from it to "
            "the oracle of distance is the distance's fault, and the next to the policy without "
            "brakes the policy's. The step to the policy as it runs is what the brakes give back, "
            "or cost where it is negative.",
            _markdown(summary.ladder(found, split).round(2)),
        ]
    parts += [
        "## Where the distance misleads",
        "Sets on which the sequence that brings the images nearest costs accuracy.",
        _markdown(_misled(found)),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _shares(metrics: dict[str, float | None]) -> pd.DataFrame:
    rows = []
    for split, sets in (("surrogate", "surrogates"), ("test", "test shifts")):
        for controller in (BRAKED, FREE):
            shares = {
                f"of the oracle of {gain}": metrics[f"oracle.{gain}_share.{controller}.{split}"]
                for gain in ("distance", "accuracy")
            }
            shown = {
                name: "not defined" if share is None else f"{100 * share:.0f}"
                for name, share in shares.items()
            }
            rows.append({"sets": sets, "controller": controller, **shown})
    return pd.DataFrame(rows)


def _misled(found: pd.DataFrame) -> pd.DataFrame:
    rows = found[(found["controller"] == FREE) & (found["policy"] == BY_DISTANCE)]
    misled = rows[rows["accuracy_gain"] < 0].nsmallest(20, "accuracy_gain")
    return pd.DataFrame(
        {
            "split": misled["split"],
            "shift": misled["shift"],
            "severity": misled["severity"],
            "sequence": misled["sequence"].map(", ".join),
            "distance gain %": (100 * misled["distance_gain"]).round(1),
            "accuracy gain": misled["accuracy_gain"].round(1),
        }
    )


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    flat = table.copy()
    flat.columns = [f"{quantity}, {controller}" for quantity, controller in table.columns]
    return flat.reset_index()


def _markdown(table: pd.DataFrame) -> str:
    tidy = table.rename(columns=lambda name: str(name).replace("_", " "))
    return str(tidy.to_markdown(index=False))
