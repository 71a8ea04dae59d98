"""The main table as Markdown, with its means, and as LaTeX, as the paper prints it."""

from typing import Any

import pandas as pd

from superstar.control.controllers import PAPER
from superstar.pipelines import pages
from superstar.pipelines.pages import COMPOSITE, readable
from superstar.pipelines.reporting.means import ALL

SETS = {
    "imagenet_c": "ImageNet-C",
    "imagenet_c_standard": "ImageNet-C, standard",
    "imagenet_c_bar": "ImageNet-C̄",
    "imagenet_cp": "composites",
    "noises": "noises",
}
"""Sets of shifts as a table calls them."""


def to_markdown(table: pd.DataFrame, means: pd.DataFrame) -> str:
    """A row a shift: of each classifier S, and Delta of each controller; then the means.

    Args:
        table: the main table.
        means: of `means.mean_table`, of the same policy; sets that hold all shifts have no row.
    """
    total = means.loc[means["group"] == ALL, "shifts"].max()
    apart = means[(means["group"] == ALL) | (means["shifts"] < total)]
    averaged = apart.assign(shift=[_name(row) for row in apart.itertuples()])
    both = pd.concat([table, averaged], ignore_index=True)
    columns = {"shift": [readable(shift) for shift in both["shift"].unique()]}
    for classifier, part in both.groupby("classifier", sort=False):
        columns[f"{classifier} S"] = pages.numbers(part.drop_duplicates("shift")["shifted"], 1)
        for controller, own in part.groupby("controller", sort=False):
            columns[f"{classifier} Δ {controller}"] = pages.intervals(own, "delta")
    return pages.table(pd.DataFrame(columns)) + "\n"


def _name(mean: Any) -> str:
    if mean.group == ALL:
        return f"**mean of all {mean.shifts} shifts**"
    return f"**mean of {SETS[mean.group]} ({mean.shifts})**"


def to_latex(table: pd.DataFrame) -> str:
    """The main table in LaTeX, gains in red; composites and controllers in tables of their own."""
    return "\n".join(
        _one_latex(part, name)
        for name, own in table.groupby("controller", sort=False)
        for part in _parted(own)
    )


def _parted(table: pd.DataFrame) -> list[pd.DataFrame]:
    """The paper's tables 1 and 2, those that there are: single shifts, then composites."""
    composite = table["shift"].str.contains(COMPOSITE, regex=False)
    return [part for part in (table[~composite], table[composite]) if len(part)]


def _one_latex(table: pd.DataFrame, controller: str) -> str:
    composite = COMPOSITE in table["shift"].iloc[0]
    label = "main" if controller == PAPER else f"main-{controller}"
    columns = {
        "S": pages.numbers(table["shifted"]),
        "R": pages.numbers(table["recovered"]),
        r"$\Delta$": [_gain(delta) for delta in table["delta"]],
    }
    wide = table.assign(**columns).pivot(index="shift", columns="classifier", values=list(columns))
    order = [(name, column) for name in table["classifier"].unique() for column in columns]
    wide = wide.swaplevel(axis=1).loc[table["shift"].unique(), order]
    wide = wide.rename(index=readable).rename(columns=_escaped, level=0)
    wide.columns.names = [None, None]
    return wide.to_latex(
        escape=False,
        multicolumn_format="c",
        column_format="l" + "rrr" * (len(wide.columns) // 3),
        caption=f"Accuracy (\\%) on each {'composite shift' if composite else 'shift'}, controller "
        f"{controller}: shifted (S), recovered (R), $\\Delta = \\mathrm{{R}} - \\mathrm{{S}}$, "
        "over severities and trials.",
        label=f"tab:{label}{'-composites' if composite else ''}",
    )


def _escaped(name: object) -> str:
    return str(name).replace("_", r"\_")


def _gain(delta: float) -> str:
    return rf"\textcolor{{red}}{{{delta:.2f}}}" if round(delta, 2) > 0 else f"{delta:.2f}"
