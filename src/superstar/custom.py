"""What a run takes from images and a classifier of one's own (environment `custom`).

`conf/custom/parameters.yml` asks for each by its name, `${fitted:data_preparation.train}`, so that
every one stays a parameter.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from superstar.classifiers import NamedClassifier, load_named, predict
from superstar.classifiers.named import check_named, image_size
from superstar.datasets import LabelledFiles, LabelledFilesDataset
from superstar.datasets.image_files import read_class_list
from superstar.decoding import NAMED_AT_MOST, user_path
from superstar.errors import InputError
from superstar.splitting import draw_by_class
from superstar.training import supports_bfloat16

MOST = {"train": 3000, "validation": 2000, "test": 1000}
"""Images of each set, as many as the photographs' run gains from."""
BATCH, BATCHES = 250, 10
"""Images of a policy's batch, and batches of each surrogate, where there are enough."""
EPISODES = 200
"""Of the policy's training for each batch of a surrogate: the paper's 1,600 for eight."""
LEAST_TRAIN, LEAST_BATCH = 99, 25
"""Images to train on that the gate's rate of 1% takes, and images of a batch that says anything."""
SIZE, RESIZE = 224, 256
"""Pixels of photographs, for a classifier that does not say its own."""
LARGEST_CIFAR = 47
"""Side of images that are nearer to CIFAR's 32 pixels than to the 64 that take ImageNet's scale."""
LARGE = 128
"""Side of images from which on trials of corrections take minutes, so that there are fewer."""
TRIALS: dict[bool, dict[str, list[float]]] = {
    False: {
        "severities": [1, 2, 3, 4, 5],
        "pair_severities": [2, 4],
        "line_blur": [0.03, 0.045, 0.06, 0.075, 0.09, 0.12],
    },
    True: {"severities": [2, 4], "pair_severities": [4], "line_blur": [0.03, 0.06, 0.12]},
}
"""Surrogates that corrections are tried on, of small images (as in conf/base) and of large ones."""
SAMPLE = 250
"""Images that the classifier and the colours are tried on."""
ENDINGS = {".onnx": "onnx", ".pt": "torchscript", ".pth": "torchscript", ".ts": "torchscript"}

TELLING = 0.1
"""Accuracy that other colours or levels must add, to be what the classifier wants."""
SUSPICIOUS = 0.99
"""Accuracy from which on images were probably trained on."""
PER_CLASS = 10
"""Images of a class from which on it tells whether labels are exchanged."""
Cause = tuple[str, str]
"""What a classifier may want instead, and in a few words what images or labels are then."""
EXCHANGED: Cause = (
    "gives its outputs in another order than the classes (a file that names these in that order, "
    "one a line: class_list=FILE)",
    "in the right order",
)


@dataclass(frozen=True)
class Fit:
    """Parameters that fit, and what they were taken from.

    Attributes:
        values: by full name; the classifier as `classifier`.
        notes: by full name, where the value comes from and what more images would buy.
        class_names: by label.
        images: a few clean ones at the run's size, float32 (N, 3, H, W) in [0, 1].
        labels: of these, int64 (N,).
    """

    values: dict[str, Any]
    notes: dict[str, str]
    class_names: tuple[str, ...]
    images: Tensor
    labels: NDArray[np.int64]

    def table(self) -> list[str]:
        """The values, a line each."""
        wide = max(map(len, self.values))
        texts = {name: _text(value) for name, value in self.values.items()}
        return [
            f"{name:<{wide}}  {texts[name]:<23}  {self.notes.get(name, '')}".rstrip()
            for name in self.values
        ]

    @cached_property
    def classifier(self) -> NamedClassifier:
        """The classifier, for these images."""
        name, size = self.values["classifier"], self.values["data_preparation.size"]
        return load_named(name, size, len(self.class_names))

    def check_classifier(self) -> tuple[int, str]:
        """Try the classifier on clean images.

        Returns:
            What to know of it, in a line, and its level in the log.

        Raises:
            InputError: another number of classes; an accuracy near chance, or far below that with
                other colours, levels or labels, with the likely cause.
        """
        classes, told = len(self.class_names), self.classifier.arguments["classes"]
        if told < classes:
            raise InputError(
                f"{self.values['classifier']}: {told} outputs cannot tell {classes} class folders "
                "apart: remove folders or check the classifier"
            )
        if told > classes:
            there = f"are {classes} class folders" if classes > 1 else "is 1 class folder"
            raise InputError(
                f"{self.values['classifier']} tells {told} classes apart, but there {there}: name "
                "all classes in the order of its outputs, one a line, in a file, and add "
                "class_list=FILE"
            )
        images, labels = self.images, self.labels
        said = self._predict(images)
        right, chance = float((said == labels).mean()), 1 / classes
        found = f"it is right on {right:.1%} of {len(labels)} clean images"
        others = {
            cause: float((self._predict(change(images)) == labels).mean())
            for cause, change in self._causes().items()
        }
        if len(labels) >= PER_CLASS * classes:
            others[EXCHANGED] = _matched(said, labels, classes)
        cause, accuracy = max(others.items(), key=lambda other: other[1])
        if accuracy > right + max(TELLING, 4 * _deviation(right, len(labels))):
            wants, then = cause
            raise InputError(f"the classifier {wants}: {found}, and {then} on {accuracy:.1%}")
        if right <= chance + 3 * _deviation(chance, len(labels)):
            raise InputError(
                f"the classifier is near chance: {found}, where {chance:.1%} are chance. Its "
                "outputs may be in another order than the classes (class_list=FILE names them), "
                "or it wants other images than float32 (N, 3, H, W) in [0, 1], red first, not "
                f"normalised, of {images.shape[2]}x{images.shape[3]} pixels (data_preparation.size)"
            )
        if right >= SUSPICIOUS and len(labels) >= 2 * PER_CLASS:
            return (
                logging.WARNING,
                f"the classifier: {found}. If it was trained on them, what corrections are worth "
                "is not seen: take images that it has not seen",
            )
        return logging.INFO, f"the classifier: {found}"

    def _predict(self, images: Tensor) -> NDArray[np.int64]:
        size = self.values["execution.batch_size"]
        return predict(self.classifier, images.contiguous(), size).numpy()

    def _causes(self) -> dict[Cause, Callable[[Tensor], Tensor]]:
        """Images as the classifier may want them."""
        mean, std = (
            torch.tensor(self.values[f"distance.{name}"]).float().view(1, 3, 1, 1)
            for name in ("mean", "std")
        )
        return {
            ("seems to want blue before red", "with blue first"): lambda images: images.flip(1),
            ("seems to normalise twice", "normalised once"): lambda images: (
                images * std + mean
            ).clamp(0, 1),
        }


def fit(
    source: str, classifier: str | None, class_list: str | None, given: Mapping[str, Any]
) -> Fit:
    """Look at images and classifier, and find what fits.

    Args:
        source: folder with `<class>/<file>`, or with these below `train/` and `test/` (or `val/`).
        classifier: its name, as in `superstar.classifiers.named`, or a TorchScript or ONNX file.
        class_list: file with the names of all class folders in the order of the outputs; None
            takes those that are there, sorted.
        given: parameters of `data_preparation` that are set already.

    Raises:
        InputError: all that is wrong, in one line.
    """
    problems: list[str] = []
    name, published, sides = "", None, set[tuple[int, int]]()
    with _told(problems):
        name = classifier_name(classifier)
        check_named(name)
        published = image_size(name)
    with _told(problems):
        if class_list is not None:
            read_class_list(user_path(class_list))
    found: LabelledFiles | None = None
    with _told(problems):
        found = LabelledFilesDataset(folder=source, classes=class_list).load()()
        sides = _sides(found)
        if len(np.unique(found.design.labels)) == 1:
            raise InputError(f"{source} has images of one class alone: two are needed at least")
    values: dict[str, Any] = {}
    notes: dict[str, str] = {}
    if found is not None and sides:
        size, resize, notes["data_preparation.size"] = _size(sides, published, given)
        values = {"data_preparation.size": size, "data_preparation.resize": resize}
        with _told(problems):
            counted, told = _counts(found, given)
            values, notes = values | counted, notes | told
        with _told(problems):
            drawn = draw_by_class(found.design.labels, min(SAMPLE, len(found.design)), 0, "")
            sample = replace(found.design.take(drawn), resize=resize, crop=size)
            pixels = sample.batch()
    if problems or found is None:
        raise InputError("; ".join(dict.fromkeys(problems)))
    values |= {f"calibration.{name}": chosen for name, chosen in TRIALS[size >= LARGE].items()}
    if size >= LARGE:
        notes["calibration.severities"] = f"fewer than below {LARGE} pixels: a trial takes seconds"
    # A function of the user's own may do with its numbers what bfloat16 has no counterpart for.
    fast = published is not None and supports_bfloat16()
    values["evaluation.precision"] = "bfloat16" if fast else "float32"
    values |= {
        "scale": "cifar" if size <= LARGEST_CIFAR else "imagenet",
        "distance.dimensions": size * size // 10,
        "distance.mean": _by_colour(pixels.mean((0, 2, 3))),
        "distance.std": _by_colour(pixels.std((0, 2, 3))),
        "execution.batch_size": 16 if size >= LARGE else 64,
        "policy_training.reward.ssim_weight": round(size / 16, 1),
        "policy_training.memory_limit_mb": int(np.clip(400 * (size / 64) ** 2, 400, 4000)),
        "classifier": name,
    }
    notes |= {
        "scale": "severities of the benchmark whose images are of the nearest size",
        "distance.dimensions": "a tenth of the pixels",
        "distance.mean": f"of {len(sample)} images",
        "execution.batch_size": "images in a network together, for the processor's caches",
        "policy_training.reward.ssim_weight": "as distances grow with the size",
    }
    return Fit(values, notes, found.class_names, pixels, sample.labels)


def classifier_name(given: str | None) -> str:
    """A classifier's name, of what a user gives: that, or a file.

    Raises:
        InputError: nothing is given.
    """
    if given is None:
        raise InputError(
            "classifier is not given: add classifier=my_module:my_function, a TorchScript or ONNX "
            "file, an address, or the name of a published one, to --params"
        )
    kind = None if "://" in given else ENDINGS.get(Path(given).suffix.lower())
    return given if kind is None else f"{kind}:{user_path(given)}"


def _sides(found: LabelledFiles) -> set[tuple[int, int]]:
    """Widths and heights of all images; files that are not images are named in an error."""
    sides, refused = set(), []
    for files in [found.design, *([] if found.test is None else [found.test])]:
        for name in files.names:
            path = files.folder / name
            try:
                with Image.open(path) as image:
                    sides.add(image.size)
            except Exception:  # Pillow's readers raise many kinds.
                refused.append(str(path))
    if refused:
        more = len(refused) - NAMED_AT_MOST
        named = [*refused[:NAMED_AT_MOST], *([f"and {more} more"] if more > 0 else [])]
        what = f"{len(refused)} files are not images" if len(refused) > 1 else "1 file is no image"
        raise InputError(f"{what}: {', '.join(named)}")
    return sides


def _size(
    sides: set[tuple[int, int]], published: tuple[int, int] | None, given: Mapping[str, Any]
) -> tuple[int, int | None, str]:
    """Side of the run's images, that of the shorter side before the crop, and why."""
    side = min(next(iter(sides)))
    if published is not None:
        (resize, size), why = published, "the classifier's own"
    elif len(sides) == 1 and side <= SIZE:
        resize, size, why = side, side, "the images'"
    else:
        resize, size, why = RESIZE, SIZE, "usual; the classifier says none"
    if given.get("size"):
        why = "given" if published is None else f"given; the classifier's own is {size}"
        resize, size = round(given["size"] * resize / size), given["size"]
    resize = given.get("resize", None if sides == {(size, size)} else resize)
    return size, resize, why


def _counts(
    found: LabelledFiles, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Images of each set, and what follows from them."""
    there = len(found.design)
    if found.test is None:
        shares, tests = {"train": 0.4, "validation": 0.4, "test": 0.2}, there
    else:
        shares, tests = {"train": 0.5, "validation": 0.5, "test": 1.0}, len(found.test)
    whole = {"train": there, "validation": there, "test": tests}
    sets = {name: min(MOST[name], int(whole[name] * shares[name])) for name in MOST}
    sets["validation"] -= sets["validation"] % 2
    sets |= {name: value for name, value in given.items() if name in MOST and value is not None}
    design = sets["validation"] // 2
    batch = min(BATCH, design, sets["test"], sets["train"] // 4)
    if sets["train"] < LEAST_TRAIN or batch < LEAST_BATCH:
        needed = "250" if found.test is None else "200, and 25 for testing,"
        raise InputError(
            f"{found.design.folder} holds too few images: at least {needed} are needed, but "
            + ", ".join(f"{name} gets {count} of {whole[name]}" for name, count in sets.items())
        )
    batches = min(BATCHES, sets["train"] // batch)
    held_out = max(1, batches // 5)
    training = batches - held_out
    values: dict[str, Any] = {f"data_preparation.{name}": count for name, count in sets.items()}
    values |= {
        "severity_calibration.images": min(500, design),
        "surrogate_generation.policy.batch_size": batch,
        "surrogate_generation.policy.training_batches": training,
        "surrogate_generation.policy.held_out_batches": held_out,
        "policy_training.episodes": EPISODES * training,
        "evaluation.batch_size": batch,
    }
    notes = {
        f"data_preparation.{name}": f"of {whole[name]:,}; {MOST[name]:,} from "
        f"{round(MOST[name] / shares[name]):,} on"
        for name, count in sets.items()
        if count < MOST[name]
    }
    if batch < BATCH:
        enough = max(4 * BATCH / shares["train"], 2 * BATCH / shares["validation"])
        notes["surrogate_generation.policy.batch_size"] = (
            f"{BATCH} from {round(enough):,} images on: distances scatter less"
        )
    return values, notes


def _matched(said: NDArray[np.int64], labels: NDArray[np.int64], classes: int) -> float:
    """Accuracy with labels exchanged so that it is highest."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (labels, said), 1)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(labels))


def _deviation(share: float, count: int) -> float:
    return sqrt(share * (1 - share) / count)


def _by_colour(values: Tensor) -> list[float]:
    return [round(float(value), 3) for value in values]


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _told(problems: list[str]) -> Iterator[None]:
    """Note what is wrong, to tell it with the rest."""
    try:
        yield
    except InputError as error:
        problems.append(str(error))
