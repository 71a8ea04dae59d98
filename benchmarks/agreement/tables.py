"""How figures are written on the page."""

import pandas as pd

from benchmarks.agreement.comparison import Cells, Comparison

TITLES = {"imagenet": "ImageNet", "cifar100": "CIFAR-100"}

_MISS = "**misses**"
_NAMES = ("surrogate", "feature", "shift")


def count(cells: Cells) -> str:
    """How many are within, and which miss."""
    missed = [
        f"{plain(shift)} {which} ({signed(cell.difference, 1)}%)"
        for (shift, which), cell in cells.items()
        if not cell.within
    ]
    line = f"{len(cells) - len(missed)} of {len(cells)} within"
    return f"{line}; missed: {', '.join(missed)}" if missed else line


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
