"""Markdown pages from templates, and numbers and names as they stand in them."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from tabulate import tabulate

COMPOSITE = "+"
"""What joins the parts in the name of a composite shift."""


def render(template: str, **values: Any) -> str:
    """The page of a template of this package, with the values in it."""
    page = _environment().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", page).strip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("superstar.pipelines"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"table": _apart, "readable": readable, "number": number}
    return environment


def readable(name: object) -> str:
    """A name for reading: `gaussian noise + brightness`."""
    return str(name).replace("_", " ").replace(COMPOSITE, f" {COMPOSITE} ")


def number(value: Any, digits: int = 2, sign: bool = False, missing: str = "") -> str:
    """A number with so many digits after the point; where there is none, what stands for it.

    Zero has no sign.
    """
    if pd.isna(value):
        return missing
    rounded = round(float(value), digits) + 0.0  # which makes 0 of -0
    return f"{rounded:{'+' if sign and rounded else ''}.{digits}f}"


def numbers(values: Iterable[Any], digits: int = 2, **options: Any) -> list[str]:
    """Each of the values as `number` writes it."""
    return [number(value, digits, **options) for value in values]


def with_interval(value: float, low: float, high: float) -> str:
    """A difference and its interval; 0 where nothing was done."""
    if low == high == 0:
        return "0"
    texts = numbers([value, low, high], 1, sign=True)
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def intervals(frame: pd.DataFrame, column: str) -> list[str]:
    """The column's values, each with the interval in `<column>_low` and `<column>_high`."""
    columns = [column, f"{column}_low", f"{column}_high"]
    return [with_interval(*row) for row in frame[columns].itertuples(index=False)]


def with_errors(values: Iterable[float], errors: Iterable[float]) -> list[str]:
    """Differences with their standard errors, where these are known and above 0."""
    return [
        f"{value:+.2f} ± {error:.2f}" if error > 0 else number(value)
        for value, error in zip(values, errors, strict=True)
    ]


def ranges(lows: Iterable[float], highs: Iterable[float], digits: int = 1) -> list[str]:
    """`low to high`; nothing where they are one."""
    return [
        f"{low:.{digits}f} to {high:.{digits}f}" if low < high else ""
        for low, high in zip(lows, highs, strict=True)
    ]


def table(frame: pd.DataFrame, digits: int = 2, **by_column: int) -> str:
    """A table in Markdown: names readable, fractions with so many digits, nothing where none is.

    Args:
        frame: the table; texts stay as they are.
        digits: after the point.
        by_column: digits of single columns.
    """
    columns = [
        [_cell(value, by_column.get(str(name), digits)) for value in frame.iloc[:, place]]
        for place, name in enumerate(frame.columns)
    ]
    return tabulate(
        list(zip(*columns, strict=True)),
        headers=[readable(name) for name in frame.columns],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["right" if _numeric(column) else "left" for column in columns],
    )


def _apart(frame: pd.DataFrame, digits: int = 2, **by_column: int) -> str:
    """A table with the blank lines that part it from the text around it."""
    return f"\n{table(frame, digits, **by_column)}\n"


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return number(value, digits)
    return "" if pd.isna(value) else str(value)


def _numeric(column: list[str]) -> bool:
    """Whether there are numbers in it; a word may stand where there is none."""
    return any(re.match(r"[-+*]*\d", text) for text in column)
