"""The comparison as one Markdown page. Its sentences hold whatever the numbers are."""

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import pandas as pd

from benchmarks.corruptions.change import BANDS
from benchmarks.corruptions.comparing import REPEATS, SEVERITIES, TIMED, Equality, Likeness, Speed
from benchmarks.corruptions.images import CROP, PHOTOS, SIDE
from benchmarks.corruptions.peer import PACKAGE
from benchmarks.corruptions.whole import WholeTimes
from benchmarks.peers import cores

EQUAL_SHARE = 0.999
ALIKE_PERCENT, ALIKE_ERRORS = 5.0, 3.0
NOTES = {
    "elastic_transform": "The peer replaced the benchmark's algorithm by another: no affine map, "
    "and waves of other lengths and heights. Ours is the benchmark's, and so is unlike the peer's; "
    "the tests compare it with SciPy and OpenCV instead.",
    "motion_blur": "Each image draws its angle.",
    "frost": "Each image draws a texture and a place in it. The benchmark draws from five of its "
    "six photographs as they are, and so do we; the peer draws from all six and enlarges them by a "
    "tenth, which smooths them.",
    "fog": "Each image draws clouds that cover it whole, so that few draws say little.",
    "spatter": "Each image draws its drops, at severity 1 often hardly any, so that few draws say "
    "little.",
}


def compose(
    facts: Mapping[str, str],
    source: str,
    count: int,
    draws: int,
    equal: Mapping[tuple[str, int], Equality],
    alike: Mapping[tuple[str, int], Likeness],
    speeds: Mapping[str, Speed],
    whole: WholeTimes,
) -> str:
    """The page.

    Args:
        facts: about the machine.
        source: where the images come from.
        count: images.
        draws: of each random shift.
        equal: by shift and severity, for those without randomness.
        alike: by shift and severity, for the others.
        speeds: by shift.
        whole: what all sets take.
    """
    images = (
        "windows of the embedded photographs"
        if source == PHOTOS
        else f"images of a folder, shorter side to {SIDE}, central {CROP}x{CROP}"
    )
    parts = [
        "# Benchmark shifts beside a peer",
        f"Written by `python -m benchmarks.corruptions`: our shifts beside those of {PACKAGE}, "
        f"which carries the benchmark's algorithms for {CROP}x{CROP} pixels.",
        "\n".join(f"- {name}: {value}" for name, value in facts.items())
        + f"\n- images: {count}, {images}",
        "\n".join(f"- {line}" for line in _summary(equal, alike, speeds, whole)),
        "Ours are cut off to 8 bits before they are compared, as the peer's are.",
    ]
    if equal:
        parts += [
            "## Shifts without randomness",
            "Share of pixel values equal within 2 levels of 255, and the greatest difference in "
            f"levels. The aim is {EQUAL_SHARE:.1%}.",
            _table(_equal_rows(equal)),
        ]
    if alike:
        names = {name for name, _ in alike}
        parts += [
            "## Random shifts",
            f"Differences of the change (corrupted minus clean), ours from the peer's, over "
            f"{draws} draws of all images, ± standard errors from draw to draw. Mean: in % of the "
            "peer's standard deviation. Variance: in %. Spectrum: in %, in the one of "
            f"{BANDS} bands of radial frequency where it is greatest. Horizontal and vertical: "
            "correlation of neighbours, in hundredths. A row is alike if all of it lies within "
            f"{ALIKE_PERCENT:g}, or within {ALIKE_ERRORS:g} standard errors where that is more.",
            _table(_alike_rows(alike)),
            "\n".join(f"- {name}: {text}" for name, text in NOTES.items() if name in names),
        ]
    if speeds:
        parts += [
            "## Speed",
            f"Milliseconds an image at severity {TIMED}, all images in one batch: ours on all "
            f"cores in threads, the peer in {cores} processes; the fastest of at least {REPEATS} "
            "calls. Ours begins and ends with float32, the peer with 8 bits.",
            _table(_speed_rows(speeds)),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def is_alike(cell: Likeness) -> bool:
    """Whether a change is alike by the page's rule."""
    allowed = np.maximum(ALIKE_PERCENT, ALIKE_ERRORS * cell.error)
    return bool((np.abs(cell.difference.values()) <= allowed).all())


def _summary(
    equal: Mapping[tuple[str, int], Equality],
    alike: Mapping[tuple[str, int], Likeness],
    speeds: Mapping[str, Speed],
    whole: WholeTimes,
) -> list[str]:
    lines = []
    if equal:
        missed = [_cell(key) for key, cell in equal.items() if cell.share < EQUAL_SHARE]
        lines.append(_count("without randomness, equal", len(equal), missed))
    if alike:
        missed = [_cell(key) for key, cell in alike.items() if not is_alike(cell)]
        lines.append(_count("random, alike", len(alike), missed))
    if speeds:
        ratios = {name: speed.peer / speed.ours for name, speed in speeds.items()}
        slower = [name for name, ratio in ratios.items() if ratio < 1]
        lines.append(
            f"speed: the median shift takes the peer {_number(median(ratios.values()))} times as "
            f"long as us; slower than the peer: {', '.join(slower) or 'none'}"
        )
    lines.append(
        f"all {whole.sets} sets of {whole.images} images: {whole.made:.0f} s to make, "
        f"{whole.written:.0f} s to make and write as JPEG files"
    )
    return lines


def _count(what: str, cells: int, missed: list[str]) -> str:
    return f"{what}: {cells - len(missed)} of {cells}; missed: {', '.join(missed) or 'none'}"


def _cell(key: tuple[str, int]) -> str:
    return f"{key[0]} {key[1]}"


def _equal_rows(equal: Mapping[tuple[str, int], Equality]) -> list[dict[str, str]]:
    rows = []
    for name in dict.fromkeys(name for name, _ in equal):
        row = {"": name}
        for severity in SEVERITIES:
            cell = equal[name, severity]
            row[f"severity {severity}"] = f"{cell.share:.3%} ({cell.greatest})"
        rows.append(row)
    return rows


def _alike_rows(alike: Mapping[tuple[str, int], Likeness]) -> list[dict[str, str]]:
    rows = []
    for (name, severity), cell in alike.items():
        row = {"": name, "severity": str(severity)}
        values = zip(cell.difference.values(), cell.error, strict=True)
        columns = ("mean", "variance", "spectrum", "horizontal", "vertical")
        row |= {
            column: f"{value:+.1f} ± {error:.1f}"
            for column, (value, error) in zip(columns, values, strict=True)
        }
        rows.append(row | {"alike": "yes" if is_alike(cell) else "**no**"})
    return rows


def _speed_rows(speeds: Mapping[str, Speed]) -> list[dict[str, str]]:
    rows = [
        {
            "": name,
            "ms": _number(1e3 * speed.ours),
            "peer ms": _number(1e3 * speed.peer),
            "ratio": _number(speed.peer / speed.ours),
        }
        for name, speed in speeds.items()
    ]
    middle = median(speed.peer / speed.ours for speed in speeds.values())
    return [*rows, {"": "median", "ms": "", "peer ms": "", "ratio": _number(middle)}]


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)
