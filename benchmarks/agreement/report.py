"""The comparison as one Markdown page: every number of ours in it comes from the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.agreement.comparison import (
    DISTANCE_PERCENT,
    REWEIGHTED,
    STATE_ERRORS,
    STATE_PERCENT,
    Cells,
    Reweighting,
    compare_distances,
    compare_states,
)
from benchmarks.agreement.measuring import Measured
from benchmarks.agreement.released import Released
from benchmarks.agreement.setups import CIFAR_OVERLAP, CROP, QUALITY, SIDE, Setup
from benchmarks.agreement.shifts import Cell, Check, Key, Shifted
from benchmarks.agreement.shifts_report import check_section, how_to_read, shifts_section
from benchmarks.agreement.tables import TITLES, count, mark, markdown, signed
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
    """The page."""
    summaries, sections = [], []
    for result in results:
        summary, section = _benchmark(result, released)
        summaries += summary
        sections += section
    parts = [
        "# Agreement with the released figures",
        "Our state features and Wasserstein distances under the six surrogates, and distances "
        "under the benchmark's 19 shifts, beside the figures that the paper's authors released. "
        "Written by `make agreement`; its code is `benchmarks/agreement/`.",
        "\n".join(f"- {line}" for line in summaries),
        "## How to read it",
        f"- States are means over images at severity 5. A mean is within if it is off by "
        f"{STATE_PERCENT:g}% of the released one at most, or by {STATE_ERRORS:g} standard errors "
        "where that is more. The standard error (s.e.) is the released standard deviation over "
        "images / √(our number of images); the released means come from 2,000 images and have an "
        "error of their own, which is not counted.\n"
        "- Distances under surrogates are means over draws of images; `s.d. of a draw` is how far "
        "one draw lies from another. They are within if off by "
        + " or ".join(
            f"{DISTANCE_PERCENT[setup.benchmark]:g}% ({TITLES[setup.benchmark]})"
            for setup in (result.setup for result in results)
        )
        + " at most.\n"
        "- The released distances are between 1,000 and 1,000 images. An estimate from fewer "
        "images comes out higher."
        + "".join(f"\n{line}" for line in how_to_read([result.shifts for result in results])),
        *sections,
    ]
    return "\n\n".join(parts) + "\n"


def _benchmark(result: Results, released: Released) -> tuple[list[str], list[str]]:
    """Lines of the summary and parts of the page on one data set."""
    setup, measured = result.setup, result.measured
    name = setup.benchmark
    title = TITLES[name]
    states = compare_states(measured, released, name)
    distances = compare_distances(measured, released, name)
    summary = [f"{title}, states: {count(states)}."]
    parts = [f"## {title}", _PROTOCOLS[name](setup), f"### {title}: states at severity 5"]
    table = _state_table(states)
    if result.reweighting is not None:
        again = compare_states(measured, released, name, result.reweighting.weights)
        summary.append(f"{title}, states, images reweighted by brightness: {count(again)}.")
        table = pd.concat([table, _reweighted_columns(again)], axis=1)
        parts.append(_on_reweighting(states, again, result.reweighting))
    elif name in REWEIGHTED:
        parts.append("No weights give these images the release's brightness.")
    parts.append(markdown(table))
    if measured.by_kernel:
        parts.append(_on_kernels(setup, measured, released))
    summary.append(f"{title}, distances: {count(distances)}.")
    parts += [f"### {title}: distances", markdown(_distance_table(distances, measured))]
    for lines, section in (
        shifts_section(result.shifts, result.anew, released, name),
        check_section(result.checks, name),
    ):
        summary += lines
        parts += section
    return summary, parts


def _imagenet_protocol(setup: Setup) -> str:
    size = len(setup.draws[0][0])
    return (
        f"- Clean images, {len(setup.validation):,} of them: decoded, shorter side to {SIDE} "
        f"(bilinear, without antialiasing), central {CROP}x{CROP}.\n"
        f"- Shifted images: shorter side to {SIDE} (bilinear, with antialiasing), central "
        f"{CROP}x{CROP}, corrupted with the preset strengths "
        + "".join(
            f"({surrogate.replace('_', ' ')} at severity {severity} with {strength:.2f} instead "
            f"of {preset_strengths(surrogate, setup.constants)[severity - 1]:.2f}, since the "
            "released figures used that), "
            for (surrogate, severity), strength in setup.strengths.items()
        )
        + f"rounded to 8 bits, saved as JPEG of quality {QUALITY}, read, to {SIDE} without "
        f"antialiasing and the central {CROP}x{CROP} again.\n"
        f"- States: all {len(setup.for_states):,} images.\n"
        f"- Distances: {_projection(setup)}, ImageNet's mean and standard deviation; {size:,} "
        f"clean against {size:,} other, shifted images, mean of {len(setup.draws)} random splits."
    )


def _cifar_protocol(setup: Setup) -> str:
    size = len(setup.draws[0][0])
    return (
        f"- {len(setup.validation):,} test images; shifted ones with the preset strengths, rounded "
        "to 8 bits; nothing is resized.\n"
        f"- States: {len(setup.for_states):,} of the images at random.\n"
        f"- Distances: {_projection(setup)}, mean and standard deviation as the release has them "
        f"(CIFAR-10's); {size:,} clean against {size:,} shifted images, one in {CIFAR_OVERLAP} on "
        f"both sides, as in the release; mean of {len(setup.draws)} draws from all images."
    )


_PROTOCOLS = {"imagenet": _imagenet_protocol, "cifar100": _cifar_protocol}


def _projection(setup: Setup) -> str:
    given = setup.projection
    return f"projection `{given.kind}` from {given.n:,} to {given.m:,} dimensions"


def _on_reweighting(states: Cells, again: Cells, reweighting: Reweighting) -> str:
    before = [cell.difference for (_, name), cell in states.items() if name == "brightness"]
    after = [cell.difference for (_, name), cell in again.items() if name == "brightness"]
    return (
        f"The sample's images are not the release's: the six brightnesses differ by "
        f"{signed(min(before), 1)}% to {signed(max(before), 1)}%. The columns `reweighted` give "
        "each image a weight proportional to exp(−t b), with b its brightness uncorrupted and the "
        f"one number t = {reweighting.slope:.2f} chosen so that the brightness under median blur, "
        "which leaves brightness alone, equals the release's: then all six brightnesses differ by "
        f"{signed(min(after), 1)}% to {signed(max(after), 1)}%."
    )


def _on_kernels(setup: Setup, measured: Measured, released: Released) -> str:
    target = released.mean(setup.benchmark, "median_blur", "entropy")
    entropies = {
        side: float(features[:, _ENTROPY].mean()) for side, features in measured.by_kernel.items()
    }
    sides = " and ".join(f"{side}" for side in entropies)
    found = " and ".join(f"{value:.4f} with {side}" for side, value in entropies.items())
    between = min(entropies.values()) <= target <= max(entropies.values())
    preset = preset_strengths("median_blur", setup.constants)[-1]
    return (
        f"Entropy under median blur, by the side of the kernel in pixels: {found}; the preset at "
        f"severity 5 is {preset:g}. The released figure, {target:.4f}, "
        f"{'lies between those of' if between else 'does not lie between those of'} {sides}."
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
