"""The classifiers under study."""

from typing import Any

import pandas as pd
from torch import nn

from superstar.classifiers import SmallResNet, accuracy, train_augmix, train_standard
from superstar.images import ImageSet
from superstar.parameters import ClassifierTraining, Distance, Execution


def train_standard_classifier(
    train: ImageSet,
    class_names: list[str],
    parameters: dict[str, Any],
    distance: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[nn.Module, pd.DataFrame]:
    """An ordinary classifier, and its loss by epoch."""
    given, run = ClassifierTraining.model_validate(parameters), Execution.model_validate(execution)
    colours = Distance.model_validate(distance)
    classifier, losses = train_standard(
        train,
        len(class_names),
        width=given.width,
        mean=colours.mean,
        std=colours.std,
        **given.standard.model_dump(),
        seed=seed,
        threads=run.threads,
        device=run.device,
    )
    return classifier, _curve(losses)


def train_augmix_classifier(
    standard: SmallResNet,
    train: ImageSet,
    parameters: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[nn.Module, pd.DataFrame]:
    """A classifier made robust by AugMix from the ordinary one, and its loss by epoch."""
    given, run = ClassifierTraining.model_validate(parameters), Execution.model_validate(execution)
    classifier, losses = train_augmix(
        standard,
        train,
        **given.augmix.model_dump(),
        seed=seed,
        threads=run.threads,
        device=run.device,
    )
    return classifier, _curve(losses)


def assess_classifiers(
    standard: nn.Module, augmix: nn.Module, validation: ImageSet, execution: dict[str, Any]
) -> dict[str, float]:
    """Accuracy on clean validation images (the test images are for the evaluation alone)."""
    run = Execution.model_validate(execution)
    return {
        f"validation_accuracy.{name}": accuracy(
            classifier, validation.batch(), validation.labels, run.batch_size, run.device
        )
        for name, classifier in (("standard", standard), ("augmix", augmix))
    }


def _curve(losses: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"epoch": range(1, len(losses) + 1), "loss": losses})
