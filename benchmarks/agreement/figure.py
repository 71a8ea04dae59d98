"""How far our distances under the benchmark's shifts lie from the released ones."""

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from benchmarks.agreement.comparison import STATE_ERRORS
from benchmarks.agreement.released import SEVERITIES, Released
from benchmarks.agreement.shifts import SHIFT_PERCENT, Shifted, compare_shifts
from benchmarks.agreement.tables import plain

_SPREAD = 0.13
"""Between the severities of a shift, where the shifts are 1 apart."""


def shifts_figure(cells: Shifted, released: Released, benchmark: str) -> Figure:
    """Like for like less released, in percent of it: a row a shift, a point a severity.

    Bars reach as many standard errors as a cell may be off. The shift that is highest on average
    comes first.
    """
    compared = compare_shifts({key: cell.like for key, cell in cells.items()}, released, benchmark)
    shifts = list(dict.fromkeys(name for name, _ in cells))
    off = {
        name: np.array([compared[name, str(severity)].difference for severity in SEVERITIES])
        for name in shifts
    }
    shifts.sort(key=lambda name: off[name].mean(), reverse=True)
    figure = Figure(figsize=(8.4, 1.2 + 0.42 * len(shifts)), layout="constrained")
    axis = figure.subplots()
    axis.axvspan(
        -SHIFT_PERCENT, SHIFT_PERCENT, color="0.92", lw=0, zorder=0, label=f"±{SHIFT_PERCENT:g}%"
    )
    axis.axvline(0, color="black", lw=0.8, zorder=1)
    colours = colormaps["viridis_r"](np.linspace(0.1, 1, len(SEVERITIES)))
    rows = np.arange(len(shifts))
    for place, severity in enumerate(SEVERITIES):
        at = [compared[name, str(severity)] for name in shifts]
        axis.errorbar(
            [cell.difference for cell in at],
            rows + _SPREAD * (place - (len(SEVERITIES) - 1) / 2),
            xerr=[100 * STATE_ERRORS * cell.standard_error / cell.released for cell in at],
            fmt="o",
            color=colours[place],
            ms=4,
            elinewidth=1,
            label=f"severity {severity}",
        )
    axis.set_yticks(rows, [plain(name) for name in shifts])
    axis.set_ylim(len(shifts) - 0.5, -0.5)
    axis.hlines(rows[1:] - 0.5, *axis.get_xlim(), color="0.85", lw=0.6, zorder=0)
    axis.margins(x=0)
    axis.set_xlabel(
        f"ours, like for like, less released, in % of released; bars of {STATE_ERRORS:g} s.e."
    )
    figure.legend(loc="outside upper center", ncols=1 + len(SEVERITIES), fontsize=9, frameon=False)
    return figure
