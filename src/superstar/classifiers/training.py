"""Training of an ordinary classifier, and what the augmented schemes share with it."""

import copy
from collections.abc import Callable
from math import log
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.checkpoint import Checkpoint
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.training import fit, global_seed, random_windows

Network = TypeVar("Network", bound=nn.Module)
"""Maps images in [0, 1] to logits."""


def initialised(build: Callable[[], Network], seed: int) -> Network:
    """A network with initial weights that depend on the seed alone.

    Args:
        build: makes the network; its layers draw from the global generator.
        seed: of the weights.
    """
    with global_seed(seed):
        return build()


def train_standard(
    network: Network,
    images: ImageSet,
    *,
    epochs: int = 12,
    batch_size: int = 64,
    learning_rate: float = 0.01,
    weight_decay: float = 0.05,
    label_smoothing: float = 0.0,
    shift: int = 4,
    seed: int = 0,
    threads: int = 2,
    device: str | torch.device = "cpu",
    checkpoint: Checkpoint | None = None,
    checkpoint_epochs: int = 1,
) -> tuple[Network, list[float]]:
    """Train an ordinary classifier: shifts and mirror images are its only augmentation.

    Args:
        network: with its initial weights, as `initialised` gives them; not changed.
        images: training images and their labels.
        epochs: passes over the images.
        batch_size: images a step.
        learning_rate: highest rate of the one-cycle schedule.
        weight_decay: of AdamW.
        label_smoothing: weight of the uniform distribution in the target, in [0, 1).
        shift: largest shift in pixels along either axis.
        seed: of the order of images and the augmentation.
        threads: of the processor; results depend on it.
        device: where to train.
        checkpoint: from which an interrupted training goes on, see `superstar.training.fit`.
        checkpoint_epochs: how many epochs go by from one checkpoint to the next.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, other arguments out of theirs, or no progress.
    """
    classifier, classes = trainable(network, images)
    pixels, labels = tensors(images, classes)

    def make_batch(indices: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        return random_windows(pixels, indices, generator, margin=shift), labels[indices]

    def loss(model: nn.Module, batch: Tensor, targets: Tensor) -> Tensor:
        logits = model(batch).float()
        return functional.cross_entropy(logits, targets, label_smoothing=label_smoothing)

    history = fit(
        classifier,
        make_batch,
        loss,
        len(images),
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        untrained_loss=log(classes),
        seed=seed,
        threads=threads,
        device=device,
        description="classifier standard",
        checkpoint=checkpoint,
        checkpoint_epochs=checkpoint_epochs,
        settings={"scheme": "standard", "shift": shift, "label_smoothing": label_smoothing},
    )
    return classifier, history


def trainable(network: Network, images: ImageSet) -> tuple[Network, int]:
    """A copy of the network to train, and the number of classes it tells apart."""
    classifier = copy.deepcopy(network).requires_grad_(True).eval()
    device = next(classifier.parameters()).device
    with torch.no_grad():
        return classifier, classifier(images.batch(slice(1)).to(device)).shape[1]


def tensors(images: ImageSet, classes: int) -> tuple[Tensor, Tensor]:
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
