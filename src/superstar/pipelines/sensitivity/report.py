"""The sweep as one Markdown page."""

import pandas as pd

from superstar.control.points import OWN
from superstar.pipelines.pages import number, readable, render, with_errors
from superstar.pipelines.sensitivity.summary import lines

MEASURES = {
    "harm": "harm",
    "worst": "worst",
    "acted": "acted %",
    "distance_gain": "distance %",
    "actions": "actions",
    "clean_gain": "clean gain",
    "clean_acted": "clean acted %",
    "return": "return",
}
COLUMNS = {"batch_size": ["batch_size", "beta"]}
DIGITS = {"return": 1, "acted": 1, "clean_acted": 1}
SYMBOLS = {"alpha": "α", "beta": "β", "ssim_weight": "λ", "ssim_threshold": "ω"}


def compose(sweep: pd.DataFrame, measured: pd.DataFrame) -> str:
    """The page.

    Args:
        sweep: one row a point.
        measured: one row a point, set and trial.
    """
    sized = measured.merge(sweep[["point", "batch_size"]], on="point")
    return render(
        "sensitivity.md",
        own_name=OWN,
        own=sweep[sweep["swept"] == OWN].iloc[0],
        sets=measured.loc[measured["shift"] != "none", ["shift", "severity"]].drop_duplicates(),
        trials=measured["trial"].nunique(),
        batches=sized.groupby("batch_size")["batch"].nunique(),
        overview=_overview(sweep),
        parameters=[
            (title, heading(title), _table(title, name, rows)) for title, name, rows in lines(sweep)
        ],
    )


def _overview(sweep: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "setting": heading(title),
            "values": len(rows),
            "gain": f"{rows['gain'].min():.2f} to {rows['gain'].max():.2f}",
            "harm": f"{rows['harm'].min():.2f} to {rows['harm'].max():.2f}",
            "highest gain at": f"{rows.loc[rows['gain'].idxmax(), name]:.4g}",
        }
        for title, name, rows in lines(sweep)
    )


def _table(title: str, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    shown = pd.DataFrame(
        {
            **{readable(c): rows[c].map("{:.4g}".format) for c in COLUMNS.get(title, [name])},
            "gain": with_errors(rows["gain"], rows["gain_error"]),
            "above own": with_errors(rows["above_own"], rows["above_own_error"]),
            **{
                label: [number(value, DIGITS.get(measure, 2)) for value in rows[measure]]
                for measure, label in MEASURES.items()
            },
        }
    )
    own = (rows["swept"] == OWN).to_numpy()
    shown.loc[own, "above own"] = ""
    return shown.where(~own[:, None] | (shown == ""), "**" + shown.astype(str) + "**")


def heading(title: str) -> str:
    """A parameter as the page and the figure call it, with the paper's symbol."""
    name, _, rest = title.partition(", ")
    symbol = f" ({SYMBOLS[name]})" if name in SYMBOLS else ""
    return readable(name) + symbol + (f", {rest}" if rest else "")
