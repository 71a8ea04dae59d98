"""Strengths of the surrogates on the images at hand (paper, appendix E, Surrogate Corruptions)."""

import logging
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from superstar.control.severities import LEVELS, STATE_INDEX, choose_levels, relative_change
from superstar.corruptions import SURROGATES, corrupt, preset_strengths
from superstar.images import ImageSet
from superstar.jpeg import through_jpeg
from superstar.measures import FEATURES, state_features
from superstar.parameters import SeverityCalibration
from superstar.pipelines.severity_calibration import figures

logger = logging.getLogger(__name__)


def measure_grids(
    design: ImageSet,
    parameters: dict[str, Any],
    scale: str,
    jpeg_quality: int | None,
    seed: int,
) -> pd.DataFrame:
    """The state at every strength of every grid, and the relative change of the family's entry."""
    given = SeverityCalibration.model_validate(parameters)
    images = design.take(slice(0, given.images)).batch()
    clean = _state(images)
    rows = []
    for name in SURROGATES:
        strengths = given.grids[name]
        if given.severities == "preset":
            strengths = list(preset_strengths(name, scale))
        index, _ = STATE_INDEX[name]
        for strength in strengths:
            made = corrupt(images, name, 5, scale, seed=seed, strength=strength)
            shifted = _state(made if jpeg_quality is None else through_jpeg(made, jpeg_quality))
            rows.append(
                {
                    "surrogate": name,
                    "strength": float(strength),
                    **dict(zip(FEATURES, shifted, strict=True)),
                    "feature": FEATURES[index],
                    "clean": clean[index],
                    "change": relative_change(name, clean, shifted),
                }
            )
    return pd.DataFrame(rows)


def choose_severities(
    changes: pd.DataFrame, parameters: dict[str, Any]
) -> tuple[dict[str, list[float]], pd.DataFrame]:
    """Five strengths a surrogate: configuration for later stages, and a table of their states.

    What a reader should know of them is logged: a severity 5 outside the rule or at the end of its
    grid, and strengths that change the state in the wrong direction, as some presets do.
    """
    given = SeverityCalibration.model_validate(parameters)
    tables = []
    for _, grid in changes.groupby("surrogate", sort=False):
        rows = list(range(LEVELS))
        if given.severities == "calibrated":
            grid = grid.sort_values("change", kind="stable")
            rows = choose_levels(grid["change"].to_numpy(), given.change)
        table = grid.iloc[rows].assign(severity=range(1, LEVELS + 1))
        strongest = table["change"].iloc[-1]
        table["severity_5_within_rule"] = given.change[0] <= strongest <= given.change[1]
        table["severity_5_ends_grid"] = strongest == grid["change"].max()
        tables.append(table)
    chosen = pd.concat(tables, ignore_index=True)
    strengths = {
        str(name): [float(s) for s in table["strength"]]
        for name, table in chosen.groupby("surrogate", sort=False)
    }
    _tell(chosen, given)
    measured = [*FEATURES, "feature", "clean", "change"]
    measured += ["severity_5_within_rule", "severity_5_ends_grid"]
    return strengths, chosen[["surrogate", "severity", "strength", *measured]]


def _tell(chosen: pd.DataFrame, given: SeverityCalibration) -> None:
    for name, table in chosen.groupby("surrogate", sort=False):
        last = table.iloc[-1]
        if not last["severity_5_within_rule"]:
            logger.warning(
                "%s: severity 5 changes the state by %.2f, outside %g to %g",
                *(name, last["change"], *given.change),
            )
        elif given.severities == "calibrated" and last["severity_5_ends_grid"]:
            logger.info(
                "%s: severity 5 is the end of its grid (a change of %.2f; the rule allows %g)",
                *(name, last["change"], given.change[1]),
            )
        if wrong := table.loc[table["change"] < 0, "severity"].tolist():
            logger.warning(
                "%s: at severity %s the state changes in the other direction",
                *(name, ", ".join(map(str, wrong))),
            )


def draw_severities(
    changes: pd.DataFrame, chosen: pd.DataFrame, parameters: dict[str, Any]
) -> Figure:
    """The change of the state along each grid, and the five strengths taken from it."""
    rule = SeverityCalibration.model_validate(parameters).change
    return figures.severities_figure(changes, chosen, rule)


def _state(images: Tensor) -> NDArray[np.float64]:
    return state_features(images).mean(0).double().numpy()
