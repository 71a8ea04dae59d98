"""Figures of a run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from superstar.actions import ACTIONS, Denoiser
from superstar.control import Supervisor
from superstar.control.algorithm import Selection, select_transforms
from superstar.control.networks import sampled
from superstar.datasets import SEVERITIES, ShiftedSets
from superstar.images import Images, ImageSet, stream, to_uint8
from superstar.parameters import (
    BenchmarkGeneration,
    Evaluation,
    Execution,
    Reporting,
    SurrogateGeneration,
)
from superstar.pipelines.reporting import (
    clusters,
    examples,
    figures,
    inaction,
)
from superstar.pipelines.reporting.typesetting import readable


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
    denoiser: Denoiser,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    parameters: dict[str, Any],
    evaluation: dict[str, Any],
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
        f"{readable(given.example_shift)} {severity}",
        sets.load("none", None),
        sets.load(given.example_shift, severity),
        actions,
        denoiser.to(run.device),
        {"standard": standard, **robust},
        run,
        Evaluation.model_validate(evaluation).precision,
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
        f"{readable(shift)} {severity}, β = {given.example_beta:g}",
        sets.load("none", None),
        shifted,
        longest.sequence + failed,
        supervisor.denoiser,
        {"standard": standard, **robust},
        run,
        tried.precision,
        [*longest.distances, *(last.distance for _ in failed)],
        failed=len(failed),
    )


def draw_clusters(samples: pd.DataFrame, inertias: pd.DataFrame, table: pd.DataFrame) -> Figure:
    """The elbow, the states by cluster, and the clusters of each shift's samples."""
    return clusters.cluster_figure(samples, inertias, table)


def _picture(images: Images, place: int) -> NDArray[np.uint8]:
    return to_uint8(images.batch(slice(place, place + 1)))[0]


def _most_colours(images: Images) -> int:
    """The image on which shifts show best, among the first hundred."""
    coarse = to_uint8(images.batch(slice(100))) // np.uint8(32)
    return int(np.argmax([len(np.unique(image.reshape(-1, 3), axis=0)) for image in coarse]))
