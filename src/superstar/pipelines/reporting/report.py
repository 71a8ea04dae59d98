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
from superstar.pipelines.reporting.typesetting import parted, to_markdown

SYMBOLS = {"shifted": "S", "recovered": "R", "delta": "Δ"}
METRICS = {
    "psnr_gain_db.": "denoiser, gain in PSNR on validation images, dB ({})",
    "operability.auroc": "operability tree, AUROC on held-out surrogate images of all severities",
    "operability.accuracy": "operability tree, accuracy on held-out images at severity 5",
    "operability.commonest": "the same of a tree that always says the commoner label",
    "operability.depth": "operability tree, depth",
    "operability.leaves": "operability tree, leaves",
    "operability.images": "images of each surrogate and severity behind labels and tree",
    "policy.distance_ratio.": "final / initial distance on surrogate batches held out ({})",
    "policy.distinct_steps": "steps of the environment computed in training",
    "policy.steps": "steps of the environment in training",
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
    cluster_table: pd.DataFrame
    severity_table: pd.DataFrame
    external_labels: pd.DataFrame
    reference_table: pd.DataFrame
    reference_inoperable: pd.DataFrame
    stage_times: pd.DataFrame
    denoiser_metrics: dict[str, float]
    operability_metrics: dict[str, float | None]
    policy_metrics: dict[str, float]

    @property
    def metrics(self) -> dict[str, float | None]:
        """All numbers by name."""
        learned = self.denoiser_metrics | self.operability_metrics | self.policy_metrics
        return learned | self.evaluation_metrics


def compose(benchmark: str, run: Run, configuration: Mapping[str, Any]) -> str:
    """The page: what was recovered, what was done, where it abstained, and what it rests on.

    Args:
        benchmark: name of the benchmark.
        run: what it left.
        configuration: the parameters that the page shows, by section.
    """
    given = Reporting.model_validate(configuration["reporting"])
    evaluation = Evaluation.model_validate(configuration["evaluation"])
    transferred = dict(list(run.transfer_table.groupby("policy", sort=False)))
    return render(
        "report.md",
        benchmark=benchmark,
        run=run,
        distance=Distance.model_validate(configuration["distance"]),
        extent=origin.extent(
            run.evaluation_results, evaluation.batch_size, len(run.validation_points)
        ),
        policies={
            policy: {
                "main": to_markdown(table),
                "means": means(run.mean_table[run.mean_table["policy"] == policy]),
                "mce": mean_errors(run.mce_table[run.mce_table["policy"] == policy]),
            }
            for policy, table in {OWN: run.main_table, **transferred}.items()
        },
        own=OWN,
        mce=given.mce,
        overall=overall(run.overall_table),
        inoperable=two_columns(run.operability_table),
        comparison=None
        if run.reference_comparison.empty
        else compare(run.reference_comparison, given.highlighted),
        clusters=sum(str(name).startswith("cluster_") for name in run.cluster_table),
        strengths=strengths(run.severity_table),
        metrics=named(run.metrics),
        classifiers=origin.classifiers_table(
            ClassifierTraining.model_validate(configuration["classifier_training"]),
            DataPreparation.model_validate(configuration["data_preparation"]).train,
            run.evaluation_metrics,
        ),
        denoiser=origin.denoiser(
            DenoiserTraining.model_validate(configuration["denoiser_training"])
        ),
        stages=origin.stages_table(run.stage_times),
        configuration=origin.as_yaml(configuration),
    )


def overall(table: pd.DataFrame) -> pd.DataFrame:
    """Mean, best and worst Delta, a row a controller and classifier, with the shift."""
    shifts = ["" if pd.isna(shift) else f" ({readable(shift)})" for shift in table["shift"]]
    texts = [f"{a}{b}" for a, b in zip(intervals(table, "delta"), shifts, strict=True)]
    names = ["controller", "classifier"]
    wide = table.assign(text=texts).pivot(index=names, columns="figure", values="text")
    order = table[names].drop_duplicates()
    return wide.loc[list(order.itertuples(index=False)), ["mean", "best", "worst"]].reset_index()


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over sets of shifts, of one policy."""
    shifts = table["group"] + " (" + table["shifts"].astype(str) + ")"
    shown = table.assign(shifts=shifts, delta=intervals(table, "delta"))
    return shown[["controller", "shifts", "classifier", *SYMBOLS]].rename(columns=SYMBOLS)


def mean_errors(table: pd.DataFrame) -> pd.DataFrame:
    """mCE of one policy."""
    shown = table.assign(change=intervals(table, "change"))
    return shown[["controller", "classifier", "mce_shifted", "mce_recovered", "change"]]


def two_columns(table: pd.DataFrame) -> pd.DataFrame:
    """% inoperable as the paper prints it: surrogates left, benchmark shifts right."""
    left, right = (
        table.loc[table["group"] == group, ["shift", "percent_inoperable", "percent_abstained"]]
        for group in ("surrogate", "benchmark")
    )
    left = left.drop(columns="percent_abstained").reset_index(drop=True)
    both = pd.concat([left, right.reset_index(drop=True)], axis=1)
    both.columns = ["surrogate", "% inoperable", "benchmark shift", "% inoperable", "% abstained"]
    return both


def compare(comparison: pd.DataFrame, highlighted: list[str]) -> dict[str, Any]:
    """What the page shows of a comparison with the reference, with means over some shifts."""
    own = comparison[comparison["policy"] == OWN]
    others = comparison[comparison["policy"] != OWN]
    averages = mean_accuracies(comparison)
    over = [
        f"{row.shifts} shifts" if row.over == "all shifts" else f"{row.shifts} {row.over}"
        for row in averages.itertuples()
    ]
    there = [shift for shift in highlighted if shift in set(comparison["shift"])]
    return {
        "transferred": len(others) > 0,
        "classifiers": {
            name: [_by_shift(part, others[others["classifier"] == name]) for part in parted(rows)]
            for name, rows in own.groupby("classifier", sort=False)
        },
        "means": _symbols(averages.assign(over=over).drop(columns="shifts")),
        "highlighted": there,
        "shares": _symbols(mean_shares(comparison, there)),
        "least": {
            policy: _least(rows, "delta")
            for policy, rows in comparison.groupby("policy", sort=False)
        },
        "reference_least": _least(own, "reference_delta"),
    }


def _by_shift(own: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    interval = [
        f"[{low:+.2f}, {high:+.2f}]" if low < high else ""
        for low, high in zip(own["delta_low"], own["delta_high"], strict=True)
    ]
    place = own.columns.get_loc("delta_low")
    shown = own.drop(columns=["policy", "classifier", "delta_low", "delta_high"])
    shown.insert(place - 2, "interval", interval)
    shown["shift"] = own["shift"].map(readable)
    for policy, rows in others.groupby("policy"):
        deltas = own["shift"].map(rows.set_index("shift")["delta"])
        shown[f"Δ, policy of {policy}"] = numbers(deltas, sign=True)
    return _symbols(shown)


def _symbols(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracies as S and R, gains as signed Δ."""
    names = SYMBOLS | {f"reference_{name}": f"reference {s}" for name, s in SYMBOLS.items()}
    gains = {name: numbers(table[name], sign=True) for name in table if name.endswith("delta")}
    return table.assign(**gains).rename(columns=names)


def _least(rows: pd.DataFrame, column: str) -> str:
    row = rows.loc[rows[column].idxmin()]
    return f"{row[column]:+.2f} ({readable(row['shift'])}, {row['classifier']})"


def strengths(table: pd.DataFrame) -> pd.DataFrame:
    """Strengths of the surrogates by severity, with the change of the state."""
    texts = [f"{row.strength:g} ({100 * row.change:.0f}%)" for row in table.itertuples()]
    wide = table.assign(text=texts).pivot(index="surrogate", columns="severity", values="text")
    return wide.reset_index()


def named(metrics: Mapping[str, float | None]) -> pd.DataFrame:
    """The metrics of `METRICS`, with what the page calls them."""
    rows = []
    for prefix, text in METRICS.items():
        for name, value in metrics.items():
            if name == prefix or (prefix.endswith(".") and name.startswith(prefix)):
                shown = "not defined" if value is None else f"{value:.4g}"
                rows.append((text.format(name.removeprefix(prefix)), shown))
    return pd.DataFrame(rows, columns=["number", "value"])
