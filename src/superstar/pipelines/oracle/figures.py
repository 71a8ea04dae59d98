"""Gains of the policy beside those of the oracles."""

import pandas as pd
from matplotlib.figure import Figure

from superstar.pipelines.drawing import gain_maps
from superstar.pipelines.oracle.summary import RUNGS


def ladder_figure(ladder: pd.DataFrame) -> Figure:
    """What each test shift costs, and what comes back on each rung.

    Args:
        ladder: of `summary.ladder`, of the test shifts.
    """
    table = ladder.set_index("shift")
    lost = -table[["lost"]]
    rungs = table[list(RUNGS)].rename(columns=lambda name: name.replace(", ", "\n"))
    rungs.columns = rungs.columns.str.replace(" of ", "\nof ")
    return gain_maps({"the shift": lost, "what comes back": rungs}, "")
