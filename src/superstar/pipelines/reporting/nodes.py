"""Tables of a run, and its report."""

import logging
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from superstar.control.clustering import cluster_states
from superstar.datasets import ShiftedSets
from superstar.parameters import (
    BenchmarkGeneration,
    ClassifierTraining,
    DataPreparation,
    Distance,
    Evaluation,
    Operability,
    Reporting,
)
from superstar.pipelines.reporting import (
    clusters,
    inaction,
    mce,
    means,
    origin,
    reference,
    report,
    tables,
    typesetting,
)

logger = logging.getLogger(__name__)

TOLD = (
    "seed",
    "scale",
    "jpeg_quality",
    "execution",
    "distance",
    "data_preparation",
    "severity_calibration",
    "surrogate_generation",
    "classifier_training",
    "denoiser_training",
    "operability",
    "policy_training",
    "benchmark_generation",
    "evaluation",
)
"""Parameters that the report tells."""


def make_tables(
    results: pd.DataFrame,
    gains: pd.DataFrame,
    transfer_results: pd.DataFrame,
    transfer_gains: pd.DataFrame,
    surrogates: pd.DataFrame,
    shifts: pd.DataFrame,
    first_actions: pd.DataFrame,
    operability: dict[str, Any],
    parameters: dict[str, Any],
    seed: int,
) -> tuple[
    pd.DataFrame,
    str,
    str,
    str,
    pd.DataFrame,
    pd.DataFrame,
    pd.DataFrame,
    pd.DataFrame,
    pd.DataFrame,
    pd.DataFrame,
    pd.DataFrame,
    pd.DataFrame,
    dict[str, float],
]:
    """Main table (CSV, Markdown, LaTeX), that of policies from elsewhere in LaTeX, and the rest.

    Over all shifts, with policies from elsewhere, by severity, actions, % inoperable as a row a
    shift and in the paper's two columns, distances of the test shifts, inaction, and metrics.
    """
    given = Reporting.model_validate(parameters)
    main = tables.main_table(results, gains, given.bootstrap_resamples, given.confidence, seed)
    actions = tables.action_table(results)
    transfer = tables.transfer_table(
        transfer_results, transfer_gains, given.bootstrap_resamples, given.confidence, seed
    )
    markdown = typesetting.to_markdown(main)
    logger.info(
        "accuracy (%%) shifted (S), recovered (R), and their difference\n%s", markdown.rstrip()
    )
    inoperable = tables.operability_table(surrogates, shifts)
    r_squared = Operability.model_validate(operability).r_squared
    return (
        main,
        markdown,
        typesetting.to_latex(main),
        typesetting.transfer_to_latex(transfer),
        tables.overall_table(
            main, results, gains, given.bootstrap_resamples, given.confidence, seed
        ),
        transfer,
        tables.severity_table(results),
        actions,
        inoperable,
        tables.two_columns(inoperable, first_actions),
        tables.distance_table(results, "standard", r_squared),
        inaction.inaction_table(first_actions),
        tables.metrics(main, actions),
    )


def average_over_shifts(
    results: pd.DataFrame,
    gains: pd.DataFrame,
    transfer_results: pd.DataFrame,
    transfer_gains: pd.DataFrame,
    parameters: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float]]:
    """Means over the benchmark's sets of shifts, mCE (empty where not asked for), and metrics."""
    given = Reporting.model_validate(parameters)
    arguments = (
        means.all_policies(results, transfer_results),
        means.all_policies(gains, transfer_gains),
        given.bootstrap_resamples,
        given.confidence,
        seed,
    )
    over_sets = means.mean_table(*arguments)
    errors = pd.DataFrame(columns=mce.COLUMNS)
    if given.mce is not None:
        errors = mce.mce_table(*arguments)
    return over_sets, errors, means.mean_metrics(over_sets, errors)


def list_worst_cells(results: pd.DataFrame, parameters: dict[str, Any]) -> pd.DataFrame:
    """Where most accuracy was lost, and what was done there."""
    return tables.worst_cells(results, Reporting.model_validate(parameters).worst_cells)


def compare_with_reference(
    main: pd.DataFrame,
    transfer: pd.DataFrame,
    operability: pd.DataFrame,
    accuracies: pd.DataFrame,
    inoperable: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracies and % inoperable beside those of others; empty where there are none."""
    beside = pd.DataFrame(columns=reference.COLUMNS)
    if len(accuracies):
        beside = reference.beside_reference(main, transfer, accuracies)
    abstained = pd.DataFrame(columns=reference.INOPERABLE_COLUMNS)
    if len(inoperable):
        abstained = reference.inoperable_beside(operability, inoperable)
    return beside, abstained


def write_report(
    benchmark: str,
    shifts: dict[str, Any],
    main_table: str,
    results: pd.DataFrame,
    validation_points: Tensor,
    overall: pd.DataFrame,
    over_sets: pd.DataFrame,
    errors: pd.DataFrame,
    transfer: pd.DataFrame,
    by_severity: pd.DataFrame,
    actions: pd.DataFrame,
    worst: pd.DataFrame,
    operability: pd.DataFrame,
    labels: pd.DataFrame,
    distances: pd.DataFrame,
    wanted: pd.DataFrame,
    alike: pd.DataFrame,
    severities: pd.DataFrame,
    beside: pd.DataFrame,
    abstained: pd.DataFrame,
    external_labels: pd.DataFrame,
    accuracies: pd.DataFrame,
    inoperable: pd.DataFrame,
    evaluation_metrics: dict[str, float],
    denoiser_metrics: dict[str, float],
    operability_metrics: dict[str, float | None],
    policy_metrics: dict[str, float],
    stage_times: pd.DataFrame,
    parameters: dict[str, Any],
    **given: Any,
) -> str:
    """The results of the run on one page; `given_<name>` are the parameters that it tells."""
    told = {name: given[f"given_{name}"] for name in TOLD}
    distance = Distance.model_validate(told["distance"])
    measure = distance.measure["kind"].replace("_", " ")
    words = f"{measure}, projection `{distance.projection}` to {distance.dimensions} dimensions"
    made = f"constants `{shifts['scale']}`, seed {shifts['seed']}"
    if shifts["frost"]:
        made += f", frost's textures {shifts['frost']}"
    if shifts["external"]:
        made += f"; of others: {', '.join(shifts['external'])}"
    clean = {
        name.removeprefix(report.CLEAN_ACCURACY): accuracy
        for name, accuracy in evaluation_metrics.items()
        if name.startswith(report.CLEAN_ACCURACY)
    }
    settings = Reporting.model_validate(parameters)
    evaluation = Evaluation.model_validate(told["evaluation"])
    return report.compose(
        benchmark,
        words,
        made,
        origin.extent(results, evaluation.batch_size, len(validation_points)),
        main_table,
        overall,
        over_sets,
        None if settings.mce is None else errors,
        transfer,
        by_severity,
        actions,
        worst,
        operability,
        labels,
        distances,
        wanted,
        alike,
        severities,
        beside,
        abstained,
        settings.highlighted,
        denoiser_metrics | operability_metrics | policy_metrics | evaluation_metrics,
        origin.classifiers_table(
            ClassifierTraining.model_validate(told["classifier_training"]),
            DataPreparation.model_validate(told["data_preparation"]).train,
            clean,
        ),
        origin.stages_table(stage_times),
        origin.sources(list(transfer["policy"].unique()), external_labels, accuracies, inoperable),
        origin.configuration(told),
    )


def sample_clusters(
    surrogates: pd.DataFrame,
    sets: ShiftedSets,
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    evaluation: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """States of single images with their clusters, the inertias, and each shift's clusters."""
    given = Reporting.model_validate(parameters)
    samples = clusters.sample_states(
        surrogates,
        sets,
        BenchmarkGeneration.model_validate(benchmark).shifts,
        Evaluation.model_validate(evaluation).severities,
        given.cluster_samples,
        seed,
    )
    found = cluster_states(samples[clusters.COLUMNS], most=given.most_clusters, seed=seed)
    samples["cluster"] = found.labels + 1
    numbers = np.arange(1, len(found.inertias) + 1)
    inertias = pd.DataFrame(
        {"clusters": numbers, "inertia": found.inertias, "chosen": numbers == found.k}
    )
    return samples, inertias, clusters.cluster_table(samples)
