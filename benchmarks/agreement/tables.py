"""How figures are written on the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.agreement.comparison import STATE_ERRORS, Cells, Comparison

TITLES = {"imagenet": "ImageNet", "cifar100": "CIFAR-100"}

_MISS = "**misses**"
_NAMES = ("surrogate", "feature", "shift", "data set", "compared")


@dataclass(frozen=True)
class Part:
    """What a comparison adds to the page.

    Attributes:
        counts: rows of the summary's table.
        notes: what does not agree and why, a line each.
        sections: tables, and what is to be said of them.
    """

    counts: Sequence[Mapping[str, str]] = ()
    notes: Sequence[str] = ()
    sections: Sequence[str] = ()


def joined(parts: Iterable[Part]) -> Part:
    """All of them, in order."""
    given = list(parts)
    return Part(
        [row for part in given for row in part.counts],
        [line for part in given for line in part.notes],
        [text for part in given for text in part.sections],
    )


def counted(benchmark: str, what: str, cells: Cells) -> dict[str, str]:
    """A row of the summary's table."""
    agree = sum(cell.within for cell in cells.values())
    rule = f"{max(cell.percent for cell in cells.values()):g}%"
    if any(cell.standard_error for cell in cells.values()):
        rule += f" or {STATE_ERRORS:g} s.e."
    return {
        "data set": TITLES[benchmark],
        "compared": what,
        "agree": f"{agree} of {len(cells)}",
        "within": rule,
    }


def listed(cells: Cells) -> str:
    """Cells by name, and how far they are off."""
    return ", ".join(
        f"{plain(shift)} {which} ({signed(cell.difference, 1)}%)"
        for (shift, which), cell in cells.items()
    )


def missed(cells: Cells) -> Cells:
    return {key: cell for key, cell in cells.items() if not cell.within}


def plain(name: str) -> str:
    return name.replace("_", " ")


def signed(value: float, digits: int = 2) -> str:
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def mark(cell: Comparison) -> str:
    return "yes" if cell.within else _MISS


def markdown(table: pd.DataFrame) -> str:
    alignment = ["left" if name in _NAMES else "right" for name in table]
    return str(table.to_markdown(index=False, disable_numparse=True, colalign=alignment))
