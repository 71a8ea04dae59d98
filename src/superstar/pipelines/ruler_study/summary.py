"""What tells a good ruler: numbers of each, on surrogates and on test shifts."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from superstar.parameters import RulerStudy

NONE = "none"
CELL = ["shift", "severity"]
QUALITIES = ["rank_correlation", "right_signs", "gain", "best", "loss", "worst"]


def ruler_table(
    readings: Mapping[str, pd.DataFrame], detection: pd.DataFrame, given: RulerStudy
) -> pd.DataFrame:
    """One row a set of shifts and ruler.

    Args:
        readings: by set of shifts, `surrogates` among them, a row a shift, severity, correction and
            ruler: `before`, `after`, `gain`.
        detection: a row a ruler and size of batch: `detected`, `milliseconds`.
        given: parameters of the study.

    Returns:
        `shifts`, `ruler`; `rank_correlation` of fall and gain within a shift and severity, their
        mean; `right_signs`, of corrections that change accuracy by `telling` points or more the
        share whose reading falls where they gain; `gain`, mean and `worst`, of the correction that
        falls most, if by more than any does on clean images; `best`, of the best correction;
        `loss`, the mean of what was lost by taking it; `images`, the smallest batch from which on a
        share `detected` of batches is told from clean ones; `milliseconds` of the largest batch.
    """
    clean = readings["surrogates"].query("shift == @NONE")
    margins = (clean["before"] - clean["after"]).groupby(clean["ruler"]).max().clip(lower=0)
    rows = []
    for shifts, table in readings.items():
        for ruler, part in table[table["shift"] != NONE].groupby("ruler", sort=False):
            found = detection[detection["ruler"] == ruler].sort_values("batch")
            rows.append(
                {
                    "shifts": shifts,
                    "ruler": ruler,
                    **_qualities(part, float(margins[ruler]), given.telling),
                    "images": _fewest(found, given.detected),
                    "milliseconds": found["milliseconds"].iloc[-1],
                }
            )
    return pd.DataFrame(rows)


def metrics(table: pd.DataFrame) -> dict[str, float]:
    """`ruler_study.<quality>.<set of shifts>.<ruler>`."""
    return {
        f"ruler_study.{quality}.{row['shifts']}.{row['ruler']}": float(row[quality])
        for row in table.to_dict("records")
        for quality in QUALITIES
    }


def _qualities(part: pd.DataFrame, margin: float, telling: float) -> dict[str, float]:
    part = part.assign(fall=part["before"] - part["after"])
    cells = [cell for _, cell in part.groupby(CELL, sort=False)]
    correlations = [cell["fall"].corr(cell["gain"], method="spearman") for cell in cells]
    matter = part[part["gain"].abs() >= telling]
    taken = []
    for cell in cells:
        most = cell.loc[cell["fall"].idxmax()]
        taken.append(float(most["gain"]) if most["fall"] > margin else 0.0)
    return {
        "rank_correlation": float(np.nanmean(correlations)),
        "right_signs": float((np.sign(matter["fall"]) == np.sign(matter["gain"])).mean()),
        "gain": float(np.mean(taken)),
        "best": float(np.mean([max(0.0, cell["gain"].max()) for cell in cells])),
        "loss": float(-np.mean(np.minimum(0, taken))),
        "worst": float(min(taken)),
    }


def _fewest(found: pd.DataFrame, share: float) -> float:
    """NaN where no batch is large enough."""
    enough = (found["detected"] >= share).iloc[::-1].cummin()
    return float(found.loc[enough[enough].index, "batch"].min()) if enough.any() else float("nan")
