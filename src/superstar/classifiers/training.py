"""Training of an ordinary classifier, and what the augmented schemes share with it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.training import Loss, Schedule, fit, global_seed, random_windows

Network = TypeVar("Network", bound=nn.Module)
"""Maps images in [0, 1] to logits."""
Augment = Callable[[Tensor, Tensor, torch.Generator], tuple[Tensor, ...]]
"""Images float32 (B, 3, H, W) in [0, 1], labels int64 (B,) and a generator in, the tensors of one
training step out."""


def initialised(build: Callable[[], Network], seed: int) -> Network:
    """A network with initial weights that depend on the seed alone.

    Args:
        build: makes the network; its layers draw from the global generator.
        seed: of the weights.
    """
    with global_seed(seed):
        return build()


@dataclass(frozen=True)
class ClassifierSchedule(Schedule):
    """A schedule, and the augmentation that every scheme begins with.

    Attributes:
        shift: largest shift in pixels along either axis, before any other augmentation.
    """

    shift: int = 4


def train_standard(
    network: Network,
    images: ImageSet,
    schedule: ClassifierSchedule,
    *,
    label_smoothing: float = 0.0,
) -> tuple[Network, list[float]]:
    """Train an ordinary classifier: shifts and mirror images are its only augmentation.

    Args:
        network: with its initial weights, as `initialised` gives them; not changed.
        images: training images and their labels.
        schedule: of the training.
        label_smoothing: weight of the uniform distribution in the target, in [0, 1).

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, other arguments out of theirs, or no progress.
    """

    def loss(model: nn.Module, batch: Tensor, targets: Tensor) -> Tensor:
        logits = model(batch).float()
        return functional.cross_entropy(logits, targets, label_smoothing=label_smoothing)

    return train_scheme(
        "standard",
        network,
        images,
        schedule,
        lambda windows, labels, generator: (windows, labels),
        loss,
        label_smoothing=label_smoothing,
    )


def train_scheme(
    scheme: str,
    network: Network,
    images: ImageSet,
    schedule: ClassifierSchedule,
    augment: Augment,
    loss: Loss,
    **settings: float,
) -> tuple[Network, list[float]]:
    """Train a copy of a network by a scheme of its own batches and loss.

    Args:
        scheme: its name.
        network: where to start from; not changed.
        images: training images and their labels.
        schedule: of the training.
        augment: makes the tensors of a step.
        loss: the scalar to minimise, from the network and those tensors.
        settings: what `augment` and `loss` depend on, see `superstar.training.fit`.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, other arguments out of theirs, or no progress.
    """
    classifier = copy.deepcopy(network).requires_grad_(True).eval()
    device = next(classifier.parameters()).device
    with torch.no_grad():
        classes = classifier(images.batch(slice(1)).to(device)).shape[1]
    pixels, labels = _tensors(images, classes)

    def make_batch(indices: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        windows = random_windows(pixels, indices, generator, margin=schedule.shift)
        return augment(windows, labels[indices], generator)

    history = fit(
        classifier,
        make_batch,
        loss,
        len(images),
        schedule,
        description=f"classifier {scheme}",
        untrained_loss=log(classes),
        settings={"scheme": scheme, **settings},
    )
    return classifier, history


def _tensors(images: ImageSet, classes: int) -> tuple[Tensor, Tensor]:
    """The images, uint8 (N, H, W, 3), and their labels, int64 (N,).

    Raises:
        InputError: a label that is not one of the classes.
    """
    labels = torch.from_numpy(np.array(images.labels, dtype=np.int64))
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"labels must run from 0 to {classes - 1}, "
            f"but run from {labels.min()} to {labels.max()}"
        )
    return torch.from_numpy(np.array(images.images)), labels


def draw_seed(generator: torch.Generator) -> Tensor:
    """A seed for what a step draws beside its batch: int64, without dimensions."""
    return torch.randint(2**63 - 1, (), generator=generator)
