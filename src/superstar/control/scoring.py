"""How often classifiers are right on a set of images after sequences of actions."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from superstar.actions import Correction, Denoiser
from superstar.classifiers import Precision, predict
from superstar.images import Images

Actions = tuple[str | Correction, ...]
"""In order; a name stands for a correction without numbers."""
Hits = dict[Actions, dict[str, NDArray[np.bool_]]]
"""By sequence and classifier, which images of a set are classified rightly."""


def score_sequences(
    images: Images,
    sequences: Iterable[Actions],
    denoiser: Denoiser | None,
    classifiers: Mapping[str, nn.Module],
    *,
    batch_size: int,
    device: str,
    precision: Precision = "float32",
) -> Hits:
    """For each sequence and classifier, which images of the whole set are classified rightly.

    The set is streamed, so that memory does not grow with it.

    Args:
        images: the set.
        sequences: of corrections; the empty one, which leaves the images alone, is added.
        denoiser: for `dncnn`; it computes where its weights are.
        classifiers: by name.
        batch_size: images that go through actions and classifiers together.
        device: where the classifiers compute.
        precision: in which they compute.

    Returns:
        By sequence and classifier, bool (N,).
    """
    hits: Hits = {
        sequence: {name: np.empty(len(images), dtype=np.bool_) for name in classifiers}
        for sequence in dict.fromkeys([(), *sequences])
    }
    for part in parts(len(images), batch_size):
        labels = torch.from_numpy(np.array(images.labels[part]))
        for sequence, corrected in apply_sequences(images.batch(part), hits, denoiser):
            for name, classifier in classifiers.items():
                said = predict(classifier, corrected, batch_size, device, precision)
                hits[sequence][name][part] = (said == labels).numpy()
    return hits


def apply_sequences(
    images: Tensor, sequences: Iterable[Actions], denoiser: Denoiser | None
) -> Iterator[tuple[Actions, Tensor]]:
    """Each sequence with the images after every action of it, those that begin alike together.

    The actions with which several sequences begin are applied once.
    """
    taken: Actions = ()
    after = [images]
    for sequence in sorted(sequences, key=lambda each: [_step(step) for step in each]):
        alike = max(n for n in range(len(after)) if taken[:n] == sequence[:n])
        del after[alike + 1 :]
        for action in sequence[alike:]:
            after.append(_step(action).apply(after[-1], denoiser))
        taken = sequence
        yield sequence, after[-1]


def _step(action: str | Correction) -> Correction:
    return Correction(action) if isinstance(action, str) else action


def parts(count: int, size: int) -> list[slice]:
    """Slices of at most `size` that cover `count` items."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
