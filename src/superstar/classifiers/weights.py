"""Classifiers on disk: safetensors, with the architecture and its arguments in the metadata."""

import json
from os import PathLike
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from superstar.classifiers.resnet import SmallResNet
from superstar.errors import InputError, unknown_name

FORMAT = "superstar-classifier"
ARCHITECTURES = {"small_resnet": SmallResNet}
"""Networks by the name that their files carry."""


def save_classifier(classifier: SmallResNet, path: str | PathLike[str]) -> None:
    """Write a classifier as safetensors.

    Raises:
        InputError: a network that is not one of `ARCHITECTURES`.
    """
    names = [name for name, kind in ARCHITECTURES.items() if type(classifier) is kind]
    if not names:
        raise unknown_name("architecture", type(classifier).__name__, ARCHITECTURES)
    weights = {name: value.cpu().contiguous() for name, value in classifier.state_dict().items()}
    metadata = {
        "format": FORMAT,
        "architecture": names[0],
        "arguments": json.dumps(classifier.arguments),
    }
    save_file(weights, Path(path), metadata=metadata)


def load_classifier(path: str | PathLike[str]) -> SmallResNet:
    """Read what `save_classifier` wrote: a classifier in eval mode, frozen.

    Raises:
        InputError: no such file, truncated, or not a classifier of this package.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no classifier at {path}: train one or correct the path")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{path} is damaged or not a safetensors file ({error})") from error
    if metadata.get("format") != FORMAT:
        raise InputError(f"{path} is not a classifier saved by this package")
    architecture = metadata.get("architecture")
    if architecture not in ARCHITECTURES:
        raise unknown_name(f"architecture in {path}", architecture, ARCHITECTURES)
    try:
        classifier = ARCHITECTURES[architecture](**json.loads(metadata["arguments"]))
        classifier.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        summary = str(error).splitlines()[0]
        raise InputError(f"{path} does not hold the network it announces ({summary})") from error
    return classifier.eval().requires_grad_(False)
