"""What a sequence of actions does, shown on a few images."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from superstar.actions.dncnn import DnCNN
from superstar.datasets import ShiftedSets
from superstar.images import Images, to_uint8
from superstar.pipelines.pages import readable
from superstar.pipelines.reporting.figures import example_figure
from superstar.pipelines.scoring import apply_sequences

EXAMPLE_IMAGES = 4
IMAGES_LOOKED_AT = 100
"""Of each class, to find the one on which shifts show best."""


def stages_figure(
    stages: pd.DataFrame, sets: ShiftedSets, denoiser: DnCNN | None, show_beta: bool
) -> Figure:
    """Images clean, shifted, and after each action, with what a batch came to at each stage.

    Args:
        stages: of `evaluation.examples.trace_examples`, those of one example.
        sets: with the images.
        denoiser: for `dncnn`.
        show_beta: whether to name β.
    """
    first = stages.iloc[0]
    clean, shifted = sets.load("none", None), sets.load(first["shift"], int(first["severity"]))
    actions = tuple(stages["stage"].iloc[2:])
    places = one_of_each(clean, EXAMPLE_IMAGES)
    prefixes = [actions[:length] for length in range(len(actions) + 1)]
    pictures = [to_uint8(clean.batch(places))] + [
        to_uint8(after) for _, after in apply_sequences(shifted.batch(places), prefixes, denoiser)
    ]
    title = f"{readable(first['shift'])} {first['severity']}"
    if show_beta:
        title += f", β = {first['beta']:g}"
    names = [
        f"+ {stage}" if passed else f"({stage}: fails β)"
        for stage, passed in zip(actions, stages["passed"].iloc[2:], strict=True)
    ]
    classifiers = [column for column in stages if column.startswith("accuracy_")]
    notes = [
        [f"{name.removeprefix('accuracy_')} {100 * row[name]:.1f}%" for name in classifiers]
        + ([] if pd.isna(row["distance"]) else [f"distance {row['distance']:.1f}"])
        for row in stages.to_dict("records")
    ]
    figure = example_figure(list(zip(*pictures, strict=True)), ["clean", title, *names], notes)
    figure.supxlabel(
        f"accuracies and distances: of the batch of {first['images']:,} images that chose", size=9
    )
    return figure


def one_of_each(images: Images, count: int) -> NDArray[np.int64]:
    """Images of so many classes, of each the one on which shifts show best."""
    classes = np.unique(images.labels)
    chosen = classes[np.linspace(0, len(classes) - 1, count).astype(int)]
    return np.array([_most_contrast(images, np.flatnonzero(images.labels == c)) for c in chosen])


def _most_contrast(images: Images, places: NDArray[np.int64]) -> int:
    seen = places[:IMAGES_LOOKED_AT]
    contrast = to_uint8(images.batch(seen)).std(axis=(1, 2)).mean(axis=1)
    return int(seen[contrast.argmax()])
