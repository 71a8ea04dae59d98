"""The sweep as one Markdown page."""

import pandas as pd

from superstar.control.points import OWN
from superstar.pipelines.sensitivity.summary import by_shift, lines

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
READING = {
    "alpha": "Close enough to stop: the distance at this share of the first. Here with the run's "
    "own policy, α changed in Algorithm 1 alone.",
    "beta": "Progress that an action must make to be kept: the distance below this share of the "
    "one before. Training does not read it.",
    "horizon": "Most corrections, changed in Algorithm 1 alone.",
    "alpha, retrained": "The same α in the episodes of training and in Algorithm 1.",
    "ssim_weight": "λ, the weight of the reward's similarity term, in training.",
    "ssim_threshold": "ω, the similarity below which that term counts, in training.",
    "horizon, retrained": "The same horizon in the episodes of training and in Algorithm 1.",
    "seed": "Training again with another seed and nothing else: how far results move by chance.",
    "batch_size": "Images of a batch, in training and at run time; β is calibrated anew for each "
    "size if the run's is. The policy's images are the same, in other batches.",
}


def compose(sweep: pd.DataFrame, measured: pd.DataFrame) -> str:
    """The page.

    Args:
        sweep: one row a point.
        measured: one row a point, set and trial.
    """
    shifted = measured[measured["shift"] != "none"]
    sets = len(shifted[["shift", "severity"]].drop_duplicates())
    own = sweep[sweep["swept"] == OWN].iloc[0]
    parts = [
        "# Sensitivity",
        "Written by `kedro run --pipelines sensitivity`. One setting of the run is changed at a "
        f"time; {OWN}: α {own['alpha']:g}, β {own['beta']:.4g}, λ {own['ssim_weight']:g}, "
        f"ω {own['ssim_threshold']:g}, batches of {own['batch_size']}, horizon {own['horizon']} "
        "(bold below). All is measured on surrogates of validation images, "
        f"{sets} sets, and on these images themselves (clean); no test image and no test shift "
        "takes part. The operability tree and a calibrated β were made from the same images, so "
        "expect a little less elsewhere. In a trial a batch drawn from the set chooses a sequence, "
        "which is scored on the rest of the set by the accuracy of `standard`; "
        f"{_counted(measured['trial'].nunique(), 'trial')} a set, since the policy is sampled. "
        "The set is "
        f"parted into batches ({_batches(sweep, measured)}), which take turns; all settings with "
        "one batch size meet the same batches and the same random numbers.",
        "- `gain`: mean change of accuracy, in points, ± its standard error over batches and "
        "draws of the policy; `above own`: gain less that of the run's own setting, paired by "
        "batch.\n"
        "- `harm`: mean loss of accuracy, in points, where it fell, counted 0 elsewhere; `worst`: "
        "the lowest change of a single trial.\n"
        "- `acted`: share of trials with a correction; `distance`: mean fall of the distance; "
        "`actions`: mean number of corrections.\n"
        "- `clean gain`, `clean acted`: the same on the clean images.\n"
        "- `return`: of the policy in the run's own environment and with its reward, on batches "
        "that none was trained on.",
        "## Overview",
        "How far gain and harm move over the values of each, and the value of the highest gain. "
        "Where policies were trained anew, what moves no further than over `seed` may be chance.",
        _overview(sweep),
    ]
    for title, name, rows in lines(sweep):
        parts += [f"## {heading(title)}", READING[title], _table(title, name, rows)]
    parts += [
        "## Gain by surrogate",
        "Points, means over severities and trials.",
        _by_shift(sweep, measured),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(sweep: pd.DataFrame) -> str:
    overview = []
    for title, name, rows in lines(sweep):
        best = rows.loc[rows["gain"].idxmax()]
        overview.append(
            {
                "setting": heading(title),
                "values": len(rows),
                "gain": f"{rows['gain'].min():.2f} to {rows['gain'].max():.2f}",
                "harm": f"{rows['harm'].min():.2f} to {rows['harm'].max():.2f}",
                "highest gain at": f"{best[name]:.4g}",
            }
        )
    return str(pd.DataFrame(overview).to_markdown(index=False))


def _table(title: str, name: str, rows: pd.DataFrame) -> str:
    columns = COLUMNS.get(title, [name])
    cells = []
    for row in rows.to_dict("records"):
        line = {_words(column): f"{row[column]:.4g}" for column in columns}
        line["gain"] = _with_error(row["gain"], row["gain_error"])
        own = row["swept"] == OWN
        line["above own"] = "" if own else _with_error(row["above_own"], row["above_own_error"])
        line |= {
            label: _number(row[measure], DIGITS.get(measure, 2))
            for measure, label in MEASURES.items()
        }
        if own:
            line = {label: f"**{text}**" if text else "" for label, text in line.items()}
        cells.append(line)
    return str(pd.DataFrame(cells).to_markdown(index=False, disable_numparse=True))


def _by_shift(sweep: pd.DataFrame, measured: pd.DataFrame) -> str:
    table = by_shift(sweep, measured).round(2)
    return str(table.rename(columns=_words).to_markdown(index=False, floatfmt=".2f"))


def _batches(sweep: pd.DataFrame, measured: pd.DataFrame) -> str:
    sized = measured.merge(sweep[["point", "batch_size"]], on="point")
    counts = sized.groupby("batch_size")["batch"].nunique()
    return ", ".join(f"{count} of {size}" for size, count in counts.items())


def _with_error(value: float, error: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.2f} ± {error:.2f}" if error > 0 else f"{value:.2f}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _number(value: float, digits: int) -> str:
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def heading(title: str) -> str:
    """A parameter as the page and the figure call it, with the paper's symbol."""
    name, _, rest = title.partition(", ")
    symbol = f" ({SYMBOLS[name]})" if name in SYMBOLS else ""
    return _words(name) + symbol + (f", {rest}" if rest else "")


def _words(name: str) -> str:
    return name.replace("_", " ")
