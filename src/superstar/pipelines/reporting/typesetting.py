"""The main table as Markdown and LaTeX, as the paper prints it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

COMPOSITE = "+"
"""What joins the parts in the name of a composite shift."""


def readable(name: object) -> str:
    """The name of a shift for reading: `gaussian noise + brightness`."""
    if name == "mean":
        return "mean of all shifts"
    return str(name).replace("_", " ").replace(COMPOSITE, f" {COMPOSITE} ")


def parted(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of single shifts (the clean set's and means' among them), then those of composites.

    Only those that there are: the paper's tables 1 and 2.
    """
    composite = table["shift"].str.contains(COMPOSITE, regex=False)
    return [part for part in (table[~composite], table[composite]) if len(part)]


def to_markdown(table: pd.DataFrame) -> str:
    """The main table in Markdown, with the interval of each Delta; composites in one of their own.

    Args:
        table: of `tables.main_table`.
    """
    return "\n".join(_one_markdown(part) for part in parted(table))


def _one_markdown(table: pd.DataFrame) -> str:
    rows = []
    for shift, part in table.groupby("shift", sort=False):
        row: dict[str, Any] = {"shift": readable(shift)}
        for line in part.itertuples():
            row[f"{line.classifier} S"] = f"{line.shifted:.2f}"
            row[f"{line.classifier} R"] = f"{line.recovered:.2f}"
            row[f"{line.classifier} Δ"] = with_interval(line.delta, line.delta_low, line.delta_high)
        rows.append(row)
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True) + "\n"


def with_interval(value: float, low: float, high: float) -> str:
    """A difference and its interval; 0.00 where nothing was done."""
    return "0.00" if low == high == 0 else f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def to_latex(table: pd.DataFrame) -> str:
    """The main table in LaTeX, gains in red; composites in a table of their own."""
    return "\n".join(_one_latex(part, "", "main") for part in parted(table))


def transfer_to_latex(table: pd.DataFrame) -> str:
    """The same of every policy from elsewhere, with the means over all shifts.

    Args:
        table: of `tables.transfer_table`; where it is empty, a comment says so.
    """
    parts = [
        _one_latex(part, f", with the policy of {_escaped(policy)}", f"transfer-{policy}")
        for policy, own in table.groupby("policy", sort=False)
        for part in parted(own)
    ]
    return "\n".join(parts) if parts else "% No policy from elsewhere was evaluated.\n"


def _one_latex(table: pd.DataFrame, with_what: str, label: str) -> str:
    composite = COMPOSITE in table["shift"].iloc[0]
    wide = _wide(table)
    wide.index = pd.Index([_escaped(readable(shift)) for shift in wide.index], name="shift")
    formatters: Sequence[Any] = [
        _gain if column == "Δ" else "{:.2f}".format for _, column in wide.columns
    ]
    wide.columns = pd.MultiIndex.from_tuples(
        [
            (_escaped(name), r"$\Delta$" if column == "Δ" else column)
            for name, column in wide.columns
        ]
    )
    return wide.to_latex(
        formatters=formatters,
        escape=False,
        multicolumn_format="c",
        column_format="l" + "rrr" * (len(wide.columns) // 3),
        caption=f"Accuracy (\\%) on each {'composite shift' if composite else 'shift'}{with_what}: "
        "shifted (S), recovered (R), $\\Delta = \\mathrm{R} - \\mathrm{S}$, over severities and "
        "trials.",
        label=f"tab:{label}{'-composites' if composite else ''}",
    )


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """A row a shift; S, R and Delta of each classifier."""
    classifiers = list(dict.fromkeys(table["classifier"]))
    columns = {"shifted": "S", "recovered": "R", "delta": "Δ"}
    wide = table.pivot_table(
        index="shift", columns="classifier", values=list(columns), sort=False
    ).swaplevel(axis=1)
    wide = wide[[(name, column) for name in classifiers for column in columns]]
    wide.columns = pd.MultiIndex.from_tuples([(n, columns[c]) for n, c in wide.columns])
    return wide.loc[list(dict.fromkeys(table["shift"]))]


def _escaped(name: object) -> str:
    return str(name).replace("_", r"\_")


def _gain(delta: float) -> str:
    return rf"\textcolor{{red}}{{{delta:.2f}}}" if round(delta, 2) > 0 else f"{delta:.2f}"
