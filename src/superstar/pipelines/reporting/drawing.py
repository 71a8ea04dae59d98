"""Figures of a run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from superstar.actions import ACTIONS
from superstar.actions.dncnn import DnCNN
from superstar.datasets import SEVERITIES, ShiftedSets
from superstar.images import Images, ImageSet, to_uint8
from superstar.parameters import BenchmarkGeneration, Reporting, SurrogateGeneration
from superstar.pipelines.reporting import examples, figures


def draw_results(
    main: pd.DataFrame,
    by_severity: pd.DataFrame,
    actions: pd.DataFrame,
    first_actions: pd.DataFrame,
    thresholds: dict[str, float],
) -> tuple[Figure, Figure, Figure, Figure]:
    """Delta by shift, Delta by severity, what was done, and what the first action alone would."""
    return (
        figures.delta_figure(main),
        figures.severity_figure(by_severity),
        figures.actions_figure(actions),
        figures.inaction_figure(first_actions, thresholds["beta"]),
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
    policy = SurrogateGeneration.model_validate(surrogates).policy
    batches = {
        name: range(place * policy.training_batches, (place + 1) * policy.training_batches)
        for place, name in enumerate(policy.names)
    }
    return (
        figures.policy_figure(curves, ACTIONS, batches, given.curve_window),
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


def draw_examples(
    stages: pd.DataFrame, sets: ShiftedSets, denoiser: DnCNN
) -> tuple[Figure, Figure]:
    """Images after each action of a sequence of the run, and of one chosen with a looser β."""
    own, loose = (
        examples.stages_figure(stages[stages["example"] == name], sets, denoiser, show_beta=beta)
        for name, beta in (("example", False), ("example_beta", True))
    )
    return own, loose


def _picture(images: Images, place: int) -> NDArray[np.uint8]:
    return to_uint8(images.batch(slice(place, place + 1)))[0]


def _most_colours(images: Images) -> int:
    """The image on which shifts show best, among the first hundred."""
    coarse = to_uint8(images.batch(slice(100))) // np.uint8(32)
    return int(np.argmax([len(np.unique(image.reshape(-1, 3), axis=0)) for image in coarse]))
