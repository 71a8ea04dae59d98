"""The paper's tables from unaggregated results. Accuracies in percent, gains in points.

Results have a row a cell, trial and classifier, gains a row a cell and classifier with an array
over images, first actions a row a cell, trial and classifier; a cell is a shift at a severity.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from superstar.control.controllers import PAPER
from superstar.control.intervals import KEYS, Bootstrap, mean_by_image, trial_errors
from superstar.control.operability import regression_labels
from superstar.pipelines.drawing import corrections

CELLS = ["controller", "shift", "severity", "trial"]
DELTAS = ["delta", "delta_low", "delta_high"]
TRANSFER_COLUMNS = ["policy", *KEYS, "shifted", "recovered", *DELTAS]
SEVERITY = "severity_"
"""What the names of columns with Delta at one severity begin with."""
OUTCOMES = {
    "kept": "carried out",
    "inoperable": "tree forbids",
    "nop": "chose none",
    "beta": "β stops",
}
"""What becomes of a first action, in words."""


@dataclass(frozen=True)
class Tables:
    """The tables of a run, two of them typeset, and its metrics, by their names in the catalog.

    The functions that make them say more.
    """

    main_table: pd.DataFrame
    transfer_table: pd.DataFrame
    mean_table: pd.DataFrame
    mce_table: pd.DataFrame
    action_table: pd.DataFrame
    inaction_table: pd.DataFrame
    worst_cells: pd.DataFrame
    operability_table: pd.DataFrame
    distance_table: pd.DataFrame
    reference_comparison: pd.DataFrame
    main_table_markdown: str
    main_table_latex: str
    evaluation_metrics: dict[str, float]


def main_table(results: pd.DataFrame, gains: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """Accuracy shifted and recovered, and their difference, over severities and trials.

    `delta_low` and `delta_high` bound Delta over the draw of images, by a paired bootstrap (an
    image is drawn with its outcomes before and after, at all severities and in all trials), and
    over the draw of batches and of the policy, by the spread of the trials. `severity_1` and so on
    hold Delta at one severity.
    """
    means = results.groupby(KEYS, sort=False)[["accuracy_shifted", "accuracy_recovered"]].mean()
    table = (100 * means).rename(columns=lambda name: name.removeprefix("accuracy_"))
    table["delta"] = table["recovered"] - table["shifted"]
    spreads = trial_errors(results)
    bounds = {
        keys: bootstrap.interval(mean_by_image(part), spreads[keys])
        for keys, part in gains.groupby(KEYS, sort=False)
    }
    table["delta_low"] = [100 * bounds[keys][0] for keys in table.index]
    table["delta_high"] = [100 * bounds[keys][1] for keys in table.index]
    return table.join(_by_severity(results)).reset_index()


def _by_severity(results: pd.DataFrame) -> pd.DataFrame:
    shifted = results.dropna(subset="severity")
    delta = 100 * (shifted["accuracy_recovered"] - shifted["accuracy_shifted"])
    means = delta.groupby([shifted[key] for key in (*KEYS, "severity")], sort=False).mean()
    return means.unstack("severity").add_prefix(SEVERITY)


def transfer_table(
    results: pd.DataFrame, gains: pd.DataFrame, bootstrap: Bootstrap
) -> pd.DataFrame:
    """The main table of every policy that comes from another benchmark.

    Args:
        results: with the `policy`; may be empty.
        gains: likewise.
        bootstrap: as in `main_table`.

    Returns:
        The columns of `main_table` up to the interval, behind `policy`.
    """
    parts = [pd.DataFrame(columns=TRANSFER_COLUMNS)]
    for policy, own in results.groupby("policy", sort=False) if len(results) else ():
        table = main_table(own, gains[gains["policy"] == policy], bootstrap)
        parts.append(table.assign(policy=policy))
    return pd.concat(parts[1:] or parts, ignore_index=True)[TRANSFER_COLUMNS]


def action_table(results: pd.DataFrame) -> pd.DataFrame:
    """What was done, by shift.

    Returns:
        A row a controller, shift and thing done: `acted`, whether images were corrected; `what`,
        the first correction, or what stopped the controller before one; and `share`, of
        (severity, trial) cells, in percent.
    """
    cells = results.drop_duplicates(CELLS)
    acted = cells["sequence"].map(len) > 0
    first = [
        names[0] if len(names) else reason
        for names, reason in zip(cells["sequence"], cells["stop_reason"], strict=True)
    ]
    keys = ["controller", "shift"]
    shown = cells[keys].assign(acted=acted, what=first)
    counts = shown.groupby([*keys, "acted", "what"], sort=False).size()
    shares = 100 * counts / counts.groupby(keys).transform("sum")
    return shares.rename("share").reset_index()


def inaction_table(first_actions: pd.DataFrame) -> pd.DataFrame:
    """First actions by shift, each by what became of it (paper, appendix G, Inaction).

    Returns:
        `controller`, `shift`, `outcome` (of `OUTCOMES`), `wanted` (the first action; the commoner
        of one outcome first), `share` (of the shift's severities and trials, in %), and of this
        action alone, means over them: `distance_change` (in %) and `delta_<classifier>` (points).
    """
    names = list(dict.fromkeys(first_actions["classifier"]))
    gain = 100 * (first_actions["accuracy_first"] - first_actions["accuracy_shifted"])
    ratio = first_actions["distance_first"] / first_actions["distance_initial"]
    table = first_actions.assign(gain=gain, change=100 * (ratio - 1))
    rows = []
    for (controller, shift), cells in table.groupby(["controller", "shift"], sort=False):
        for outcome in OUTCOMES:
            stopped = cells[cells["outcome"] == outcome]
            for action in stopped["action"].value_counts().index:
                part = stopped[stopped["action"] == action]
                gains = part.groupby("classifier")["gain"].mean()
                rows.append(
                    {
                        "controller": controller,
                        "shift": shift,
                        "outcome": outcome,
                        "wanted": action,
                        "share": 100 * len(part) / len(cells),
                        "distance_change": part["change"].mean(),
                        **{f"delta_{name}": gains[name] for name in names},
                    }
                )
    return pd.DataFrame(rows)


def worst_cells(results: pd.DataFrame, count: int) -> pd.DataFrame:
    """The shifts and severities at which a classifier lost most, and what was done there.

    Returns:
        At most `count` rows a controller, those that lost something: `controller`, `shift`,
        `severity`, `classifier`, `delta` (points, mean over trials), `sequences` and `stop_reasons`
        (each with the number of trials), and `distance_change`, in % of the first.
    """
    shown = results.assign(
        delta=100 * (results["accuracy_recovered"] - results["accuracy_shifted"]),
        sequence=_sequences,
        distance_change=100 * (results["distance_final"] / results["distance_initial"] - 1),
    )
    names = ["controller", "shift", "severity", "classifier"]
    cells = shown.groupby(names, sort=False, dropna=False).agg(
        delta=("delta", "mean"),
        sequences=("sequence", _counted),
        stop_reasons=("stop_reason", _counted),
        distance_change=("distance_change", "mean"),
    )
    lost = cells[cells["delta"] < 0].sort_values("delta")
    worst = lost.groupby("controller", sort=False).head(count).reset_index()
    return worst.sort_values("controller", key=_order_of(results), kind="stable", ignore_index=True)


def _order_of(results: pd.DataFrame) -> Callable[[pd.Series], pd.Series]:
    order = {name: place for place, name in enumerate(results["controller"].unique())}
    return lambda names: names.map(order)


def _sequences(results: pd.DataFrame) -> pd.Series:
    return results["sequence"].map(lambda names: corrections(names) or "nothing")


def _counted(values: pd.Series) -> str:
    return ", ".join(f"{value} ({count})" for value, count in values.value_counts().items())


def operability_table(
    surrogates: pd.DataFrame,
    shifts: pd.DataFrame,
    first_actions: pd.DataFrame,
    reference: pd.DataFrame,
) -> pd.DataFrame:
    """What the operability tree says of surrogates and benchmark shifts.

    Args:
        surrogates: `percent_inoperable` of each.
        shifts: the same of each shift and severity.
        first_actions: what became of them.
        reference: of `superstar.reference_tables.read_inoperable`; may be empty.

    Returns:
        `group` ("surrogate" or "benchmark"), `shift`, `percent_inoperable` (of single images),
        `percent_abstained` (of severities and trials in which the whole batch was called
        inoperable; missing for surrogates), and `reference_percent_inoperable` where there is one.
    """
    by_shift = shifts.groupby("shift", sort=False)["percent_inoperable"].mean().reset_index()
    forbidden = 100 * (first_actions["outcome"] == "inoperable")
    abstained = by_shift["shift"].map(forbidden.groupby(first_actions["shift"]).mean())
    benchmark = by_shift.assign(group="benchmark", percent_abstained=abstained)
    first = surrogates.rename(columns={"surrogate": "shift"}).assign(group="surrogate")
    both = pd.concat([first, benchmark], ignore_index=True)
    both = both[["group", "shift", "percent_inoperable", "percent_abstained"]]
    if reference.empty:
        return both
    theirs = reference.rename(columns={"percent_inoperable": "reference_percent_inoperable"})
    return both.merge(theirs[["group", "shift", "reference_percent_inoperable"]], "left")


def distance_table(results: pd.DataFrame, classifier: str, r_squared: float) -> pd.DataFrame:
    """The distance of each test shift, and whether it meets the definition of operable.

    For the reader: no stage learns from it.

    Args:
        results: distances as the batches came, means over trials.
        classifier: whose accuracy the definition takes.
        r_squared: threshold of the definition.

    Returns:
        A row a shift: `controller`, `shift`, `severity_1`, ... (distances), `slope` and
        `r_squared` of the line of distance on accuracy, and `operable`; the last three are missing
        where there are fewer than three severities. The clean set has its distance in
        `severity_0`, which the others lack.
    """
    own = results[results["classifier"] == classifier].fillna({"severity": 0})
    names = ["controller", "shift"]
    cells = own.groupby([*names, "severity"], sort=False).agg(
        accuracy=("accuracy_shifted", "mean"), distance=("distance_initial", "mean")
    )
    wide = cells["distance"].unstack("severity", sort=False).add_prefix("severity_").reset_index()
    lines = []
    for keys, part in cells.groupby(names, sort=False):
        if len(part) >= 3:
            line = regression_labels(part.reset_index().assign(surrogate=keys[1]), r_squared).iloc[
                0
            ]
            lines.append((*keys, line["slope"], line["r_squared"], line["operable"]))
    fitted = pd.DataFrame(lines, columns=[*names, "slope", "r_squared", "operable"])
    return wide.merge(fitted.astype({"operable": "boolean"}), on=names, how="left")


def metrics(table: pd.DataFrame, actions: pd.DataFrame) -> dict[str, float]:
    """Numbers that compare across runs: every Delta, and how often it acted.

    Those of controllers other than `paper` begin with the controller's name.
    """
    numbers: dict[str, float] = {}
    for controller, own in table.groupby("controller", sort=False):
        start = "" if controller == PAPER else f"{controller}."
        shifted = own[own["shift"] != "none"]
        chosen = actions[actions["controller"] == controller]
        acted = (chosen["share"] * chosen["acted"]).groupby(chosen["shift"]).sum()
        numbers |= {
            f"{start}delta.{row.shift}.{row.classifier}": row.delta for row in own.itertuples()
        }
        for name, part in shifted.groupby("classifier"):
            numbers[f"{start}mean_delta.{name}"] = round(float(part["delta"].mean()), 3)
            numbers[f"{start}worst_delta.{name}"] = float(part["delta"].min())
        numbers |= {f"{start}acted_percent.{shift}": share for shift, share in acted.items()}
    for row in table[table["shift"] == "none"].itertuples():
        numbers[f"clean_accuracy.{row.classifier}"] = row.shifted
    return numbers
