"""The study as one Markdown page: every number in it comes from the run."""

import pandas as pd

from superstar.parameters import RulerStudy
from superstar.pipelines.pages import render
from superstar.pipelines.ruler_study.summary import QUALITIES


def compose(table: pd.DataFrame, detection: pd.DataFrame, given: RulerStudy) -> str:
    """The page.

    Args:
        table: of `summary.ruler_table`.
        detection: a row a ruler and size of batch.
        given: parameters of the study.
    """
    by_shifts = {
        shifts: part[["ruler", *QUALITIES]] for shifts, part in table.groupby("shifts", sort=False)
    }
    percent = detection.assign(detected=100 * detection["detected"])
    detected = percent.pivot(index="ruler", columns="batch", values="detected")
    cost = detection.pivot(index="ruler", columns="batch", values="milliseconds")
    order = list(dict.fromkeys(detection["ruler"]))
    surrogates = table[table["shifts"] == "surrogates"].set_index("ruler")
    return render(
        "ruler_study.md",
        given=given,
        surrogates=by_shifts["surrogates"],
        tests=by_shifts["test"],
        detected=_by_size(detected.loc[order]),
        cost=_by_size(cost.loc[order]),
        largest=int(detection["batch"].max()),
        chosen=surrogates["rank_correlation"].idxmax(),
        gains=surrogates["gain"].idxmax(),
    )


def _by_size(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda size: f"{size} images").reset_index()
