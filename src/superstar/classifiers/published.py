"""Published classifiers, from the checkpoints that their authors hand out.

A layout says how a code base builds its networks and names their tensors. What a network computes
here is what it computes there: the blocks differ between code bases, and so does the normalisation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from superstar.classifiers.classifier import Classifier
from superstar.classifiers.resnet50 import IMAGENET_MEAN, IMAGENET_STD, ResNet50
from superstar.classifiers.wide_resnet import WideResNet
from superstar.errors import InputError, check_name
from superstar.published import read_weights

SHOWN_NAMES = 3
"""Tensors that an error names; it counts the others."""


@dataclass(frozen=True)
class Layout:
    """How a code base builds a classifier and stores it.

    Attributes:
        build: makes the network from its arguments.
        infer: the arguments that the shapes of a file's tensors tell; empty if they tell nothing.
        rename: from the name of one of the network's tensors to that in the file.
        mean: of each colour channel, taken off images in [0, 1].
        std: of each colour channel, by which they are then divided.
        harmless: what the code base's files mention beside tensors, as for `read_weights`.
        aliases: parts of names in the file that go by other names too, the usual name second.
    """

    build: Callable[..., Classifier]
    infer: Callable[[Mapping[str, Tensor]], dict[str, int]]
    rename: Callable[[str], str]
    mean: Sequence[float]
    std: Sequence[float]
    harmless: Sequence[str] = ()
    aliases: Sequence[tuple[str, str]] = ()


def load_published(path: str | PathLike[str], layout: str, **architecture: int) -> Classifier:
    """Read a published checkpoint: a classifier in eval mode, frozen.

    Depth, width and number of classes are those of the file's tensors. The normalisation is the
    layout's, unless the file has its own (`mu` and `sigma`, as in RobustBench's networks).

    Args:
        path: a file of torch.save or safetensors: a state dict, bare or in a dict with other
            things, with or without the `module.` of DataParallel.
        layout: whose code wrote it, one of `LAYOUTS`.
        architecture: what the file must hold, such as depth=28, width=10, classes=100.

    Raises:
        InputError: an unknown layout; a file that cannot be read, or that does not hold a network
            of that layout and architecture, complete and finite.
    """
    check_name("layout", layout, LAYOUTS)
    chosen = LAYOUTS[layout]
    weights = read_weights(path, chosen.harmless)
    mean, std = _pop_normalisation(weights, chosen)
    weights = _usual_names(weights, chosen)
    arguments = chosen.infer(weights)
    complaints = _complaints(weights, chosen, arguments)
    if complaints:
        raise InputError(
            f"{path} does not fit the layout {layout}: {'; '.join(complaints)}: "
            f"{_advice(weights, layout)}"
        )
    for name, wanted in architecture.items():
        check_name("part of an architecture", name, arguments)
        if wanted != arguments[name]:
            raise InputError(
                f"{path} holds a network with {name} {arguments[name]}, not {wanted}: "
                "correct the path or the configuration"
            )
    # Initialisation would draw from PyTorch's global state, and all of it is overwritten.
    with torch.device("meta"):
        network = chosen.build(**arguments, mean=mean, std=std)
    own = {name: weights[chosen.rename(name)] for name in _tensor_names(network)}
    own["mean"], own["std"] = (torch.tensor(values).view(1, 3, 1, 1) for values in (mean, std))
    counters = {name: torch.tensor(0) for name in network.state_dict() if name not in own}
    network.to_empty(device="cpu").load_state_dict(own | counters)
    return network.eval().requires_grad_(False)


def _pop_normalisation(
    weights: dict[str, Tensor], layout: Layout
) -> tuple[Sequence[float], Sequence[float]]:
    """Mean and standard deviation, out of the weights if they are there and make sense."""
    mean, std = (weights.get(name, torch.empty(0)).flatten().tolist() for name in ("mu", "sigma"))
    if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
        return layout.mean, layout.std
    del weights["mu"], weights["sigma"]
    return mean, std


def _usual_names(weights: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
    """Weights by their usual names, without the counters of batches.

    Old files lack the counters, and nothing that is evaluated uses them.
    """
    named = {}
    for name, tensor in weights.items():
        for alias, usual in layout.aliases:
            name = name.replace(alias, usual)
        if not name.endswith("num_batches_tracked"):
            named[name] = tensor
    return named


def _tensor_names(network: Classifier) -> list[str]:
    """Names of the network's tensors that a file must hold."""
    return [
        name
        for name in network.state_dict()
        if name not in ("mean", "std") and not name.endswith("num_batches_tracked")
    ]


def _complaints(
    weights: Mapping[str, Tensor], layout: Layout, arguments: Mapping[str, int]
) -> list[str]:
    """In what the weights differ from those of the network that they seem to be."""
    if not arguments:
        return [f"it holds {_some(list(weights))}"]
    with torch.device("meta"):
        network = layout.build(**arguments, mean=layout.mean, std=layout.std)
    state = network.state_dict()
    shapes = {layout.rename(name): state[name].shape for name in _tensor_names(network)}
    differences = {
        "missing": [name for name in shapes if name not in weights],
        "unexpected": [name for name in weights if name not in shapes],
        "of another shape": [
            f"{name} {tuple(weights[name].shape)} instead of {tuple(shape)}"
            for name, shape in shapes.items()
            if name in weights and weights[name].shape != shape
        ],
    }
    return [f"{kind}: {_some(names)}" for kind, names in differences.items() if names]


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _advice(weights: Mapping[str, Tensor], layout: str) -> str:
    fitting = []
    for name, other in LAYOUTS.items():
        named = _usual_names(weights, other)
        if not _complaints(named, other, other.infer(named)):
            fitting.append(name)
    if fitting:
        return f"try the layout {' or '.join(fitting)}"
    return f"take a network that the code of {layout} built, or correct the layout"


def _wide_resnet(
    block: str,
    stage: str,
    shortcut: str,
    head: str,
    mean: Sequence[float],
    std: Sequence[float],
    **others: Any,
) -> Layout:
    """A layout of wide residual networks.

    Args:
        block: one of `BLOCK_STYLES`.
        stage: prefix of the tensors of a stage's blocks, with {} for the stage, 1 to 3.
        shortcut: name of a block's shortcut.
        head: name of the linear layer.
        mean: as in `Layout`.
        std: as in `Layout`.
        others: of `Layout`.
    """
    outside = {"stem": "conv1", "norm": "bn1", "head": head}
    inside = {
        "norm1": "bn1",
        "conv1": "conv1",
        "norm2": "bn2",
        "conv2": "conv2",
        "shortcut": shortcut,
    }

    def rename(name: str) -> str:
        layer, *rest = name.split(".")
        if layer != "stages":
            return ".".join([outside[layer], *rest])
        number, index, layer, *rest = rest
        return ".".join([stage.format(int(number) + 1), index, inside[layer], *rest])

    def infer(weights: Mapping[str, Tensor]) -> dict[str, int]:
        blocks = re.compile(re.escape(stage.format(1)) + r"\.(\d+)\.")
        indices = {match[1] for name in weights if (match := blocks.match(name))}
        linear = weights.get(f"{head}.weight", torch.empty(0))
        if not indices or linear.ndim != 2 or linear.shape[0] < 2 or linear.shape[1] < 64:
            return {}
        classes, features = linear.shape
        return {"classes": classes, "depth": 6 * len(indices) + 4, "width": features // 64}

    return Layout(partial(WideResNet, block=block), infer, rename, mean, std, **others)


def _resnet50(harmless: Sequence[str]) -> Layout:
    """A layout of ResNet-50, under torchvision's names and with ImageNet's normalisation.

    The code bases build the network anew, but what it computes at 224×224 is the same.
    """

    def infer(weights: Mapping[str, Tensor]) -> dict[str, int]:
        linear, inner = (
            weights.get(f"{name}.weight", torch.empty(0)) for name in ("fc", "layer1.0.conv1")
        )
        if linear.ndim != 2 or len(linear) < 2 or inner.ndim != 4 or not len(inner):
            return {}
        if not any(name.startswith("layer4.") for name in weights):
            return {}
        return {"classes": len(linear), "width": len(inner)}

    return Layout(
        ResNet50,
        infer,
        lambda name: name.removeprefix("network."),
        IMAGENET_MEAN,
        IMAGENET_STD,
        harmless,
    )


NUMPY_SCALARS = ("numpy.dtype", "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
"""Learning rates that NumPy computed, in the state of an optimiser."""

LAYOUTS = {
    # yoshitomo-matsubara/torchdistill: models/classification/wide_resnet.py; the normalisation is
    # that of configs/sample/cifar100, which made the released WRN-28-10.
    "torchdistill": _wide_resnet(
        "raw_shortcut",
        "layer{}",
        "shortcut.0",
        "fc",
        mean=(0.5070754, 0.48655024, 0.44091907),
        std=(0.26733398, 0.25643876, 0.2761503),
    ),
    # google-research/augmix: third_party/WideResNet_pytorch, cifar.py; the same network is
    # RobustBench's Hendrycks2020AugMix_WRN, under the older name of the shortcut.
    "augmix": _wide_resnet(
        "original",
        "block{}.layer",
        "convShortcut",
        "fc",
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        aliases=[("conv_shortcut", "convShortcut")],
    ),
    # erichson/NoisyMix: src/cifar_models/wide_resnet.py, cifar.py, which saves whole networks.
    "noisymix": _wide_resnet(
        "late_stride",
        "layer{}",
        "shortcut.0",
        "linear",
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        harmless=[
            "src.cifar_models.wide_resnet.Wide_ResNet",
            "src.cifar_models.wide_resnet.wide_basic",
            "torch.nn.modules.batchnorm.BatchNorm2d",
            "torch.nn.modules.container.Sequential",
            "torch.nn.modules.conv.Conv2d",
            "torch.nn.modules.dropout.Dropout",
            "torch.nn.modules.linear.Linear",
            "torch.nn.parallel.data_parallel.DataParallel",
        ],
    ),
    # snu-mllab/PuzzleMix: models/wide_resnet.py, load_data.py; main.py puts a recorder of losses
    # beside the weights.
    "puzzlemix": _wide_resnet(
        "late_stride",
        "layer{}",
        "shortcut.0",
        "linear",
        mean=(129.3 / 255, 124.1 / 255, 112.4 / 255),
        std=(68.2 / 255, 65.4 / 255, 70.4 / 255),
        harmless=[
            "logger.RecorderMeter",
            "utils.RecorderMeter",
            "numpy.dtype",
            "numpy.ndarray",
            "numpy.core.multiarray._reconstruct",
            "numpy._core.multiarray._reconstruct",
        ],
    ),
    # torchvision's own; google-research/augmix: imagenet.py and hendrycks/imagenet-r: DeepAugment
    # train it and put `module.` before its names.
    "torchvision_resnet50": _resnet50(NUMPY_SCALARS),
    # erichson/NoisyMix: src/imagenet_models/resnet.py; imagenet.py saves whole networks, but a
    # bare state dict was handed out.
    "noisymix_resnet50": _resnet50(
        [
            "src.imagenet_models.resnet.Bottleneck",
            "src.imagenet_models.resnet.ResNet",
            "src.imagenet_models.resnet.SequentialWithArgs",
            "torch.nn.modules.activation.ReLU",
            "torch.nn.modules.batchnorm.BatchNorm2d",
            "torch.nn.modules.container.Sequential",
            "torch.nn.modules.conv.Conv2d",
            "torch.nn.modules.linear.Linear",
            "torch.nn.modules.pooling.AdaptiveAvgPool2d",
            "torch.nn.modules.pooling.MaxPool2d",
            "torch.nn.parallel.data_parallel.DataParallel",
        ]
    ),
    # snu-mllab/PuzzleMix: imagenet/models/imagenet_resnet.py, cutmix/train.py.
    "puzzlemix_resnet50": _resnet50(NUMPY_SCALARS),
}
"""Code bases whose checkpoints can be read, by the name that `load_published` takes."""
