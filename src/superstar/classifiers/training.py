"""Training of the classifiers under study: an ordinary one, and one made robust by AugMix."""

import copy
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.transforms.v2 import AugMix

from superstar.classifiers.resnet import SmallResNet
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.training import fit, global_seed, random_windows

AUGMIX_GROUP = 8
"""Images that share AugMix's draw of operations; each has mixing weights of its own."""


def train_standard(
    images: ImageSet,
    classes: int,
    *,
    width: int = 32,
    mean: Sequence[float] = (0.45, 0.45, 0.45),
    std: Sequence[float] = (0.25, 0.25, 0.25),
    epochs: int = 12,
    batch_size: int = 64,
    learning_rate: float = 0.01,
    weight_decay: float = 0.05,
    label_smoothing: float = 0.0,
    shift: int = 4,
    seed: int = 0,
    threads: int = 2,
    device: str | torch.device = "cpu",
) -> tuple[SmallResNet, list[float]]:
    """Train an ordinary classifier: shifts and mirror images are its only augmentation.

    Args:
        images: training images and their labels.
        classes: number of classes; labels run from 0 to classes − 1.
        width: of the network.
        mean: of each colour channel, for the network's normalisation.
        std: of each colour channel, likewise.
        epochs: passes over the images.
        batch_size: images a step.
        learning_rate: highest rate of the one-cycle schedule.
        weight_decay: of AdamW.
        label_smoothing: weight of the uniform distribution in the target, in [0, 1).
        shift: largest shift in pixels along either axis.
        seed: of the initialisation, the order of images and the augmentation.
        threads: of the processor; results depend on it.
        device: where to train.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, other arguments out of theirs, or no progress.
    """
    pixels, labels = _tensors(images, classes)
    with global_seed(seed):
        classifier = SmallResNet(classes, width, mean, std)

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
        untrained_loss=math.log(classes),
        seed=seed,
        threads=threads,
        device=device,
        description="classifier standard",
    )
    return classifier, history


def train_augmix(
    standard: SmallResNet,
    images: ImageSet,
    *,
    epochs: int = 3,
    batch_size: int = 64,
    learning_rate: float = 0.003,
    weight_decay: float = 0.05,
    shift: int = 4,
    consistency: float = 12.0,
    severity: int = 3,
    seed: int = 0,
    threads: int = 2,
    device: str | torch.device = "cpu",
) -> tuple[SmallResNet, list[float]]:
    """Fine-tune a classifier with AugMix (Hendrycks et al., ICLR 2020).

    Each image goes in clean and in two augmented versions; the loss is the cross-entropy of the
    clean one plus `consistency` times the Jensen-Shannon divergence of the three predictions.
    The operations are torchvision's, without those that overlap with benchmark corruptions
    (contrast, colour, brightness, sharpness).

    Args:
        standard: where to start from; not changed.
        images: training images and their labels.
        epochs: passes over the images.
        batch_size: images a step, each three times.
        learning_rate: highest rate of the one-cycle schedule.
        weight_decay: of AdamW.
        shift: largest shift in pixels along either axis.
        consistency: weight of the divergence.
        severity: of AugMix's operations, 1 to 10.
        seed: of the order of images and the augmentation.
        threads: of the processor; results depend on it.
        device: where to train.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, other arguments out of theirs, or no progress.
    """
    if not 1 <= severity <= 10:
        raise InputError(f"severity of AugMix must lie in 1 to 10, but is {severity}")
    classes = standard.arguments["classes"]
    pixels, labels = _tensors(images, classes)
    classifier = copy.deepcopy(standard).requires_grad_(True)

    def make_batch(indices: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        clean = random_windows(pixels, indices, generator, margin=shift)
        seed_of_step = int(torch.randint(2**31, (), generator=generator))
        views = [augment_and_mix(clean, severity, seed_of_step + view) for view in (0, 1)]
        return torch.cat([clean, *views]), labels[indices]

    def loss(model: nn.Module, batch: Tensor, targets: Tensor) -> Tensor:
        clean, first, second = model(batch).float().chunk(3)
        divergence = jensen_shannon(clean, first, second)
        return functional.cross_entropy(clean, targets) + consistency * divergence

    history = fit(
        classifier,
        make_batch,
        loss,
        len(images),
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        untrained_loss=math.log(classes),
        seed=seed,
        threads=threads,
        device=device,
        description="classifier augmix",
    )
    return classifier, history


def augment_and_mix(images: Tensor, severity: int, seed: int) -> Tensor:
    """AugMix of a batch; groups of `AUGMIX_GROUP` images share the operations that are drawn.

    Args:
        images: float32 (N, 3, H, W), multiples of 1/255 in [0, 1].
        severity: strength of the operations, 1 to 10.
        seed: of the draws.

    Returns:
        float32 (N, 3, H, W), multiples of 1/255 in [0, 1].
    """
    transform = AugMix(severity=severity, all_ops=False)
    pixels = images.mul(255).round_().to(torch.uint8)
    with global_seed(seed):
        mixed = torch.cat([transform(group) for group in pixels.split(AUGMIX_GROUP)])
    return mixed.float().div_(255)


def jensen_shannon(*logits: Tensor) -> Tensor:
    """Jensen-Shannon divergence in nats of several predictions, mean over the batch: a scalar.

    Args:
        logits: tensors (N, classes), one for each view of the images.
    """
    logs = torch.stack([functional.log_softmax(view, dim=1) for view in logits])
    mixture = logs.logsumexp(0) - math.log(len(logits))
    return (logs.exp() * (logs - mixture)).sum(-1).mean()


def _tensors(images: ImageSet, classes: int) -> tuple[Tensor, Tensor]:
    labels = torch.from_numpy(np.array(images.labels, dtype=np.int64))
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"labels must run from 0 to {classes - 1}, "
            f"but run from {labels.min()} to {labels.max()}"
        )
    return torch.from_numpy(np.array(images.images)), labels
