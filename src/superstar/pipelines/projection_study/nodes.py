"""Empirical distances between clean and perturbed images, projected and not."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from superstar.corruptions.blur import gaussian_blur
from superstar.corruptions.noise import gaussian_noise, impulse_noise
from superstar.errors import InputError
from superstar.images import GRAY_WEIGHTS, ImageSet, stream
from superstar.measures import Projection, points_distance
from superstar.parameters import ProjectionStudy
from superstar.photos import photo_patches
from superstar.pipelines.projection_study import figures, report, summary

logger = logging.getLogger(__name__)

PIXELS = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
"""Distances are in levels of gray, black to white being 1."""


def prepare_images(
    mnist: Callable[[], ImageSet], parameters: dict[str, Any], seed: int
) -> ImageSet:
    """The images that every trial draws from: gray, in three equal channels.

    Photographs come as native patches of the size asked for. Patches of 64 pixels reduced by area
    have as good statistics (both spectra fall with the power 2.8 of the frequency), but so many of
    them overlap, and two samples are to be disjoint.
    """
    given = ProjectionStudy.model_validate(parameters)
    if given.source == "photos":
        counts = {"train": given.images}
        images = photo_patches(size=given.size, counts=counts, seed=seed)["train"]
    else:
        images = mnist()
        if len(images) < given.images:
            raise InputError(
                f"projection_study.images = {given.images}: MNIST has {len(images)} here"
            )
        draw = stream(seed, "projection_study", "images")
        images = images.take(draw.choice(len(images), given.images, replace=False))
    gray = np.rint(images.images @ np.array(GRAY_WEIGHTS)).astype(np.uint8)
    side = (given.size, given.size)
    resized = np.stack([cv2.resize(image, side, interpolation=cv2.INTER_AREA) for image in gray])
    return ImageSet(np.repeat(resized[..., None], 3, axis=3), images.labels)


def measure_distances(images: ImageSet, parameters: dict[str, Any], seed: int) -> pd.DataFrame:
    """One row a perturbation, strength, projection, sample size and trial.

    Every trial draws clean images, other images to perturb, the noise and the projections' seed
    anew. Within a trial all projections and strengths see the same draws, and smaller samples are
    the first images of the larger ones.
    """
    given = ProjectionStudy.model_validate(parameters)
    gray = images.batch()[:, :1]
    rows = []
    for trial in range(given.trials):
        rows += _trial(gray, given, seed, trial)
        logger.info("trial %d of %d done", trial + 1, given.trials)
    table = pd.DataFrame(rows)
    keys = ["perturbation", "strength", "sample_size", "trial"]
    full = table.loc[table["projection"] == "none", [*keys, "distance"]]
    return table.merge(full.rename(columns={"distance": "unprojected"}), on=keys)


def _trial(gray: Tensor, given: ProjectionStudy, seed: int, trial: int) -> list[dict[str, Any]]:
    size = given.sample_sizes[-1]
    drawn = stream(seed, "projection_study", "samples", trial).permutation(len(gray))
    clean, others = gray[drawn[:size]], gray[drawn[size : 2 * size]]
    draw = stream(seed, "projection_study", "projections", trial)
    maps = projections(given.size**2, given.dimensions, int(draw.integers(2**31)))
    references = {name: project(clean) for name, project in maps.items()}

    def distances(perturbed: Tensor) -> list[dict[str, Any]]:
        rows = []
        for name, project in maps.items():
            points = project(perturbed)
            for count in given.sample_sizes:
                distance = points_distance(references[name][:count], points[:count])
                rows.append({"projection": name, "sample_size": count, "distance": distance})
        return rows

    floor = distances(others)
    rows = []
    for name, strengths in given.strengths:
        noise = stream(seed, "projection_study", name, trial).integers(2**31)
        for strength in strengths:
            measured = distances(perturb(others, name, strength, int(noise))) if strength else floor
            cell = {"perturbation": name, "strength": float(strength), "trial": trial}
            rows += [{**cell, **row} for row in measured]
    return rows


def projections(n: int, m: int, seed: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """From gray images (N, 1, H, W) to points: (N, n) unprojected, (N, m) by every projection."""

    def by(kind: str) -> Callable[[Tensor], Tensor]:
        projection = Projection.create(kind, n=n, m=m, seed=seed, **PIXELS)
        return lambda gray: projection(gray.expand(-1, 3, -1, -1))

    return {"none": lambda gray: gray.flatten(1)} | {k: by(k) for k in summary.PROJECTIONS}


def perturb(gray: Tensor, name: str, strength: float, seed: int) -> Tensor:
    """Gray images (N, 1, H, W) in [0, 1], perturbed and clipped to [0, 1].

    A stronger perturbation of the same seed is the same noise, stronger or in more pixels.
    """
    images: NDArray[np.float32] = gray.numpy()
    one_after_another: Sequence[np.random.Generator] = [np.random.default_rng(seed)] * len(gray)
    if name == "gaussian_noise":
        perturbed = gaussian_noise(images, one_after_another, strength)
    elif name == "impulse_noise":
        perturbed = impulse_noise(images, one_after_another, strength)
    else:
        perturbed = gaussian_blur(images, strength)
    return torch.from_numpy(perturbed).clamp_(0, 1)


def summarise(distances: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float | None]]:
    """One row a perturbation and projection, and the same as metrics."""
    table = summary.summarise(distances)
    return table, summary.metrics(table)


def draw_distances(distances: pd.DataFrame) -> Figure:
    """The figures of appendix C in one."""
    return figures.distances_figure(distances)


def write_report(table: pd.DataFrame, distances: pd.DataFrame, parameters: dict[str, Any]) -> str:
    """What was measured and what to read from it, as a Markdown page."""
    return report.compose(table, distances, ProjectionStudy.model_validate(parameters))
