"""Batches of images: the check that every public function makes, and seeded streams.

The one currency of the package is a `torch.Tensor` of float32, shape (N, 3, H, W), values in
[0, 1]. Sets of images that rest on disk are 8-bit arrays of shape (N, H, W, 3).
"""

import zlib
from dataclasses import dataclass
from typing import Protocol, Self, SupportsIndex

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError
from superstar.integers import whole

SMALLEST_SIDE = 16
GRAY_WEIGHTS = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in luminance (ITU-R BT.601)."""

Indices = NDArray[np.int64] | slice | SupportsIndex
"""Which of a set's images: several, or one by an integer of any kind."""


def check_images(images: Tensor, name: str = "images") -> Tensor:
    """Refuse anything that is not a batch of images.

    Args:
        images: the batch, float32 (N, 3, H, W), values in [0, 1], H and W at least 16.
        name: what to call the batch in the message.

    Returns:
        The same tensor, unchanged.

    Raises:
        InputError: not a tensor, another dtype or shape, no image, NaN or infinite values,
            values outside [0, 1], or a side shorter than 16 pixels.
    """
    check_shape(images, name)
    check_values(images, name)
    return images


def check_shape(images: Tensor, name: str = "images") -> None:
    """The part of `check_images` that reads no values; raises the same errors."""
    if not isinstance(images, Tensor):
        raise InputError(f"{name} must be a torch.Tensor, not {type(images).__name__}")
    if images.layout != torch.strided or images.is_meta:
        raise InputError(f"{name} must be a dense tensor that holds values")
    if images.dtype != torch.float32:
        raise InputError(f"{name} must be float32 with values in [0, 1], not {images.dtype}")
    if images.ndim != 4 or images.shape[1] != 3:
        raise InputError(f"{name} must have shape (N, 3, H, W), not {tuple(images.shape)}")
    if images.shape[0] == 0:
        raise InputError(f"{name} is empty: at least one image is needed")
    if min(images.shape[2:]) < SMALLEST_SIDE:
        raise InputError(
            f"{name} must be at least {SMALLEST_SIDE}x{SMALLEST_SIDE} pixels, "
            f"not {images.shape[2]}x{images.shape[3]}"
        )


def check_values(images: Tensor, name: str = "images") -> None:
    """The rest of `check_images`; raises the same errors."""
    low, high = (bound.item() for bound in torch.aminmax(images.detach()))
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = (~torch.isfinite(images)).flatten(1).any(1).nonzero().flatten().tolist()
        raise InputError(f"{name} holds NaN or infinite values, first in image {bad[0]}")
    if low < 0 or high > 1:
        raise InputError(f"{name} must lie in [0, 1], but runs from {low:.7g} to {high:.7g}")


def from_uint8(array: NDArray[np.uint8]) -> Tensor:
    """8-bit images (N, H, W, 3) as a batch: float32 (N, 3, H, W) in [0, 1], contiguous.

    Raises:
        InputError: another dtype or shape.
    """
    if array.dtype != np.uint8 or array.ndim != 4 or array.shape[3] != 3:
        raise InputError(
            f"8-bit images must be uint8 of shape (N, H, W, 3), not {array.dtype} {array.shape}"
        )
    channels_first = np.ascontiguousarray(array.transpose(0, 3, 1, 2))
    return torch.from_numpy(channels_first).to(torch.float32).div_(255.0)


def to_uint8(images: Tensor) -> NDArray[np.uint8]:
    """A batch as 8-bit images (N, H, W, 3), rounded to the nearest level."""
    rounded = images.detach().mul(255.0).round_().clamp_(0, 255).to(torch.uint8)
    return np.ascontiguousarray(rounded.permute(0, 2, 3, 1).cpu().numpy())


def places(indices: Indices) -> NDArray[np.int64] | slice:
    """Indices as NumPy takes them; a single one as an array of one, so that a set stays a set."""
    return indices if isinstance(indices, slice) else np.atleast_1d(np.asarray(indices))


class Images(Protocol):
    """Labelled images, in memory or in files, of which one batch at a time is asked for."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """int64 (N,)."""
        ...

    def __len__(self) -> int:
        """N."""
        ...

    def take(self, indices: Indices) -> Self:
        """The images at `indices`, in that order."""
        ...

    def batch(self, indices: Indices = slice(None)) -> Tensor:
        """The images at `indices` as float32 (N, 3, H, W) in [0, 1]."""
        ...


@dataclass(frozen=True)
class ImageSet:
    """Labelled 8-bit images.

    Attributes:
        images: uint8 (N, H, W, 3); may be memory-mapped.
        labels: int64 (N,).
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise InputError(f"{len(self.images)} images but {len(self.labels)} labels")
        if len(self.images) == 0:
            raise InputError("an image set needs at least one image")

    def __repr__(self) -> str:
        _, height, width, _ = self.images.shape
        return f"ImageSet({len(self)} images of {height}x{width})"

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Indices) -> "ImageSet":
        """The images at `indices`, in that order."""
        chosen = places(indices)
        return ImageSet(self.images[chosen], self.labels[chosen])

    def batch(self, indices: Indices = slice(None)) -> Tensor:
        """The images at `indices` as float32 (N, 3, H, W) in [0, 1]."""
        return from_uint8(np.asarray(self.images[places(indices)]))


def stream(seed: int, *keys: str | int) -> np.random.Generator:
    """A random stream of its own for (seed, keys): equal arguments give equal numbers.

    Streams of different keys are independent, so a part of a set can be made alone and comes
    out as it does within the whole.

    Raises:
        InputError: a seed that is not a whole number of at least 0.
    """
    seed = check_seed(seed)
    words = [zlib.crc32(key.encode()) if isinstance(key, str) else int(key) for key in keys]
    # The number of keys comes first, since trailing zeros do not count in a seed sequence.
    return np.random.default_rng([len(words), seed, *words])


def check_seed(seed: int) -> int:
    """The seed as an `int`.

    Raises:
        InputError: it is not a whole number of at least 0.
    """
    return whole(seed, "a seed")
