"""Classifiers on disk: safetensors, with the architecture and its arguments in the header."""

from collections.abc import Callable
from os import PathLike
from typing import Any

from superstar.classifiers.classifier import Classifier
from superstar.classifiers.named import NamedClassifier
from superstar.classifiers.resnet import SmallResNet
from superstar.classifiers.resnet50 import ResNet50
from superstar.classifiers.wide_resnet import WideResNet
from superstar.errors import check_name, unknown_name
from superstar.weights import load_weights, save_weights

KIND = "classifier"
ARCHITECTURES: dict[str, Callable[..., Classifier]] = {
    "named": NamedClassifier,
    "resnet50": ResNet50,
    "small_resnet": SmallResNet,
    "wide_resnet": WideResNet,
}
"""Networks by the name that their files carry."""


def save_classifier(classifier: Classifier, path: str | PathLike[str]) -> None:
    """Write a classifier as safetensors.

    Raises:
        InputError: a network that is not one of `ARCHITECTURES`.
    """
    names = [name for name, kind in ARCHITECTURES.items() if type(classifier) is kind]
    if not names:
        raise unknown_name("architecture", type(classifier).__name__, ARCHITECTURES)
    spec = {"architecture": names[0], "arguments": classifier.arguments}
    save_weights(classifier, path, KIND, spec)


def load_classifier(path: str | PathLike[str]) -> Classifier:
    """Read what `save_classifier` wrote: a classifier in eval mode, frozen.

    Raises:
        InputError: no such file, truncated, or not a classifier of this package.
    """
    return load_weights(path, KIND, _build)[0]


def _build(spec: dict[str, Any]) -> Classifier:
    check_name("architecture", spec["architecture"], ARCHITECTURES)
    return ARCHITECTURES[spec["architecture"]](**spec["arguments"])
