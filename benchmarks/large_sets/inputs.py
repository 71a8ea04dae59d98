"""The shifted set in files, and a supervisor whose work is the same whatever the images are."""

from dataclasses import replace
from functools import cache
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from sklearn.tree import DecisionTreeClassifier

from superstar.actions import ACTIONS, DnCNN
from superstar.control import Supervisor
from superstar.control.networks import Actor
from superstar.control.protocol import Cell
from superstar.corruptions.sets import shift_files
from superstar.datasets import ImageFiles
from superstar.datasets.image_folders import list_classes, list_images, output_names, write_images
from superstar.measures import Projection
from superstar.parameters import Distance
from superstar.training import global_seed

CONFIGURATION = Path(__file__).parents[2] / "conf"
ENVIRONMENT = "imagenet"
CELL = Cell("gaussian_noise", 3)
ACTION = "dncnn"
POINTS = 100
"""Validation images."""
CERTAIN = 1000.0
"""A logit beside which those of 0 have no chance."""


@cache
def section(name: str) -> dict[str, Any]:
    """Parameters of the environment imagenet."""
    base = CONFIGURATION / "base"
    own = base / f"parameters_{name}.yml"
    shared = own if own.is_file() else base / "parameters.yml"
    given = yaml.safe_load((CONFIGURATION / ENVIRONMENT / "parameters.yml").read_text())
    return dict(yaml.safe_load(shared.read_text())[name]) | given.get(name, {})


def clean_images(folder: Path, pixels: int) -> ImageFiles:
    """The images of a folder of class folders, cut as in a run, to squares of so many pixels.

    Raises:
        InputError: what `list_images` refuses.
    """
    given = section("data_preparation")
    resize = round(pixels * given["resize"] / given["size"])
    return replace(list_images(folder, list_classes(folder)), resize=resize, crop=pixels)


def write_shifted(clean: ImageFiles, folder: Path) -> None:
    """Write the images under the cell's shift as JPEG files into a new folder."""
    names = output_names(clean.names, "jpeg")
    batch_size = section("benchmark_generation")["batch_size"]
    shifted = shift_files(clean.read, CELL.shift, CELL.severity, names, "imagenet", 0, batch_size)
    write_images(folder, shifted)


def repeated(folder: Path, size: int) -> ImageFiles:
    """A set of `size` images: the folder's own, again and again.

    It is listed anew each time, so that names take the memory and the time that those of a set
    without repetition do.
    """
    wnids = list_classes(folder)
    lists = [list_images(folder, wnids)]
    lists += [list_images(folder, wnids) for _ in range(ceil(size / len(lists[0])) - 1)]
    names = tuple(chain.from_iterable(files.names for files in lists))[:size]
    labels = np.concatenate([files.labels for files in lists])[:size]
    return replace(lists[0], names=names, labels=labels)


def make_supervisor(clean: ImageFiles) -> Supervisor:
    """One that wants `dncnn` once, whatever it sees, with an untrained denoiser of a run's shape.

    Whether that joins the sequence or not, a cell scores the images as they are and after it.
    """
    count = min(POINTS, len(clean))
    images = clean.batch(np.arange(count) * len(clean) // count)
    height, width = images.shape[2:]
    given = Distance.model_validate(section("distance"))
    projection = Projection.create(
        given.projection,
        n=height * width,
        m=min(given.dimensions, height * width // 10),
        seed=0,
        mean=given.mean,
        std=given.std,
    )
    shape = {key: section("denoiser_training")[key] for key in ("depth", "width", "unshuffle")}
    with global_seed(0):
        denoiser = DnCNN(**shape, enlarge=section("denoiser_training")["enlarge"]).fuse()
    return Supervisor(
        actor=_constant(ACTIONS.index(ACTION)),
        # No feature is negative.
        tree=DecisionTreeClassifier(random_state=0).fit([[-1.0] * 3, [0.0] * 3], [0, 1]),
        denoiser=denoiser,
        validation_points=projection(images),
        projection=projection,
        alpha=section("policy_training")["alpha"],
        beta=section("policy_training")["beta"],
        horizon=1,
        actions=ACTIONS,
        image_size=(height, width),
        benchmark=ENVIRONMENT,
    )


def _constant(action: int) -> Actor:
    actor = Actor(len(ACTIONS)).requires_grad_(False).eval()
    actor.linear3.weight.zero_()
    actor.linear3.bias.copy_(torch.zeros(len(ACTIONS)))
    actor.linear3.bias[action] = CERTAIN
    return actor
