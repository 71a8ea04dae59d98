"""The results of a run as one Markdown page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from torch import Tensor

from superstar.parameters import (
    ClassifierTraining,
    DataPreparation,
    DenoiserTraining,
    Distance,
    Evaluation,
    Reporting,
)
from superstar.pipelines.pages import intervals, numbers, readable, render
from superstar.pipelines.reporting import origin
from superstar.pipelines.reporting.comparison import OWN, mean_accuracies, mean_shares
from superstar.pipelines.reporting.tables import Tables

MCE_SHOWN = ["controller", "classifier", "mce_shifted", "mce_recovered", "change"]
SYMBOLS = {"shifted": "S", "recovered": "R", "delta": "Δ"}
METRICS = {
    "operability.auroc": "operability tree, AUROC on held-out surrogate images",
    "operability.accuracy": "operability tree, accuracy on held-out images at severity 5",
    "operability.commonest": "the same of a tree that always says the commoner label",
    "policy.distance_ratio.": "final / initial distance on held-out surrogate batches ({})",
    "threshold.": "threshold of Algorithm 1 ({})",
}
"""What the page calls each metric; a name that ends in a point stands for all that begin so."""


@dataclass(frozen=True)
class Run(Tables):
    """What a run left that its page shows: data sets, by their names in the catalog."""

    benchmark_description: dict[str, Any]
    evaluation_results: pd.DataFrame
    validation_points: Tensor
    operability_labels: pd.DataFrame
    external_labels: pd.DataFrame
    reference_table: pd.DataFrame
    stage_times: pd.DataFrame
    operability_metrics: dict[str, float | None]
    policy_metrics: dict[str, float]

    @property
    def metrics(self) -> dict[str, float | None]:
        """What was learned, in numbers by name."""
        return self.operability_metrics | self.policy_metrics


def compose(benchmark: str, run: Run, configuration: Mapping[str, Any]) -> str:
    """The page: what was done, one table, one figure, how to read both, and details.

    Args:
        benchmark: name of the benchmark.
        run: what it left.
        configuration: the parameters that the page shows, by section.
    """
    given = Reporting.model_validate(configuration["reporting"])
    evaluation = Evaluation.model_validate(configuration["evaluation"])
    elsewhere = run.mean_table[run.mean_table["policy"] != OWN]
    return render(
        "report.md",
        benchmark=benchmark,
        run=run,
        distance=Distance.model_validate(configuration["distance"]),
        extent=origin.extent(
            run.evaluation_results, evaluation.batch_size, len(run.validation_points)
        ),
        confidence=round(100 * given.confidence),
        device=configuration["execution"]["device"],
        took=origin.whole_run(run.stage_times),
        mce=run.mce_table.assign(change=intervals(run.mce_table, "change"))[MCE_SHOWN],
        worst=worst(run.worst_cells),
        elsewhere={
            policy: to_means(rows) for policy, rows in elsewhere.groupby("policy", sort=False)
        },
        comparison=None
        if run.reference_comparison.empty
        else compare(run.reference_comparison, given.highlighted),
        verdicts={
            verdict: list(run.operability_labels.query("operable == @operable")["surrogate"])
            for verdict, operable in (("operable", True), ("inoperable", False))
        },
        metrics=named(run.metrics),
        classifiers=origin.classifiers_table(
            ClassifierTraining.model_validate(configuration["classifier_training"]),
            DataPreparation.model_validate(configuration["data_preparation"]).train,
            run.evaluation_metrics,
        ),
        denoiser=origin.denoiser(
            DenoiserTraining.model_validate(configuration["denoiser_training"])
        ),
        configuration=origin.as_yaml(configuration),
    )


def to_means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over sets of shifts, of one policy."""
    shifts = table["group"] + " (" + table["shifts"].astype(str) + ")"
    shown = table.assign(shifts=shifts, delta=intervals(table, "delta"))
    return shown[["shifts", "classifier", *SYMBOLS]].rename(columns=SYMBOLS)


def worst(table: pd.DataFrame) -> pd.DataFrame:
    """Where most was lost: of each controller and cell Delta of all classifiers that lost there."""
    shown = table.assign(
        shift=table["shift"].map(readable) + " " + table["severity"].astype(str),
        Δ=numbers(table["delta"], 1, sign=True),
    )
    return shown[["controller", "shift", "classifier", "Δ", "sequences"]].rename(
        columns={"shift": "shift, severity", "sequences": "corrections (trials)"}
    )


def compare(comparison: pd.DataFrame, highlighted: list[str]) -> dict[str, Any]:
    """Means over shifts of this run and of the reference."""
    averages = mean_accuracies(comparison)
    over = [
        f"{row.shifts} shifts" if row.over == "all shifts" else f"{row.shifts} {row.over}"
        for row in averages.itertuples()
    ]
    there = [shift for shift in highlighted if shift in set(comparison["shift"])]
    return {
        "means": _symbols(averages.assign(over=over).drop(columns="shifts")),
        "highlighted": there,
        "shares": _symbols(mean_shares(comparison, there)),
    }


def _symbols(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracies as S and R, gains as signed Δ."""
    names = SYMBOLS | {f"reference_{name}": f"reference {s}" for name, s in SYMBOLS.items()}
    gains = {name: numbers(table[name], 1, sign=True) for name in table if name.endswith("delta")}
    return table.assign(**gains).rename(columns=names)


def named(metrics: Mapping[str, float | None]) -> pd.DataFrame:
    """The metrics of `METRICS`, with what the page calls them."""
    rows = []
    for prefix, text in METRICS.items():
        for name, value in metrics.items():
            if name == prefix or (prefix.endswith(".") and name.startswith(prefix)):
                shown = "not defined" if value is None else f"{value:.3g}"
                rows.append((text.format(name.removeprefix(prefix)), shown))
    return pd.DataFrame(rows, columns=["number", "value"])
