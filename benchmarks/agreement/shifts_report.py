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
from benchmarks.agreement.tables import (
    TITLES,
    Part,
    counted,
    listed,
    mark,
    markdown,
    missed,
    plain,
    signed,
)
from benchmarks.corruptions.report import FROST
from superstar.corruptions import frost_source

FIGURE = "figures/agreement_shifts.png"
"""Where the figure lies, beside the page."""


BY_BRIGHTNESS = "reweighted by brightness"
ON_SHIFTS = (
    "### Distances under the benchmark's shifts",
    "- The release has them of ImageNet alone.\n"
    "- The shifted images are cut off to 8 bits instead of rounded, as the benchmark's files are. "
    "All other steps are those of the surrogates.\n"
    "- `raw` is between the disjoint sides of the draws, as for the surrogates.\n"
    f"- `like for like` is what the release measured: between {MOST_POINTS:,} and {MOST_POINTS:,} "
    f"images, one in {OVERLAP} on both sides, since both thousands were drawn from the same set. "
    "The sides of our draws are made to share so many. Then the fall of the distance from our "
    "size of sample to the release's is taken off.\n"
    "- That fall is found by our own images alone, for each cell by itself: d(n) = d + c·n^(-a) "
    "through the distances of the same draws at n, n/4 and n/16 images on a side.\n"
    "- `s.e.` is the standard error by the chance of our images, and of what is random in the "
    "shift. All draws come from the same images, so that how far they lie from one another does "
    "not tell it. It is the infinitesimal jackknife. The potentials of optimal transport say how "
    "much each image adds to the mean over draws and to the fall; the error is the root of the "
    "sum of the squares. The released figures have an error of their own, which is not counted.\n"
    "- The cells share their images, so that their errors go together.\n"
    "- `reweighted` is like for like with the weights of the states, which make our images as "
    "bright as the release's. It shows what brightness alone accounts for.",
)


def shifts_part(
    cells: Shifted, anew: Mapping[Key, Sequence[Cell]], released: Released, benchmark: str
) -> Part:
    """What the page shows of the benchmark's shifts; nothing if none was measured."""
    if not cells:
        return Part()
    title = TITLES[benchmark]
    like = compare_shifts({key: cell.like for key, cell in cells.items()}, released, benchmark)
    raw = compare_shifts({key: cell.raw for key, cell in cells.items()}, released, benchmark)
    found = reversals(cells, released, benchmark)
    what = "distances under the benchmark's shifts"
    counts = [counted(benchmark, f"{what}, like for like", like)]
    table = _table(raw, like)
    weighted = {key: cell.reweighted for key, cell in cells.items() if cell.reweighted is not None}
    if weighted:
        again = compare_shifts(weighted, released, benchmark)
        counts.append(counted(benchmark, f"{what}, like for like, {BY_BRIGHTNESS}", again))
        table = pd.concat([table, _reweighted_columns(again)], axis=1)
    counts.append(counted(benchmark, f"{what}, raw", raw))
    sections = [
        f"### {title}: distances under the benchmark's shifts",
        f"{_differences(like)} {_frost()}",
        f"![ours less released, in percent]({FIGURE})",
        f"A point is a severity of a shift, its bar {STATE_ERRORS:g} standard errors to either "
        f"side, the band {SHIFT_PERCENT:g}%. A distance agrees if its point lies in the band or "
        "its bar reaches 0.",
        markdown(table),
    ]
    if found:
        sections += [
            "Pairs of severities that come in another order than in the release. `near tie`: the "
            "released distances differ by less than one standard error of our difference.",
            markdown(_reversal_table(found)),
        ]
    if anew:
        sections += [
            "Where ours is off by more than the percentage, or out of order by more than a near "
            f"tie, the shift was drawn anew, {len(OTHER_SEEDS)} times, on the same images. "
            "`all draws` is the mean with the first one. `s.d.` is how far one lies from another: "
            "so much is the chance of the shift itself. What remains is our images', of which "
            "`reweighted` takes their brightness away.",
            markdown(_anew_table(cells, anew, released, benchmark)),
        ]
    notes = [
        *_off(like),
        *_by_error_alone(like),
        *_raw(raw),
        *_order(cells, anew, found),
    ]
    return Part(counts, [f"{title}, benchmark's shifts: {note}" for note in notes], sections)


def _frost() -> str:
    source = frost_source()
    cause = " Where it misses, that is the likely cause." if source == "procedural" else ""
    return FROST[source] + cause


def _off(cells: Cells) -> list[str]:
    off = missed(cells)
    return [f"like for like, {listed(off)}."] if off else []


def _raw(cells: Cells) -> list[str]:
    others = [cell.difference for cell in missed(cells).values()]
    if not others:
        return []
    return [
        f"raw, the distances that do not agree are off by {signed(min(others), 1)}% to "
        f"{signed(max(others), 1)}%. They are between as many images as we have, and fewer images "
        "give a higher distance. `like for like` takes that off."
    ]


def _by_error_alone(cells: Cells) -> list[str]:
    alone = [
        f"{plain(name)} {severity} ({signed(cell.difference, 1)}%, {_in_errors(cell)} s.e.)"
        for (name, severity), cell in cells.items()
        if cell.within and not cell.within_percent
    ]
    if not alone:
        return []
    return [
        f"like for like, off by more than {SHIFT_PERCENT:g}% but within {STATE_ERRORS:g} standard "
        f"errors: {', '.join(alone)}."
    ]


def _differences(cells: Cells) -> str:
    table = pd.Series([cell.difference for cell in cells.values()])
    return (
        f"Like for like, the median difference is {signed(table.median(), 1)}%, the median of its "
        f"absolute value {table.abs().median():.1f}%. They run from {signed(table.min(), 1)}% to "
        f"{signed(table.max(), 1)}%."
    )


def _order(
    cells: Shifted, anew: Mapping[Key, Sequence[Cell]], found: Sequence[Reversal]
) -> list[str]:
    """On the order of each shift's severities, where not all are as in the release."""
    if not found:
        return []
    shifts = {name for name, _ in cells}
    as_released = len(shifts) - len({pair.shift for pair in found})
    sentences = [
        f"the order of severities is as released for {as_released} of {len(shifts)} shifts."
    ]
    near = [_pair(pair) for pair in found if pair.near_tie]
    if near:
        sentences.append(f"Near ties in the release: {', '.join(near)}.")
    apart = [pair for pair in found if not pair.near_tie]
    if apart:
        sentences.append(f"Reversed: {', '.join(_pair(pair) for pair in apart)}.")
    restored = [_pair(pair) for pair in apart if _restored(pair, cells, anew)]
    if restored:
        sentences.append(
            f"As released in the mean of {len(OTHER_SEEDS) + 1} draws of the shift: "
            f"{', '.join(restored)}."
        )
    return [" ".join(sentences)]


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


def check_part(checks: Mapping[str, Check], benchmark: str) -> Part:
    """What the page shows of the extrapolation; nothing if it was not checked."""
    if not checks:
        return Part()
    title = TITLES[benchmark]
    errors = [100 * (check.extrapolated / check.measured - 1) for check in checks.values()]
    before = [100 * (check.small / check.measured - 1) for check in checks.values()]
    note = (
        f"{title}, the extrapolation behind like for like, from {CHECKED_SIDE} to {MOST_POINTS:,} "
        f"images on a side, is off by {signed(min(errors), 1)}% to {signed(max(errors), 1)}%. "
        f"Without it, {CHECKED_SIDE} images are off by {signed(min(before), 1)}% to "
        f"{signed(max(before), 1)}%."
    )
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
    sections = [
        f"### {title}: extrapolation to larger samples",
        "Distances under the benchmark's shifts are extrapolated to the release's size of sample "
        f"(see the method). Here are images enough to check that: {CHECKED_SAMPLES} disjoint "
        f"samples of {2 * CHECKED_SIDE} images each, treated as there. Beside them stands the "
        f"distance between {MOST_POINTS:,} and {MOST_POINTS:,} of the same images, sides disjoint "
        "there too. `mean s.e.` is what the samples give as their own error, `s.d. of a sample` "
        "how far they lie from one another.",
        markdown(table),
    ]
    return Part(notes=[note], sections=sections)
