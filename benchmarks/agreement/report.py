"""The comparison as one Markdown page: every number of ours in it comes from the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.agreement.comparison import (
    REWEIGHTED,
    Cells,
    Reweighting,
    compare_distances,
    compare_states,
)
from benchmarks.agreement.measuring import Measured
from benchmarks.agreement.released import Released
from benchmarks.agreement.setups import (
    CIFAR_OVERLAP,
    CROP,
    MOST_POINTS,
    MOST_STATES,
    QUALITY,
    SIDE,
    Setup,
)
from benchmarks.agreement.shifts import Cell, Check, Key, Shifted
from benchmarks.agreement.shifts_report import (
    BY_BRIGHTNESS,
    ON_SHIFTS,
    check_part,
    shifts_part,
)
from benchmarks.agreement.tables import (
    TITLES,
    Part,
    counted,
    joined,
    listed,
    mark,
    markdown,
    missed,
    plain,
    signed,
)
from superstar.corruptions import preset_strengths
from superstar.measures import FEATURES

_ENTROPY = FEATURES.index("entropy")


@dataclass(frozen=True)
class Results:
    """What the page shows of a data set.

    Attributes:
        setup: how it was measured.
        measured: under the surrogates.
        reweighting: weights that make it as bright as the release's, if they were looked for and
            found.
        shifts: distances under the benchmark's shifts, where the release has some.
        anew: the doubtful ones of these, drawn with other seeds.
        checks: of the extrapolation behind them, where there are images enough.
    """

    setup: Setup
    measured: Measured
    reweighting: Reweighting | None
    shifts: Shifted
    anew: Mapping[Key, Sequence[Cell]]
    checks: Mapping[str, Check]


def compose(results: Sequence[Results], released: Released) -> str:
    """The page: a summary, the tables, the method."""
    whole = joined(_benchmark(result, released) for result in results)
    with_shifts = any(result.shifts for result in results)
    parts = [
        "# Agreement with the released figures",
        "The paper's authors released figures of their images: means of the three state features, "
        "and Wasserstein distances between clean and shifted images. Here are ours beside them, "
        "on images of the same data sets. Written by `make agreement`; its code is "
        "`benchmarks/agreement/`.",
        "## Summary",
        "Compared are state features and distances under the six surrogates"
        + (", and distances under the benchmark's 19 shifts. " if with_shifts else ". ")
        + "A figure agrees if it is off by no more than the column `within` says, in % of the "
        "released one. Where that names standard errors (s.e.) as well, the wider of the two "
        "holds.",
        markdown(pd.DataFrame(whole.counts)),
        "What does not agree and why, and what to know of the rest:" if whole.notes else "",
        "\n".join(f"- {line}" for line in whole.notes),
        *whole.sections,
        "## Method",
        _ON_SURROGATES,
        *(ON_SHIFTS if any(result.shifts or result.checks for result in results) else ()),
        *(
            text
            for setup in (result.setup for result in results)
            for text in (
                f"### {TITLES[setup.benchmark]}: images",
                _PROTOCOLS[setup.benchmark](setup),
            )
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_ON_SURROGATES = "\n\n".join(
    [
        "### State features and distances under surrogates",
        "- States are means over images at severity 5.\n"
        "- The standard error of a mean is the released standard deviation over images / √(our "
        f"number of images). The released means come from {MOST_STATES:,} images. Their own error "
        "is not counted.\n"
        "- Distances are means over draws of images. `s.d. of a draw` is how far one draw lies "
        "from another.\n"
        f"- The released distances are between {MOST_POINTS:,} and {MOST_POINTS:,} images. Fewer "
        "images give a higher distance.",
    ]
)


def _benchmark(result: Results, released: Released) -> Part:
    """All of the page that is on one data set."""
    setup, measured = result.setup, result.measured
    name = setup.benchmark
    return joined(
        [
            Part(sections=[f"## {TITLES[name]}"]),
            _states(result, released),
            _distances(compare_distances(measured, released, name), measured, name),
            shifts_part(result.shifts, result.anew, released, name),
            check_part(result.checks, name),
        ]
    )


def _states(result: Results, released: Released) -> Part:
    measured, name = result.measured, result.setup.benchmark
    title = TITLES[name]
    states = compare_states(measured, released, name)
    counts = [counted(name, "state features, severity 5", states)]
    off = missed(states)
    sections = [f"### {title}: states at severity 5"]
    table = _state_table(states)
    again: Cells = {}
    if result.reweighting is not None:
        again = compare_states(measured, released, name, result.reweighting.weights)
        counts.append(counted(name, f"state features, severity 5, {BY_BRIGHTNESS}", again))
        table = pd.concat([table, _reweighted_columns(again)], axis=1)
        sections.append(_on_reweighting(states, again, result.reweighting))
    elif name in REWEIGHTED:
        sections.append("No weights give these images the release's brightness.")
    sections.append(markdown(table))
    on_kernels = _on_kernels(result.setup, measured, released) if measured.by_kernel else ""
    notes = notes_on_states(off, again, on_kernels)
    if on_kernels:
        sections.append(on_kernels)
    return Part(counts, [f"{title}, states: {line}" for line in notes], sections)


def notes_on_states(off: Cells, again: Cells, on_kernels: str) -> list[str]:
    """Which states are off, and why.

    Args:
        off: the cells that are.
        again: all cells reweighted, or none.
        on_kernels: what explains the entropy under median blur, or nothing.
    """
    reasons: dict[str, Cells] = {}
    for key, cell in off.items():
        reason = ""
        if key in again and again[key].within:
            reason = "These agree once our images are reweighted to be as bright as the release's."
        elif key == ("median_blur", "entropy"):
            reason = on_kernels
        reasons.setdefault(reason, {})[key] = cell
    notes = [(cells, reason) for reason, cells in reasons.items()]
    only = {key: cell for key, cell in missed(again).items() if key not in off}
    if only:
        notes.append((only, "These are off only where our images are reweighted."))
    return [f"{listed(cells)}. {reason}".strip() for cells, reason in notes]


def _distances(cells: Cells, measured: Measured, benchmark: str) -> Part:
    title, off = TITLES[benchmark], missed(cells)
    return Part(
        [counted(benchmark, "distances under surrogates", cells)],
        [f"{title}, distances under surrogates: {listed(off)}."] if off else [],
        [
            f"### {title}: distances under surrogates",
            markdown(_distance_table(cells, measured)),
        ],
    )


def _imagenet_protocol(setup: Setup) -> str:
    size = len(setup.draws[0][0])
    stronger = "".join(
        f" {plain(surrogate).capitalize()} at severity {severity} has {strength:.2f} instead of "
        f"{preset_strengths(surrogate, setup.constants)[severity - 1]:.2f}, since the released "
        "figures used that."
        for (surrogate, severity), strength in setup.strengths.items()
    )
    return (
        f"- Clean images, {len(setup.validation):,} of them: decoded, shorter side to {SIDE} "
        f"(bilinear, without antialiasing), central {CROP}x{CROP}.\n"
        f"- Shifted images: shorter side to {SIDE} (bilinear, with antialiasing), central "
        f"{CROP}x{CROP}, corrupted, to 8 bits, saved as JPEG of quality {QUALITY}, read. Then to "
        f"{SIDE} without antialiasing and the central {CROP}x{CROP} again.\n"
        f"- Surrogates have the preset strengths and are rounded to 8 bits.{stronger}\n"
        f"- States: all {len(setup.for_states):,} images.\n"
        f"- Distances: {_projection(setup)}, ImageNet's mean and standard deviation. {size:,} "
        f"clean images against {size:,} other, shifted ones, mean of {len(setup.draws)} random "
        "splits."
    )


def _cifar_protocol(setup: Setup) -> str:
    size = len(setup.draws[0][0])
    return (
        f"- {len(setup.validation):,} test images. Surrogates have the preset strengths and are "
        "rounded to 8 bits. Nothing is resized.\n"
        f"- States: {len(setup.for_states):,} of the images at random.\n"
        f"- Distances: {_projection(setup)}, mean and standard deviation as the release has them "
        f"(CIFAR-10's). {size:,} clean images against {size:,} shifted ones, one in "
        f"{CIFAR_OVERLAP} on both sides, as in the release; mean of {len(setup.draws)} draws from "
        "all images."
    )


_PROTOCOLS = {"imagenet": _imagenet_protocol, "cifar100": _cifar_protocol}


def _projection(setup: Setup) -> str:
    given = setup.projection
    return f"projection `{given.kind}` from {given.n:,} to {given.m:,} dimensions"


def _on_reweighting(states: Cells, again: Cells, reweighting: Reweighting) -> str:
    before = [cell.difference for (_, name), cell in states.items() if name == "brightness"]
    after = [cell.difference for (_, name), cell in again.items() if name == "brightness"]
    return (
        "Our images are not the release's: the six brightnesses differ by "
        f"{signed(min(before), 1)}% to {signed(max(before), 1)}%. The columns `reweighted` give "
        "each image a weight proportional to exp(−t b), with b its brightness uncorrupted. The one "
        f"number t = {reweighting.slope:.2f} is chosen so that the brightness under median blur, "
        "which leaves brightness alone, equals the release's. Then all six differ by "
        f"{signed(min(after), 1)}% to {signed(max(after), 1)}%."
    )


def _on_kernels(setup: Setup, measured: Measured, released: Released) -> str:
    target = released.mean(setup.benchmark, "median_blur", "entropy")
    entropies = {
        side: float(features[:, _ENTROPY].mean()) for side, features in measured.by_kernel.items()
    }
    found = " and ".join(f"{value:.4f} with {side}" for side, value in entropies.items())
    between = min(entropies.values()) <= target <= max(entropies.values())
    preset = preset_strengths("median_blur", setup.constants)[-1]
    return (
        f"Entropy under median blur, by the side of the kernel in pixels: {found}. The released "
        f"figure, {target:.4f}, {'lies' if between else 'does not lie'} between them. The preset "
        f"at severity 5 is {preset:g}."
    )


def _state_table(cells: Cells) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "surrogate": surrogate.replace("_", " "),
            "feature": feature,
            "released": f"{cell.released:.4f}",
            "ours": f"{cell.ours:.4f}",
            "difference %": signed(cell.difference),
            "s.e.": f"{cell.standard_error:.4f}",
            "difference in s.e.": signed((cell.ours - cell.released) / cell.standard_error, 1),
            "within": mark(cell),
        }
        for (surrogate, feature), cell in cells.items()
    )


def _reweighted_columns(cells: Cells) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "reweighted": f"{cell.ours:.4f}",
            "reweighted %": signed(cell.difference),
            "reweighted within": mark(cell),
        }
        for cell in cells.values()
    )


def _distance_table(cells: Cells, measured: Measured) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "surrogate": surrogate.replace("_", " "),
            "severity": severity,
            "released": f"{cell.released:.2f}",
            "ours": f"{cell.ours:.2f}",
            "difference %": signed(cell.difference),
            "s.d. of a draw": f"{measured.distances[surrogate, int(severity)].std(ddof=1):.2f}",
            "within": mark(cell),
        }
        for (surrogate, severity), cell in cells.items()
    )
