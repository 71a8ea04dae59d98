"""Our distances under the benchmark's shifts against the released ones."""

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

from benchmarks.agreement.released import SEVERITIES, Released
from benchmarks.agreement.shifts import SHIFT_PERCENT, Shifted
from benchmarks.agreement.tables import plain

_MARKERS = "osD^v<>PX*"


def shifts_figure(cells: Shifted, released: Released, benchmark: str) -> Figure:
    """Like for like over released, a curve through each shift's severities, bars of one s.e."""
    figure = Figure(figsize=(8.4, 6), layout="constrained")
    axis = figure.subplots()
    shifts = list(dict.fromkeys(name for name, _ in cells))
    colours = colormaps["tab20"]
    for place, name in enumerate(shifts):
        theirs = [released.distance(benchmark, name, severity) for severity in SEVERITIES]
        likes = [cells[name, severity].like for severity in SEVERITIES]
        axis.errorbar(
            theirs,
            [like.value for like in likes],
            [like.standard_error for like in likes],
            marker=_MARKERS[place % len(_MARKERS)],
            color=colours(place % colours.N),
            ms=4,
            lw=0.8,
            elinewidth=0.7,
            label=plain(name),
        )
    every = [released.distance(benchmark, name, severity) for name, severity in cells]
    ends = np.array([0.95 * min(every), 1.05 * max(every)])
    axis.plot(ends, ends, color="black", lw=0.8, zorder=0)
    share = SHIFT_PERCENT / 100
    axis.fill_between(ends, (1 - share) * ends, (1 + share) * ends, color="0.9", lw=0, zorder=0)
    axis.set(xscale="log", yscale="log", xlim=(ends[0], ends[1]))
    ticks = [value for value in (50, 60, 70, 80, 100, 150, 200, 300, 400) if ends[0] < value]
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(FixedLocator(ticks))
        side.set_major_formatter("{x:g}")
        side.set_minor_formatter(NullFormatter())
    axis.set_xlabel("released Wasserstein distance")
    axis.set_ylabel("ours, like for like")
    axis.grid(alpha=0.3)
    axis.set_title(f"Equality, and {SHIFT_PERCENT:g}% around it; bars of one s.e.", fontsize=9)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
