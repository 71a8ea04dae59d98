"""Tables and figures of a run."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from superstar.actions import ACTIONS
from superstar.actions.dncnn import DnCNN
from superstar.datasets import SEVERITIES, CorruptionArrays
from superstar.images import ImageSet, to_uint8
from superstar.parameters import BenchmarkGeneration, Distance, Execution, Reporting
from superstar.pipelines.reporting import figures, report, tables
from superstar.pipelines.scoring import apply_sequence, score_sequences

logger = logging.getLogger(__name__)

EXAMPLE_IMAGES = 4


def make_tables(
    results: pd.DataFrame,
    gains: pd.DataFrame,
    surrogates: pd.DataFrame,
    shifts: pd.DataFrame,
    parameters: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, str, str, pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, float]]:
    """Main table (CSV, Markdown, LaTeX), by severity, actions, % inoperable, and metrics."""
    given = Reporting.model_validate(parameters)
    main = tables.main_table(results, gains, given.bootstrap_resamples, given.confidence, seed)
    actions = tables.action_table(results)
    markdown = tables.to_markdown(main)
    logger.info(
        "accuracy (%%) shifted (S), recovered (R), and their difference\n%s", markdown.rstrip()
    )
    return (
        main,
        markdown,
        tables.to_latex(main),
        tables.severity_table(results),
        actions,
        tables.operability_table(surrogates, shifts),
        tables.metrics(main, actions),
    )


def write_report(
    benchmark: str,
    distance: dict[str, Any],
    shifts: dict[str, Any],
    main_table: str,
    by_severity: pd.DataFrame,
    actions: pd.DataFrame,
    operability: pd.DataFrame,
    severities: pd.DataFrame,
    *metrics: dict[str, float | None],
) -> str:
    """The results of the run on one page."""
    given = Distance.model_validate(distance)
    measure = given.measure["kind"].replace("_", " ")
    words = f"{measure}, projection `{given.projection}` to {given.dimensions} dimensions"
    made = f"constants `{shifts['scale']}`, seed {shifts['seed']}"
    if shifts["frost"]:
        made += f", frost's textures {shifts['frost']}"
    numbers = {name: value for part in metrics for name, value in part.items()}
    return report.compose(
        benchmark, words, made, main_table, by_severity, actions, operability, severities, numbers
    )


def draw_results(
    main: pd.DataFrame, by_severity: pd.DataFrame, actions: pd.DataFrame
) -> tuple[Figure, Figure, Figure]:
    """Delta by shift, Delta by severity, and what was done."""
    return (
        figures.delta_figure(main),
        figures.severity_figure(by_severity),
        figures.actions_figure(actions),
    )


def draw_design(
    curves: pd.DataFrame, fits: pd.DataFrame, labels: pd.DataFrame, parameters: dict[str, Any]
) -> tuple[Figure, Figure]:
    """Training curves, and the fits behind the operability labels."""
    given = Reporting.model_validate(parameters)
    return (
        figures.policy_figure(curves, ACTIONS, given.curve_window),
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


def draw_shifts(sets: CorruptionArrays, benchmark: dict[str, Any]) -> Figure:
    """One test image under every shift and severity."""
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    clean = sets.load("none", None)
    chosen = _most_colours(clean)
    return figures.contact_sheet(
        clean.images[chosen],
        {
            shift: [sets.load(shift, severity).images[chosen] for severity in SEVERITIES]
            for shift in shifts
        },
    )


def draw_example(
    results: pd.DataFrame,
    sets: CorruptionArrays,
    denoiser: DnCNN,
    standard: nn.Module,
    augmix: nn.Module,
    parameters: dict[str, Any],
    execution: dict[str, Any],
) -> Figure:
    """Images clean, shifted, and after each action of the example shift's longest sequence.

    Of equally long ones, that which gained most.
    """
    given, run = Reporting.model_validate(parameters), Execution.model_validate(execution)
    classifiers = {"standard": standard, "augmix": augmix}
    trials = results[results["shift"] == given.example_shift]
    gain = trials["accuracy_recovered"] - trials["accuracy_shifted"]
    shown = trials.assign(length=trials["sequence"].map(len), gain=gain).nlargest(
        1, ["length", "gain"]
    )
    actions, severity = tuple(shown["sequence"].iloc[0]), int(shown["severity"].iloc[0])
    prefixes = [actions[:length] for length in range(len(actions) + 1)]
    clean, shifted = sets.load("none", None), sets.load(given.example_shift, severity)
    score = partial(
        score_sequences,
        denoiser=denoiser.to(run.device),
        classifiers=classifiers,
        batch_size=run.batch_size,
        device=run.device,
    )
    hits, before = score(shifted, prefixes), score(clean, [()])
    scores = [before[()], *(hits[prefix] for prefix in prefixes)]
    rows = _one_of_each(clean, EXAMPLE_IMAGES)
    pictures = [clean.images[rows]] + [
        to_uint8(apply_sequence(shifted.batch(rows), prefix, denoiser)) for prefix in prefixes
    ]
    name = f"{given.example_shift.replace('_', ' ')} {severity}"
    return figures.example_figure(
        list(zip(*pictures, strict=True)),
        ["clean", name, *(f"+ {action}" for action in actions)],
        [{c: 100 * float(hit.mean()) for c, hit in stage.items()} for stage in scores],
    )


def _one_of_each(images: ImageSet, count: int) -> NDArray[np.int64]:
    """Images of so many classes, of each the one on which shifts show best."""
    classes = np.unique(images.labels)
    chosen = classes[np.linspace(0, len(classes) - 1, count).astype(int)]
    spread = images.images.std(axis=(1, 2)).mean(axis=1)
    return np.array([np.where(images.labels == c, spread, -1).argmax() for c in chosen])


def _most_colours(images: ImageSet) -> int:
    """The image on which shifts show best, among the first hundred."""
    coarse = images.images[:100] // np.uint8(32)
    return int(np.argmax([len(np.unique(image.reshape(-1, 3), axis=0)) for image in coarse]))
