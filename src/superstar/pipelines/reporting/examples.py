"""What a sequence of actions does, shown on a few images."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from superstar.actions import Denoiser
from superstar.classifiers import Precision
from superstar.images import Images, to_uint8
from superstar.parameters import Execution
from superstar.pipelines.reporting.figures import example_figure
from superstar.pipelines.scoring import Actions, apply_sequences, score_sequences

EXAMPLE_IMAGES = 4


def stages_figure(
    title: str,
    clean: Images,
    shifted: Images,
    actions: Actions,
    denoiser: Denoiser | None,
    classifiers: Mapping[str, nn.Module],
    run: Execution,
    precision: Precision,
    distances: Sequence[float] = (),
    failed: int = 0,
) -> Figure:
    """Images clean, shifted, and after each action, with accuracies on the whole set.

    `distances`, where they are known, are those of a batch as it came and after each action;
    `failed` of the actions, the last ones, did not pass.
    """
    prefixes = [actions[:length] for length in range(len(actions) + 1)]
    hits, before = (
        score_sequences(
            images,
            sequences,
            denoiser,
            classifiers,
            batch_size=run.batch_size,
            device=run.device,
            precision=precision,
        )
        for images, sequences in ((shifted, prefixes), (clean, [()]))
    )
    notes = [
        [f"{name} {100 * hit.mean():.1f}%" for name, hit in stage.items()]
        for stage in (before[()], *(hits[prefix] for prefix in prefixes))
    ]
    for lines, distance in zip(notes[1:], distances, strict=False):
        lines.append(f"distance {distance:.1f}")
    rows = one_of_each(clean, EXAMPLE_IMAGES)
    pictures = [to_uint8(clean.batch(rows))] + [
        to_uint8(after) for _, after in apply_sequences(shifted.batch(rows), prefixes, denoiser)
    ]
    passed = len(actions) - failed
    names = [f"+ {action}" for action in actions[:passed]]
    names += [f"({action}: fails β)" for action in actions[passed:]]
    return example_figure(
        list(zip(*pictures, strict=True)),
        ["clean", title, *names],
        notes,
    )


def one_of_each(images: Images, count: int) -> NDArray[np.int64]:
    """Images of so many classes, of each the one on which shifts show best."""
    classes = np.unique(images.labels)
    chosen = classes[np.linspace(0, len(classes) - 1, count).astype(int)]
    return np.array([_most_contrast(images, np.flatnonzero(images.labels == c)) for c in chosen])


def _most_contrast(images: Images, places: NDArray[np.int64]) -> int:
    spread = to_uint8(images.batch(places)).std(axis=(1, 2)).mean(axis=1)
    return int(places[spread.argmax()])
