"""The classifiers under study."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from superstar.checkpoint import own_part
from superstar.classifiers import (
    CLASSIFIERS,
    Classifier,
    ClassifierSchedule,
    SmallResNet,
    WideResNet,
    accuracy,
    initialised,
    train_augmix,
    train_noisymix,
    train_puzzlemix,
    train_standard,
)
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import ClassifierTraining, Distance, Execution, Published, Training
from superstar.pipelines.pretrained import pretrained_classifier
from superstar.weights import on_device

STANDARD = "standard"
SCHEMES: Mapping[str, Callable[..., tuple[Classifier, list[float]]]] = {
    "augmix": train_augmix,
    "noisymix": train_noisymix,
    "puzzlemix": train_puzzlemix,
}
"""Ways to make the ordinary classifier robust, by the name of what comes out."""


def train_standard_classifier(
    train: ImageSet,
    class_names: list[str],
    architecture: dict[str, Any],
    training: dict[str, Any],
    published: dict[str, Any],
    distance: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[Classifier, pd.DataFrame]:
    """An ordinary classifier, and its loss by epoch; a published one has no losses.

    Training that was interrupted goes on from its checkpoint.
    """
    run = Execution.model_validate(execution)
    given = ClassifierTraining.model_validate(
        {"architecture": architecture, STANDARD: training, "published": published}
        | dict.fromkeys(SCHEMES)
    )
    if STANDARD in given.published:
        classifier = _published(STANDARD, given.published[STANDARD], class_names, train)
        return classifier, _curves({STANDARD: []})
    colours = Distance.model_validate(distance)
    network = initialised(lambda: _build(given, len(class_names), colours.mean, colours.std), seed)
    classifier, losses = train_standard(
        network,
        train,
        _schedule(STANDARD, given.standard, run, seed),
        **given.standard.settings,
    )
    return classifier, _curves({STANDARD: losses})


def train_robust_classifiers(
    standard: Classifier,
    train: ImageSet,
    class_names: list[str],
    parameters: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[dict[str, Classifier], pd.DataFrame]:
    """Classifiers made robust from the ordinary one, by scheme, and their losses by epoch.

    Those that were published are taken instead. Training that was interrupted goes on from its
    checkpoint, and what was finished before is not trained again.
    """
    given, run = ClassifierTraining.model_validate(parameters), Execution.model_validate(execution)
    losses: dict[str, list[float]] = {}
    # First, so that one that does not fit is told before hours of training.
    classifiers: dict[str, Classifier] = {
        name: _published(name, entry, class_names, train)
        for name, entry in given.published.items()
        if name != STANDARD
    }
    for name, scheme in given.trained.items():
        if name == STANDARD:
            continue
        classifiers[name], losses[name] = SCHEMES[name](
            standard,
            train,
            _schedule(name, scheme, run, seed),
            **scheme.settings,
        )
    ordered = [*CLASSIFIERS, *(name for name in classifiers if name not in CLASSIFIERS)]
    return {name: classifiers[name] for name in ordered if name in classifiers}, _curves(losses)


def assess_classifiers(
    standard: Classifier,
    robust: dict[str, Classifier],
    validation: ImageSet,
    execution: dict[str, Any],
) -> dict[str, float]:
    """Accuracy on clean validation images (the test images are for the evaluation alone)."""
    run = Execution.model_validate(execution)
    return {
        f"validation_accuracy.{name}": accuracy(
            on_device(classifier, run.device),
            validation.batch(),
            validation.labels,
            run.batch_size,
            run.device,
        )
        for name, classifier in {STANDARD: standard, **robust}.items()
    }


def _build(
    given: ClassifierTraining, classes: int, mean: Sequence[float], std: Sequence[float]
) -> Classifier:
    shape = given.architecture
    if shape.kind == "small_resnet":
        return SmallResNet(classes, shape.width, mean, std)
    return WideResNet(classes, shape.depth, shape.width, mean, std, shape.dropout)


def _schedule(name: str, given: Training, run: Execution, seed: int) -> ClassifierSchedule:
    return ClassifierSchedule(
        **given.schedule,
        seed=seed,
        threads=run.threads,
        device=run.device,
        checkpoint=own_part(name),
    )


def _published(
    name: str, given: Published | str, class_names: Sequence[str], images: ImageSet
) -> Classifier:
    classifier = pretrained_classifier(given, images.images.shape[1], len(class_names))
    classes = classifier.arguments["classes"]
    if classes != len(class_names):
        raise InputError(
            f"the network of {name}, {given if isinstance(given, str) else given.path}, tells "
            f"{classes} classes apart, but the images are of {len(class_names)}"
        )
    return classifier


def _curves(losses: dict[str, list[float]]) -> pd.DataFrame:
    """One row an epoch and one column a classifier; the longest training sets the length."""
    curves = pd.DataFrame({name: pd.Series(values, dtype=float) for name, values in losses.items()})
    curves.insert(0, "epoch", range(1, len(curves) + 1))
    return curves
