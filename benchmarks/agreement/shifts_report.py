"""The page's parts on the benchmark's shifts."""

from collections.abc import Mapping, Sequence

import pandas as pd

from benchmarks.agreement.comparison import STATE_ERRORS, Cells, Comparison
from benchmarks.agreement.released import Released
from benchmarks.agreement.setups import MOST_POINTS
from benchmarks.agreement.shifts import (
    CHECKED_SAMPLES,
    CHECKED_SIDE,
    OTHER_SEEDS,
    OVERLAP,
    SHIFT_PERCENT,
    Cell,
    Check,
    Key,
    Reversal,
    Shifted,
    compare_shifts,
    reversals,
)
from benchmarks.agreement.tables import TITLES, count, mark, markdown, plain, signed
from superstar.corruptions import frost_source

FIGURE = "figures/agreement_shifts.png"
"""Where the figure lies, beside the page."""


def how_to_read(shifts: Sequence[Shifted]) -> list[str]:
    """Items of the list, if any data set was measured under the shifts."""
    if not any(shifts):
        return []
    return [
        "- Distances under the benchmark's shifts come in two ways. `raw` is between the disjoint "
        "sides of the draws, as for the surrogates. `like for like` is what the release measured: "
        f"between {MOST_POINTS:,} and {MOST_POINTS:,} images, one in {OVERLAP} on both sides, "
        "since both thousands were drawn from the same set. For it the sides of the draws are made "
        "to share so many, and the fall of the distance from our size of sample to the release's "
        "is taken off. That fall is found by our own images alone: d(n) = d + c·n^(-a) through the "
        "distances of the same draws at n, n/4 and n/16 images on a side, for each cell by itself.",
        "- The standard error of such a distance is by the chance of our images, and of what is "
        "random in the shift. The draws all come from the same images, so that how far they lie "
        "from one another does not tell it. It is the infinitesimal jackknife: the potentials of "
        "optimal transport say how much each image, on whichever side, adds to the mean over draws "
        "and to the extrapolation; the error is the root of the sum of the squares. The released "
        "figures have an error of their own, which is not counted.",
        f"- A distance under a benchmark's shift is within if it is off by {SHIFT_PERCENT:g}%, or "
        f"by {STATE_ERRORS:g} standard errors where that is more. The release has such distances "
        "of ImageNet alone.",
    ]


def shifts_section(
    cells: Shifted, anew: Mapping[Key, Sequence[Cell]], released: Released, benchmark: str
) -> tuple[list[str], list[str]]:
    """Lines of the summary and parts of the page; none if nothing was measured."""
    if not cells:
        return [], []
    title = TITLES[benchmark]
    like = compare_shifts({key: cell.like for key, cell in cells.items()}, released, benchmark)
    raw = compare_shifts({key: cell.raw for key, cell in cells.items()}, released, benchmark)
    found = reversals(cells, released, benchmark)
    summary = [
        f"{title}, distances under the benchmark's shifts, like for like: {count(like)}"
        f"{_by_error_alone(like)}.",
        f"{title}, the same, raw: {_raw(raw)}.",
    ]
    table = _table(raw, like)
    parts = [
        f"### {title}: distances under the benchmark's shifts",
        "The shifted images go through the same steps as above, but are cut off to 8 bits instead "
        f"of rounded, as the benchmark's files are. {_FROST[frost_source()]}",
    ]
    weighted = {key: cell.reweighted for key, cell in cells.items() if cell.reweighted is not None}
    if weighted:
        again = compare_shifts(weighted, released, benchmark)
        summary.append(f"{title}, the same, like for like and reweighted: {count(again)}.")
        table = pd.concat([table, _reweighted_columns(again)], axis=1)
        parts.append(
            "The columns `reweighted` are like for like with the weights of the states above, "
            "which make our images as bright as the release's: they show what brightness alone "
            "accounts for."
        )
    summary.append(f"{title}, order of severities: {_order(cells, anew, found)}.")
    parts += [_differences(like), f"![ours against released]({FIGURE})", markdown(table)]
    if found:
        parts += [
            "Pairs of severities that come in another order than in the release. `near tie`: the "
            "released distances differ by less than one standard error of our difference.",
            markdown(_reversal_table(found)),
        ]
    if anew:
        parts += [
            "Where ours is off by more than the percentage, or out of order by more than a near "
            f"tie, the shift was drawn anew, {len(OTHER_SEEDS)} times, on the same images. "
            "`all draws` is the mean with the first one, `s.d.` how far one lies from another: so "
            "much is the chance of the shift itself. What remains is our images', of which "
            "`reweighted` takes their brightness away.",
            markdown(_anew_table(cells, anew, released, benchmark)),
        ]
    return summary, parts


_FROST = {
    "procedural": "Frost has textures that we draw, the benchmark's photographs not being "
    "installed: where it misses, that is the likely cause.",
    "imagecorruptions-imaug": "Frost has the benchmark's photographs, from the package "
    "imagecorruptions-imaug.",
}


def _raw(cells: Cells) -> str:
    others = [cell.difference for cell in cells.values() if not cell.within]
    line = f"{len(cells) - len(others)} of {len(cells)} within"
    if others:
        line += f"; the others are off by {signed(min(others), 1)}% to {signed(max(others), 1)}%"
    return line


def _by_error_alone(cells: Cells) -> str:
    alone = [
        f"{plain(name)} {severity} ({signed(cell.difference, 1)}%, {_in_errors(cell)} s.e.)"
        for (name, severity), cell in cells.items()
        if cell.within and not cell.within_percent
    ]
    return f"; within by their standard error alone: {', '.join(alone)}" if alone else ""


def _differences(cells: Cells) -> str:
    table = pd.Series([cell.difference for cell in cells.values()])
    return (
        f"Like for like, the median difference is {signed(table.median(), 1)}%, the median of its "
        f"absolute value {table.abs().median():.1f}%; they run from {signed(table.min(), 1)}% to "
        f"{signed(table.max(), 1)}%. The cells share their images, so that their errors go "
        "together."
    )


def _order(cells: Shifted, anew: Mapping[Key, Sequence[Cell]], found: Sequence[Reversal]) -> str:
    shifts = list(dict.fromkeys(name for name, _ in cells))
    line = f"as released for {len(shifts) - len({pair.shift for pair in found})} of {len(shifts)}"
    parts = [f"{line} shifts"]
    near = [_pair(pair) for pair in found if pair.near_tie]
    if near:
        parts.append(f"near ties: {', '.join(near)}")
    apart = [pair for pair in found if not pair.near_tie]
    if apart:
        parts.append(f"reversed: {', '.join(_pair(pair) for pair in apart)}")
    restored = [_pair(pair) for pair in apart if _restored(pair, cells, anew)]
    if restored:
        parts.append(
            f"as released in the mean of {len(OTHER_SEEDS) + 1} draws of the shift: "
            f"{', '.join(restored)}"
        )
    return "; ".join(parts)


def _pair(pair: Reversal) -> str:
    return f"{plain(pair.shift)} {pair.severities[0]} and {pair.severities[1]}"


def _restored(pair: Reversal, cells: Shifted, anew: Mapping[Key, Sequence[Cell]]) -> bool:
    """Whether the mean over all draws of the shift has the released order."""
    keys = [(pair.shift, severity) for severity in pair.severities]
    if not all(key in anew for key in keys):
        return False
    first, second = (sum(cell.like.value for cell in (cells[key], *anew[key])) for key in keys)
    return (second - first) * pair.released > 0


def _table(raw: Cells, like: Cells) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "shift": plain(key[0]),
            "severity": key[1],
            "released": f"{cell.released:.2f}",
            "raw": f"{raw[key].ours:.2f}",
            "raw %": signed(raw[key].difference),
            "like for like": f"{cell.ours:.2f}",
            "difference %": signed(cell.difference),
            "s.e.": f"{cell.standard_error:.2f}",
            "difference in s.e.": _in_errors(cell),
            "within": mark(cell),
        }
        for key, cell in like.items()
    )


def _in_errors(cell: Comparison) -> str:
    # Two images, one on each side, tell no error.
    if cell.standard_error == 0:
        return ""
    return signed((cell.ours - cell.released) / cell.standard_error, 1)


def _reweighted_columns(cells: Cells) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "reweighted": f"{cell.ours:.2f}",
            "reweighted %": signed(cell.difference),
            "reweighted within": mark(cell),
        }
        for cell in cells.values()
    )


def _reversal_table(found: Sequence[Reversal]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "shift": plain(pair.shift),
            "severities": f"{pair.severities[0]} and {pair.severities[1]}",
            "released difference": signed(pair.released),
            "ours": signed(pair.ours),
            "s.e.": f"{pair.standard_error:.2f}",
            "near tie": "yes" if pair.near_tie else "no",
        }
        for pair in found
    )


def _anew_table(
    cells: Shifted, anew: Mapping[Key, Sequence[Cell]], released: Released, benchmark: str
) -> pd.DataFrame:
    rows = []
    for key, others in anew.items():
        every = [cells[key], *others]
        likes = pd.Series([cell.like.value for cell in every])
        target = released.distance(benchmark, *key)
        row = {
            "shift": plain(key[0]),
            "severity": str(key[1]),
            "released": f"{target:.2f}",
            "first draw": f"{likes[0]:.2f}",
            "all draws": f"{likes.mean():.2f}",
            "all %": signed(100 * (likes.mean() / target - 1)),
            "s.d.": f"{likes.std():.2f}",
        }
        weighted = [cell.reweighted.value for cell in every if cell.reweighted is not None]
        if weighted:
            mean = sum(weighted) / len(weighted)
            row |= {
                "all, reweighted": f"{mean:.2f}",
                "all, reweighted %": signed(100 * (mean / target - 1)),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def check_section(checks: Mapping[str, Check], benchmark: str) -> tuple[list[str], list[str]]:
    """Lines of the summary and parts of the page; none if nothing was checked."""
    if not checks:
        return [], []
    title = TITLES[benchmark]
    errors = [100 * (check.extrapolated / check.measured - 1) for check in checks.values()]
    before = [100 * (check.small / check.measured - 1) for check in checks.values()]
    summary = [
        f"{title}, extrapolation from {CHECKED_SIDE} to {MOST_POINTS:,} images on a side: off by "
        f"{signed(min(errors), 1)}% to {signed(max(errors), 1)}%, where {CHECKED_SIDE} images are "
        f"off by {signed(min(before), 1)}% to {signed(max(before), 1)}%."
    ]
    table = pd.DataFrame(
        {
            "shift": "none" if name == "none" else f"{plain(name)}, severity 5",
            f"at {MOST_POINTS:,}": f"{check.measured:.2f}",
            f"at {CHECKED_SIDE}": f"{check.small:.2f}",
            f"{CHECKED_SIDE} %": signed(100 * (check.small / check.measured - 1)),
            "extrapolated": f"{check.extrapolated:.2f}",
            "extrapolated %": signed(100 * (check.extrapolated / check.measured - 1)),
            "s.d. of a sample": f"{check.deviation:.2f}",
            "mean s.e.": f"{check.standard_error:.2f}",
        }
        for name, check in checks.items()
    )
    parts = [
        f"### {title}: extrapolation to larger samples",
        "Distances under the benchmark's shifts are extrapolated to the release's size of sample "
        f"(see above). Here are images enough to look: {CHECKED_SAMPLES} disjoint samples of "
        f"{2 * CHECKED_SIDE} images each, treated as there, beside the distance between "
        f"{MOST_POINTS:,} and {MOST_POINTS:,} of the same images, sides disjoint there too. The "
        "standard errors that the samples give themselves stand beside how far they lie from one "
        "another.",
        markdown(table),
    ]
    return summary, parts
