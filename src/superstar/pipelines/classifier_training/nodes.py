"""The classifiers under study."""

from typing import Any

import pandas as pd
from torch import nn

from superstar.classifiers import SmallResNet, accuracy, train_augmix, train_standard
from superstar.images import ImageSet
from superstar.parameters import ClassifierTraining, Distance, Execution

SCHEMES = {"augmix": train_augmix}
"""Ways to make the ordinary classifier robust, by the name of what comes out."""


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
    return classifier, _curves({"standard": losses})


def train_robust_classifiers(
    standard: SmallResNet,
    train: ImageSet,
    parameters: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[dict[str, nn.Module], pd.DataFrame]:
    """Classifiers made robust from the ordinary one, by scheme, and their losses by epoch."""
    given, run = ClassifierTraining.model_validate(parameters), Execution.model_validate(execution)
    classifiers: dict[str, nn.Module] = {}
    losses: dict[str, list[float]] = {}
    for name, train_scheme in SCHEMES.items():
        classifiers[name], losses[name] = train_scheme(
            standard,
            train,
            **getattr(given, name).model_dump(),
            seed=seed,
            threads=run.threads,
            device=run.device,
        )
    return classifiers, _curves(losses)


def assess_classifiers(
    standard: nn.Module,
    robust: dict[str, nn.Module],
    validation: ImageSet,
    execution: dict[str, Any],
) -> dict[str, float]:
    """Accuracy on clean validation images (the test images are for the evaluation alone)."""
    run = Execution.model_validate(execution)
    return {
        f"validation_accuracy.{name}": accuracy(
            classifier, validation.batch(), validation.labels, run.batch_size, run.device
        )
        for name, classifier in {"standard": standard, **robust}.items()
    }


def _curves(losses: dict[str, list[float]]) -> pd.DataFrame:
    """One row an epoch and one column a classifier; the longest training sets the length."""
    curves = pd.DataFrame({name: pd.Series(values) for name, values in losses.items()})
    curves.insert(0, "epoch", range(1, len(curves) + 1))
    return curves
