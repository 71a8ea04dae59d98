"""The comparison as one Markdown page. Its sentences hold whatever the numbers are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import pandas as pd

from benchmarks.corruptions.change import BANDS
from benchmarks.corruptions.comparing import (
    REPEATS,
    SEVERITIES,
    SINGLE_IMAGES,
    TIMED,
    Equality,
    Likeness,
    Speed,
)
from benchmarks.corruptions.images import CROP, PHOTOS, SIDE
from benchmarks.corruptions.peer import PACKAGE
from benchmarks.corruptions.sheet import PHOTO, TILE
from benchmarks.corruptions.whole import WholeTimes
from benchmarks.peers import cores
from superstar.corruptions import frost_source

EQUAL_SHARE = 0.999
ALIKE_PERCENT, ALIKE_ERRORS = 5.0, 3.0
FROST = {
    "procedural": "Frost has textures that we draw, the benchmark's photographs not being "
    "installed.",
    "imagecorruptions-imaug": "Frost has the benchmark's photographs, from the package "
    "imagecorruptions-imaug.",
}
"""Sentences on the textures of frost, by their source."""

_FROST_APART = {
    "procedural": "The peer lays photographs over the image. Ours are textures that we draw, the "
    "photographs not being installed.",
    "imagecorruptions-imaug": "The benchmark draws from five of its six photographs as they are, "
    "and so do we. The peer draws from all six and enlarges them by a tenth, which smooths them.",
}
_ELASTIC_APART = (
    "The peer replaced the benchmark's algorithm by another: no affine map, and waves of other "
    "lengths and heights. Ours is the benchmark's; the tests compare it with SciPy and OpenCV "
    "instead."
)
_NOTES = {
    "motion_blur": "Each image draws its angle.",
    "fog": "Each image draws clouds that cover it whole, so that few draws say little.",
    "spatter": "Each image draws its drops, at severity 1 often hardly any, so that few draws say "
    "little.",
}
_STATISTICS = ("mean", "variance", "spectrum", "horizontal", "vertical")

Key = tuple[str, int]
"""A shift and its severity."""


def not_comparable() -> dict[str, str]:
    """Shifts of which the peer makes something else than the benchmark, and why."""
    return {"frost": _FROST_APART[frost_source()], "elastic_transform": _ELASTIC_APART}


@dataclass(frozen=True)
class Measured:
    """What the page shows.

    Attributes:
        images: how many both corrupted.
        draws: of each random shift on all of them.
        equal: shifts without randomness.
        alike: the others.
        single_draws: of each image that was drawn alone.
        single: rows that miss, on such images.
        speeds: by shift.
        whole: what all sets take.
    """

    images: int
    draws: int
    equal: Mapping[Key, Equality]
    alike: Mapping[Key, Likeness]
    single_draws: int
    single: Mapping[Key, Sequence[Likeness]]
    speeds: Mapping[str, Speed]
    whole: WholeTimes


def compose(facts: Mapping[str, str], source: str, measured: Measured, figure: str | None) -> str:
    """The page.

    Args:
        facts: about the machine.
        source: where the images come from.
        measured: on them.
        figure: picture of all shifts, relative to the page; None if there is none.
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
        + f"\n- images: {measured.images}, {images}",
        "\n".join(f"- {line}" for line in _summary(measured)),
        "Ours are cut off to 8 bits before they are compared, as the peer's are.",
    ]
    if figure:
        parts += [
            "## The shifts",
            f"![A photograph under all 19 shifts at five severities]({figure})",
            f"Ours, on the embedded photograph `{PHOTO}`: {TILE}x{TILE} of its {CROP}x{CROP} "
            f"pixels, neither reduced nor enlarged. {FROST[frost_source()]}",
        ]
    if measured.equal:
        parts += [
            "## Shifts without randomness",
            "Share of pixel values equal within 2 levels of 255, and the greatest difference in "
            f"levels. The aim is {EQUAL_SHARE:.1%}.",
            _table(_equal_rows(measured.equal)),
        ]
    if measured.alike:
        parts += _random(measured)
    if measured.speeds:
        parts += [
            "## Speed",
            f"Milliseconds an image at severity {TIMED}, all images in one batch: ours on all "
            f"cores in threads, the peer in {cores} processes; the fastest of at least {REPEATS} "
            "calls. Ours begins and ends with float32, the peer with 8 bits.",
            _table(_speed_rows(measured.speeds)),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _random(measured: Measured) -> list[str]:
    """Parts of the page on shifts with randomness."""
    names = {name for name, _ in measured.alike}
    apart = {name: text for name, text in not_comparable().items() if name in names}
    notes = [f"{name}, not comparable: {text}" for name, text in apart.items()]
    notes += [f"{name}: {text}" for name, text in _NOTES.items() if name in names]
    parts = [
        "## Random shifts",
        f"Differences of the change (corrupted minus clean), ours from the peer's, over "
        f"{measured.draws} draws of all images, ± standard errors from draw to draw. Mean: in % "
        "of the peer's standard deviation. Variance: in %. Spectrum: in %, in the one of "
        f"{BANDS} bands of radial frequency where it is greatest. Horizontal and vertical: "
        "correlation of neighbours, in hundredths. A row is alike if all of it lies within "
        f"{ALIKE_PERCENT:g}, or within {ALIKE_ERRORS:g} standard errors where that is more.",
        _table(
            [
                _alike_row(key, cell, "not comparable" if key[0] in apart else _verdict(cell))
                for key, cell in measured.alike.items()
            ]
        ),
        "\n".join(f"- {note}" for note in notes),
    ]
    if measured.single:
        parts += [
            "### Rows that miss, on single images",
            "Many images drawn a few times each may miss by chance. Here every row that misses is "
            f"drawn {measured.single_draws:,} times on each of the first {SINGLE_IMAGES} images "
            "alone, by other seeds. A row that is alike on all of them counts as missed by chance.",
            _table(
                [
                    _alike_row(key, cell, _verdict(cell), image)
                    for key, cells in measured.single.items()
                    for image, cell in enumerate(cells, start=1)
                ]
            ),
        ]
    return parts


def is_alike(cell: Likeness) -> bool:
    """Whether a change is alike by the page's rule."""
    allowed = np.maximum(ALIKE_PERCENT, ALIKE_ERRORS * cell.error)
    return bool((np.abs(cell.difference.values()) <= allowed).all())


def misses(alike: Mapping[Key, Likeness]) -> list[Key]:
    """Rows that are not alike, of the shifts that can be compared."""
    apart = not_comparable()
    return [key for key, cell in alike.items() if key[0] not in apart and not is_alike(cell)]


def _summary(measured: Measured) -> list[str]:
    lines = []
    if measured.equal:
        missed = [key for key, cell in measured.equal.items() if cell.share < EQUAL_SHARE]
        lines.append(_count("without randomness, equal", len(measured.equal), missed))
    apart = [name for name in not_comparable() if any(name == key[0] for key in measured.alike)]
    judged = [key for key in measured.alike if key[0] not in apart]
    if judged:
        line = _count("random, alike", len(judged), misses(measured.alike))
        chance = [_cell(key) for key, cells in measured.single.items() if all(map(is_alike, cells))]
        if chance:
            line += (
                f"; of these by chance (alike in {measured.single_draws:,} draws of one image): "
                f"{', '.join(chance)}"
            )
        lines.append(line)
    if apart:
        lines.append(
            "random, not comparable, the peer making something else than the benchmark: "
            f"{', '.join(apart)}"
        )
    if measured.speeds:
        ratios = {name: speed.peer / speed.ours for name, speed in measured.speeds.items()}
        slower = [name for name, ratio in ratios.items() if ratio < 1]
        lines.append(
            f"speed: the median shift takes the peer {_number(median(ratios.values()))} times as "
            f"long as us; slower than the peer: {', '.join(slower) or 'none'}"
        )
    whole = measured.whole
    lines.append(
        f"all {whole.sets} sets of {whole.images} images: {whole.made:.0f} s to make, "
        f"{whole.written:.0f} s to make and write as JPEG files"
    )
    return lines


def _count(what: str, cells: int, missed: Sequence[Key]) -> str:
    names = ", ".join(map(_cell, missed))
    return f"{what}: {cells - len(missed)} of {cells}; missed: {names or 'none'}"


def _cell(key: Key) -> str:
    return f"{key[0]} {key[1]}"


def _equal_rows(equal: Mapping[Key, Equality]) -> list[dict[str, str]]:
    rows = []
    for name in dict.fromkeys(name for name, _ in equal):
        row = {"": name}
        for severity in SEVERITIES:
            cell = equal[name, severity]
            row[f"severity {severity}"] = f"{cell.share:.3%} ({cell.greatest})"
        rows.append(row)
    return rows


def _verdict(cell: Likeness) -> str:
    return "yes" if is_alike(cell) else "**no**"


def _alike_row(key: Key, cell: Likeness, verdict: str, image: int | None = None) -> dict[str, str]:
    row = {"": key[0], "severity": str(key[1])}
    if image is not None:
        row["image"] = str(image)
    values = zip(_STATISTICS, cell.difference.values(), cell.error, strict=True)
    row |= {name: f"{value:+.1f} ± {error:.1f}" for name, value, error in values}
    return row | {"alike": verdict}


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
