"""Tables and figures of a run."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from superstar.actions import ACTIONS
from superstar.actions.dncnn import DnCNN
from superstar.control import Supervisor
from superstar.control.algorithm import Selection, select_transforms
from superstar.control.clustering import cluster_states
from superstar.control.networks import sampled
from superstar.datasets import SEVERITIES, ShiftedSets
from superstar.images import Images, ImageSet, stream, to_uint8
from superstar.parameters import (
    BenchmarkGeneration,
    ClassifierTraining,
    DataPreparation,
    Distance,
    Evaluation,
    Execution,
    Operability,
    Reporting,
    SurrogateGeneration,
)
from superstar.pipelines.reporting import (
    clusters,
    examples,
    figures,
    inaction,
    origin,
    reference,
    report,
    tables,
)

logger = logging.getLogger(__name__)

TOLD = (
    "seed",
    "execution",
    "distance",
    "data_preparation",
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
    """Main table (CSV, Markdown, LaTeX), then what else there is to tell, and metrics.

    Over all shifts, with policies from elsewhere, by severity, actions, % inoperable as a row a
    shift and in the paper's two columns, distances of the test shifts, and inaction.
    """
    given = Reporting.model_validate(parameters)
    main = tables.main_table(results, gains, given.bootstrap_resamples, given.confidence, seed)
    actions = tables.action_table(results)
    markdown = tables.to_markdown(main)
    logger.info(
        "accuracy (%%) shifted (S), recovered (R), and their difference\n%s", markdown.rstrip()
    )
    inoperable = tables.operability_table(surrogates, shifts)
    r_squared = Operability.model_validate(operability).r_squared
    return (
        main,
        markdown,
        tables.to_latex(main),
        tables.overall_table(
            main, results, gains, given.bootstrap_resamples, given.confidence, seed
        ),
        tables.transfer_table(
            transfer_results, transfer_gains, given.bootstrap_resamples, given.confidence, seed
        ),
        tables.severity_table(results),
        actions,
        inoperable,
        tables.two_columns(inoperable, first_actions),
        tables.distance_table(results, "standard", r_squared),
        inaction.inaction_table(first_actions),
        tables.metrics(main, actions),
    )


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
        beside = reference.beside_reference(main, transfer, reference.read_reference(accuracies))
    abstained = pd.DataFrame(columns=reference.INOPERABLE_COLUMNS)
    if len(inoperable):
        read = reference.read_inoperable(inoperable)
        abstained = reference.inoperable_beside(operability, read)
    return beside, abstained


def write_report(
    benchmark: str,
    shifts: dict[str, Any],
    main_table: str,
    overall: pd.DataFrame,
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
    if shifts["published"]:
        made += f"; as published: {', '.join(shifts['published'])}"
    clean = {
        name.removeprefix(report.CLEAN_ACCURACY): accuracy
        for name, accuracy in evaluation_metrics.items()
        if name.startswith(report.CLEAN_ACCURACY)
    }
    return report.compose(
        benchmark,
        words,
        made,
        main_table,
        overall,
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
        Reporting.model_validate(parameters).highlighted,
        denoiser_metrics | operability_metrics | policy_metrics | evaluation_metrics,
        origin.classifiers_table(
            ClassifierTraining.model_validate(told["classifier_training"]),
            DataPreparation.model_validate(told["data_preparation"]).train,
            clean,
        ),
        origin.stages_table(stage_times),
        origin.configuration(told),
    )


def draw_results(
    main: pd.DataFrame,
    by_severity: pd.DataFrame,
    actions: pd.DataFrame,
    wanted: pd.DataFrame,
    thresholds: dict[str, float],
) -> tuple[Figure, Figure, Figure, Figure]:
    """Delta by shift, Delta by severity, what was done, and what the first action alone would."""
    return (
        figures.delta_figure(main),
        figures.severity_figure(by_severity),
        figures.actions_figure(actions),
        inaction.inaction_figure(wanted, thresholds["beta"]),
    )


def draw_design(
    curves: pd.DataFrame,
    fits: pd.DataFrame,
    labels: pd.DataFrame,
    parameters: dict[str, Any],
    surrogates: dict[str, Any],
) -> tuple[Figure, Figure]:
    """Training curves, and the fits behind the operability labels."""
    given = Reporting.model_validate(parameters)
    names = SurrogateGeneration.model_validate(surrogates).policy.names
    return (
        figures.policy_figure(curves, ACTIONS, names, given.curve_window),
        figures.fits_figure(fits, labels),
    )


def draw_surrogates(
    clean: ImageSet,
    surrogates: dict[str, Callable[[], ImageSet]],
    strengths: dict[str, list[float]],
) -> Figure:
    """One design image under every surrogate and severity."""
    chosen = _most_colours(clean)
    return figures.contact_sheet(
        clean.images[chosen],
        {
            name: [surrogates[f"{name}/{s}"]().images[chosen] for s in SEVERITIES]
            for name in strengths
        },
    )


def draw_shifts(sets: ShiftedSets, benchmark: dict[str, Any]) -> Figure:
    """One test image under every shift and severity."""
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    clean = sets.load("none", None)
    chosen = _most_colours(clean)
    return figures.contact_sheet(
        _picture(clean, chosen),
        {
            shift: [_picture(sets.load(shift, severity), chosen) for severity in SEVERITIES]
            for shift in shifts
        },
    )


def draw_example(
    results: pd.DataFrame,
    sets: ShiftedSets,
    denoiser: DnCNN,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    parameters: dict[str, Any],
    execution: dict[str, Any],
) -> Figure:
    """Images clean, shifted, and after each action of the example shift's longest sequence.

    Of equally long ones, that which gained most.
    """
    given, run = Reporting.model_validate(parameters), Execution.model_validate(execution)
    trials = results[results["shift"] == given.example_shift]
    gain = trials["accuracy_recovered"] - trials["accuracy_shifted"]
    shown = trials.assign(length=trials["sequence"].map(len), gain=gain).nlargest(
        1, ["length", "gain"]
    )
    actions, severity = tuple(shown["sequence"].iloc[0]), int(shown["severity"].iloc[0])
    return examples.stages_figure(
        f"{figures.title(given.example_shift)} {severity}",
        sets.load("none", None),
        sets.load(given.example_shift, severity),
        actions,
        denoiser.to(run.device),
        {"standard": standard, **robust},
        run,
    )


def draw_example_beta(
    sets: ShiftedSets,
    supervisor: Supervisor,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    parameters: dict[str, Any],
    evaluation: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> Figure:
    """Images after each action that Algorithm 1 chooses with a beta of one's own.

    The other brakes stay. Shown is the first of the longest sequences that as many batches as
    there are trials lead to, with the action that failed beta in the end.
    """
    given, run = Reporting.model_validate(parameters), Execution.model_validate(execution)
    tried = Evaluation.model_validate(evaluation)
    shift, severity = given.example_beta_shift, given.example_beta_severity
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(run.device)
    shifted = sets.load(shift, severity)

    def select(trial: int) -> Selection:
        rng = stream(seed, "example_beta", trial)
        drawn = rng.permutation(len(shifted))[: tried.batch_size]
        return select_transforms(
            shifted.batch(drawn),
            sampled(supervisor.actor),
            reference=supervisor.validation_points,
            projection=supervisor.projection,
            brakes=replace(supervisor.brakes, beta=given.example_beta),
            denoiser=supervisor.denoiser,
            rng=rng,
            actions=supervisor.actions,
            distance=supervisor.distance,
        )

    longest = max((select(trial) for trial in range(tried.trials)), key=lambda s: len(s.sequence))
    last = longest.steps[-1]
    failed = (last.action,) if last.action is not None and last.reason == "beta" else ()
    return examples.stages_figure(
        f"{figures.title(shift)} {severity}, β = {given.example_beta:g}",
        sets.load("none", None),
        shifted,
        longest.sequence + failed,
        supervisor.denoiser,
        {"standard": standard, **robust},
        run,
        [*longest.distances, *(last.distance for _ in failed)],
        failed=len(failed),
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


def draw_clusters(samples: pd.DataFrame, inertias: pd.DataFrame, table: pd.DataFrame) -> Figure:
    """The elbow, the states by cluster, and the clusters of each shift's samples."""
    return clusters.cluster_figure(samples, inertias, table)


def _picture(images: Images, place: int) -> NDArray[np.uint8]:
    return to_uint8(images.batch(slice(place, place + 1)))[0]


def _most_colours(images: Images) -> int:
    """The image on which shifts show best, among the first hundred."""
    coarse = to_uint8(images.batch(slice(100))) // np.uint8(32)
    return int(np.argmax([len(np.unique(image.reshape(-1, 3), axis=0)) for image in coarse]))
