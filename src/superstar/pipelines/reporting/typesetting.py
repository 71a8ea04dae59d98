"""The main table as Markdown and LaTeX, as the paper prints it."""

from collections.abc import Sequence

import pandas as pd

from superstar.control.controllers import PAPER
from superstar.pipelines import pages
from superstar.pipelines.pages import COMPOSITE, readable


def parted(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of single shifts (the clean set's and means' among them), then those of composites.

    Only those that there are: the paper's tables 1 and 2.
    """
    composite = table["shift"].str.contains(COMPOSITE, regex=False)
    return [part for part in (table[~composite], table[composite]) if len(part)]


def to_markdown(table: pd.DataFrame) -> str:
    """The main table in Markdown, with intervals of Delta; composites in one of their own.

    Several controllers share S, and have a Delta each.
    """
    parts = []
    for part in parted(table):
        if table["controller"].nunique() > 1:
            wide = _side_by_side(part)
        else:
            wide = _wide(part, pages.intervals(part, "delta"), "Δ")
        wide.columns = [" ".join(names) for names in wide.columns]
        parts.append(pages.table(wide.reset_index()) + "\n")
    return "\n".join(parts)


def to_latex(table: pd.DataFrame) -> str:
    """The main table in LaTeX, gains in red; composites and controllers in tables of their own."""
    return "\n".join(
        _one_latex(part, f", controller {name}", "main" if name == PAPER else f"main-{name}")
        for name, own in table.groupby("controller", sort=False)
        for part in parted(own)
    )


def transfer_to_latex(table: pd.DataFrame) -> str:
    """The same of every policy from elsewhere; where there is none, a comment says so."""
    parts = [
        _one_latex(part, f", with the policy of {_escaped(policy)}", f"transfer-{policy}")
        for policy, own in table.groupby("policy", sort=False)
        for part in parted(own)
    ]
    return "\n".join(parts) if parts else "% No policy from elsewhere was evaluated.\n"


def _one_latex(table: pd.DataFrame, with_what: str, label: str) -> str:
    composite = COMPOSITE in table["shift"].iloc[0]
    wide = _wide(table, [_gain(delta) for delta in table["delta"]], r"$\Delta$")
    wide = wide.rename(index=_escaped).rename(columns=_escaped, level=0)
    wide.columns.names = [None, None]
    return wide.to_latex(
        escape=False,
        multicolumn_format="c",
        column_format="l" + "rrr" * (len(wide.columns) // 3),
        caption=f"Accuracy (\\%) on each {'composite shift' if composite else 'shift'}{with_what}: "
        "shifted (S), recovered (R), $\\Delta = \\mathrm{R} - \\mathrm{S}$, over severities and "
        "trials.",
        label=f"tab:{label}{'-composites' if composite else ''}",
    )


def _wide(table: pd.DataFrame, deltas: Sequence[str], delta: str) -> pd.DataFrame:
    """A row a shift; S, R and Delta of each classifier, as texts."""
    columns = {
        "S": pages.numbers(table["shifted"]),
        "R": pages.numbers(table["recovered"]),
        delta: deltas,
    }
    wide = table.assign(**columns).pivot(index="shift", columns="classifier", values=list(columns))
    order = [(name, column) for name in table["classifier"].unique() for column in columns]
    wide = wide.swaplevel(axis=1).loc[table["shift"].unique(), order]
    return wide.rename(
        index=lambda name: "mean of all shifts" if name == "mean" else readable(name)
    )


def _side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """A row a shift; of each classifier S, and Delta of each controller."""
    columns = {}
    for classifier, part in table.groupby("classifier", sort=False):
        columns[classifier, "S"] = pages.numbers(part.drop_duplicates("shift")["shifted"])
        for controller, own in part.groupby("controller", sort=False):
            columns[classifier, f"Δ {controller}"] = list(pages.intervals(own, "delta"))
    wide = pd.DataFrame(columns, index=pd.Index(table["shift"].unique(), name="shift"))
    return wide.rename(index=readable)


def _escaped(name: object) -> str:
    return str(name).replace("_", r"\_")


def _gain(delta: float) -> str:
    return rf"\textcolor{{red}}{{{delta:.2f}}}" if round(delta, 2) > 0 else f"{delta:.2f}"
