"""AugMix: mixtures of chains of operations, and consistent predictions for them."""

from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.classifiers.training import ClassifierSchedule, Network, train_scheme
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.training import global_seed

AUGMIX_GROUP = 8
"""Images that share AugMix's draw of operations; each has mixing weights of its own."""


def train_augmix(
    standard: Network,
    images: ImageSet,
    schedule: ClassifierSchedule,
    *,
    consistency: float = 12.0,
    severity: int = 3,
) -> tuple[Network, list[float]]:
    """Fine-tune a classifier with AugMix (Hendrycks et al., ICLR 2020).

    Each image goes in clean and in two augmented versions; the loss is the cross-entropy of the
    clean one plus `consistency` times the Jensen-Shannon divergence of the three predictions.
    The operations are torchvision's, without those that overlap with benchmark corruptions
    (contrast, colour, brightness, sharpness).

    Args:
        standard: where to start from; not changed.
        images: training images and their labels.
        schedule: of the training; each image of a batch goes in three times.
        consistency: weight of the divergence.
        severity: of AugMix's operations, 1 to 10.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, other arguments out of theirs, or no progress.
    """
    check_severity(severity)

    def augment(clean: Tensor, labels: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return three_views(clean, severity, generator), labels

    def loss(model: nn.Module, batch: Tensor, targets: Tensor) -> Tensor:
        clean, first, second = model(batch).float().chunk(3)
        divergence = jensen_shannon(clean, first, second)
        return functional.cross_entropy(clean, targets) + consistency * divergence

    return train_scheme(
        "augmix",
        standard,
        images,
        schedule,
        augment,
        loss,
        consistency=consistency,
        severity=severity,
    )


def check_severity(severity: int) -> None:
    """Refuse a severity that AugMix does not know.

    Raises:
        InputError: outside 1 to 10.
    """
    if not 1 <= severity <= 10:
        raise InputError(f"severity of AugMix must lie in 1 to 10, but is {severity}")


def three_views(images: Tensor, severity: int, generator: torch.Generator) -> Tensor:
    """The images, then two versions of them by AugMix: float32 (3N, 3, H, W) in [0, 1].

    Args:
        images: float32 (N, 3, H, W), multiples of 1/255 in [0, 1].
        severity: strength of the operations, 1 to 10.
        generator: where the draws come from.
    """
    seed = int(torch.randint(2**31, (), generator=generator))
    return torch.cat([images, *(augment_and_mix(images, severity, seed + view) for view in (0, 1))])


def augment_and_mix(images: Tensor, severity: int, seed: int) -> Tensor:
    """AugMix of a batch; groups of `AUGMIX_GROUP` images share the operations that are drawn.

    Args:
        images: float32 (N, 3, H, W), multiples of 1/255 in [0, 1].
        severity: strength of the operations, 1 to 10.
        seed: of the draws.

    Returns:
        float32 (N, 3, H, W), multiples of 1/255 in [0, 1].
    """
    from torchvision.transforms.v2 import AugMix  # takes a second and a half

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
    mixture = logs.logsumexp(0) - log(len(logits))
    return (logs.exp() * (logs - mixture)).sum(-1).mean()
