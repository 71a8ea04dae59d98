"""Pictures of a run: one image under every shift, and what a sequence of actions does to a few.

No figure reads more than a few images of each set.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import Denoiser
from superstar.control.scoring import apply_sequences
from superstar.corruptions.sets import shift_set
from superstar.datasets import SEVERITIES, ShiftedSets
from superstar.images import Images, ImageSet, to_uint8
from superstar.parameters import BenchmarkGeneration
from superstar.pipelines.pages import readable

LONGEST_COLUMN = 12
"""Rows of a contact sheet up to which they stand in one block."""
EXAMPLE_IMAGES = 4
IMAGES_LOOKED_AT = 100
"""To find the one on which shifts show best; in an example, of each class shown."""


def draw_surrogates(
    clean: ImageSet,
    strengths: dict[str, list[float]],
    scale: str,
    jpeg_quality: int | None,
    seed: int,
) -> Figure:
    """One design image under every surrogate and severity, made anew as in the surrogate sets."""

    def shifted(name: str, severity: int, place: int) -> Tensor:
        return shift_set(
            clean.take(slice(place, place + 1)),
            name,
            severity,
            scale,
            seed,
            strength=strengths[name][severity - 1],
            first_index=place,
            jpeg_quality=jpeg_quality,
        ).batch()

    return contact_sheet(clean, list(strengths), shifted)


def draw_shifts(sets: ShiftedSets, benchmark: dict[str, Any]) -> Figure:
    """One test image under every shift and severity."""

    def shifted(name: str, severity: int, place: int) -> Tensor:
        return sets.load(name, severity).batch(slice(place, place + 1))

    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    return contact_sheet(sets.load("none", None), shifts, shifted)


def draw_examples(
    stages: pd.DataFrame, sets: ShiftedSets, denoiser: Denoiser
) -> tuple[Figure, Figure]:
    """Images after each action of a sequence of the run, and of one chosen with a looser β."""
    own, loose = (
        stages_figure(stages[stages["example"] == name], sets, denoiser, show_beta=beta)
        for name, beta in (("example", False), ("example_beta", True))
    )
    return own, loose


def contact_sheet(
    clean: Images, names: Sequence[str], shifted: Callable[[str, int, int], Tensor]
) -> Figure:
    """One image under every shift at every severity; the first column of a block is clean.

    Args:
        clean: the unshifted set, of whose first images the one with most colours is shown.
        names: of the shifts.
        shifted: the image at a place of the set under a shift at a severity, a batch of one.
    """
    coarse = to_uint8(clean.batch(slice(IMAGES_LOOKED_AT))) // np.uint8(32)
    place = int(np.argmax([len(np.unique(image.reshape(-1, 3), axis=0)) for image in coarse]))
    unshifted = clean.batch(slice(place, place + 1))
    blocks = 1 if len(names) <= LONGEST_COLUMN else 2
    height, width = -(-len(names) // blocks), 1 + len(SEVERITIES)
    figure = Figure(
        figsize=(blocks * (1.25 * width + 0.8), 1.3 * height + 0.2), layout="constrained"
    )
    parts = figure.subfigures(1, blocks, squeeze=False)[0]
    for part, first in zip(parts, range(0, len(names), height), strict=True):
        grid = part.subplots(height, width, squeeze=False)
        shown = names[first : first + height]
        for row, name in zip(grid[: len(shown)], shown, strict=True):
            images = [unshifted, *(shifted(name, severity, place) for severity in SEVERITIES)]
            for axis, image in zip(row, images, strict=True):
                _show(axis, to_uint8(image)[0])
            label = name.replace("_", "\n").replace("+", "\n+ ")
            row[0].set_ylabel(label, rotation=0, ha="right", va="center", size=9)
        for axis in grid[len(shown) :].flat:
            axis.axis("off")
        for axis, column in zip(grid[0], ["clean", *map(str, SEVERITIES)], strict=True):
            axis.set_title(column, size=9)
    return figure


def _show(axis: Axes, image: NDArray[np.uint8]) -> None:
    axis.imshow(image, interpolation="nearest")
    axis.set_xticks([])
    axis.set_yticks([])


def stages_figure(
    stages: pd.DataFrame, sets: ShiftedSets, denoiser: Denoiser | None, show_beta: bool
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
    titles = ["clean", title, *names]
    figure = Figure(figsize=(1.9 * len(titles), 1.75 * EXAMPLE_IMAGES + 0.8), layout="constrained")
    grid = figure.subplots(EXAMPLE_IMAGES, len(titles), squeeze=False)
    for axes, name, lines, images in zip(grid.T, titles, notes, pictures, strict=True):
        axes[0].set_title("\n".join([name, *lines]), size=9)
        for axis, image in zip(axes, images, strict=True):
            _show(axis, image)
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
