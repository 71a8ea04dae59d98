"""Windows of the embedded photographs, and the sets of points that distances compare."""

from dataclasses import dataclass

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.images import from_uint8, stream
from superstar.measures import Projection
from superstar.photos import PHOTO_NAMES, load_photo

ROOM = 1.3
"""Least short side of a photograph, in sides of a window: smaller ones are enlarged."""
NOISE = 0.1
MEAN, STD = (0.45,) * 3, (0.25,) * 3
DIMENSIONS = {224: 5000, 32: 100}
"""The paper's, for ImageNet and CIFAR-100."""


@dataclass(frozen=True)
class Scene:
    """What the cases of one image size work on.

    Attributes:
        clean: float32 (N, 3, size, size) in [0, 1].
        noisy: the same images with Gaussian noise.
        projection: the default projection of such images.
        reference: points of N other clean images, (N, m).
        points: points of the noisy images, (N, m).
    """

    clean: Tensor
    noisy: Tensor
    projection: Projection
    reference: Tensor
    points: Tensor

    @property
    def size(self) -> int:
        """Side of the images in pixels."""
        return self.clean.shape[-1]

    def images(self, count: int) -> tuple[Tensor]:
        """The first noisy images."""
        return (self.noisy[:count],)

    def pairs(self, count: int) -> tuple[Tensor, Tensor]:
        """Points of clean and of noisy images, twice (count, m).

        Beyond the images there are, points are drawn from the Gaussian distribution that has the
        mean and the covariance of the real ones.
        """
        if count <= len(self.points):
            return self.reference[:count], self.points[:count]
        return _cloud(self.reference, count, "reference"), _cloud(self.points, count, "points")


def make_scene(count: int, size: int) -> Scene:
    """The scene of `count` images."""
    projection = make_projection("dct", size)
    reference = projection(from_uint8(photo_windows(count, size, "reference")))
    clean = from_uint8(photo_windows(count, size, "images"))
    noisy = torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    noisy.mul_(NOISE).add_(clean).clamp_(0, 1)
    return Scene(clean, noisy, projection, reference, projection(noisy))


def make_projection(kind: str, size: int) -> Projection:
    """A projection of images of that size, to the paper's dimension or a tenth of the pixels."""
    n = size**2
    return Projection.create(kind, n=n, m=DIMENSIONS.get(size, n // 10), mean=MEAN, std=STD)


def photo_windows(count: int, size: int, key: str) -> NDArray[np.uint8]:
    """Windows at random places, photographs in turn: uint8 (count, size, size, 3)."""
    draw = stream(0, "benchmark", key, size)
    photos = [_with_room(load_photo(name), size) for name in PHOTO_NAMES]
    windows = np.empty((count, size, size, 3), dtype=np.uint8)
    for i in range(count):
        photo = photos[i % len(photos)]
        top, left = draw.integers(np.array(photo.shape[:2]) - size + 1)
        windows[i] = photo[top : top + size, left : left + size]
    return windows


def _with_room(photo: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    scale = ROOM * size / min(photo.shape[:2])
    if scale <= 1:
        return photo
    height, width = (int(np.ceil(scale * side)) for side in photo.shape[:2])
    return np.asarray(cv2.resize(photo, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


def _cloud(points: Tensor, count: int, key: str) -> Tensor:
    draw = stream(0, "benchmark", "cloud", key)
    weights = torch.from_numpy(draw.standard_normal((count, len(points)), dtype=np.float32))
    mean = points.mean(dim=0)
    return mean + weights @ (points - mean) / len(points) ** 0.5
