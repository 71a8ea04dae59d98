"""Orthonormal projections of images to points of a lower dimension (paper, section 6).

A distance between projected sets is never above that between the sets (Lemma 1) and needs fewer
samples. Images are normalised, turned gray, flattened and then projected.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.fft
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from superstar.errors import InputError, check_name
from superstar.images import GRAY_WEIGHTS, check_images, stream
from superstar.integers import whole


@dataclass(frozen=True)
class Projection(ABC):
    """A projection of images to points; make one with `Projection.create`.

    Equal specifications give equal projections.

    Attributes:
        n: pixels of an image, H·W.
        m: dimension of the points, at most n.
        seed: what the random part of the projection draws from.
        mean: of red, green and blue; taken off before the gray image is made.
        std: standard deviation of red, green and blue; divided by.
    """

    n: int
    m: int
    seed: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    kind: ClassVar[str]
    chunk_values: ClassVar[int] = 2**21
    """Pixels that are projected together, which bounds the memory."""
    _kinds: ClassVar[dict[str, type["Projection"]]] = {}

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:  # what several kinds share has none of its own
            cls.kind = kind
            Projection._kinds[kind] = cls

    def __post_init__(self) -> None:
        for name in ("n", "m", "seed"):
            number = whole(getattr(self, name), f"{name} of a projection")
            object.__setattr__(self, name, number)
        if not 1 <= self.m <= self.n:
            raise InputError(
                f"a projection of {self.n} pixels takes between 1 and {self.n} dimensions, "
                f"not m={self.m}"
            )
        if len(self.mean) != 3 or len(self.std) != 3:
            raise InputError("mean and std take three values each: red, green, blue")
        if not (np.isfinite([*self.mean, *self.std]).all() and min(self.std) > 0):
            raise InputError(
                f"mean and std must be finite and std above 0, not {self.mean} and {self.std}"
            )

    @staticmethod
    def create(
        kind: str, *, n: int, m: int, seed: int = 0, mean: Sequence[float], std: Sequence[float]
    ) -> "Projection":
        """The projection of that kind.

        Args:
            kind: "dct", "uniform_qr", "haar", "gaussian" or "sparse".
            n: pixels of an image, H·W.
            m: dimension of the points, at most n.
            seed: what the random part of the projection draws from.
            mean: of red, green and blue on the clean images, which lie in [0, 1].
            std: standard deviation of red, green and blue on the clean images.

        Raises:
            InputError: unknown kind, m outside [1, n], or unusable mean or std.
        """
        check_name("projection", kind, Projection._kinds)
        return Projection._kinds[kind](
            n=n,
            m=m,
            seed=seed,
            mean=tuple(float(value) for value in mean),
            std=tuple(float(value) for value in std),
        )

    def to_dict(self) -> dict[str, Any]:
        """The specification, fit for JSON: kind, n, m, seed, mean, std."""
        fields = asdict(self)
        return {"kind": self.kind, **fields, "mean": list(self.mean), "std": list(self.std)}

    @staticmethod
    def from_dict(specification: Mapping[str, Any]) -> "Projection":
        """The projection that `to_dict` described.

        Raises:
            InputError: a missing, superfluous or unusable entry.
        """
        try:
            return Projection.create(**specification)
        except TypeError as error:
            raise InputError(f"not the specification of a projection: {error}") from error

    def __call__(self, images: Tensor) -> Tensor:
        """Project a batch.

        Args:
            images: float32 (N, 3, H, W) in [0, 1] with H·W = n.

        Returns:
            float32 (N, m), on the CPU.

        Raises:
            InputError: not a batch of images, or images of another size.
        """
        check_images(images)
        height, width = images.shape[2:]
        if height * width != self.n:
            raise InputError(
                f"the projection was made for images of {self.n} pixels, but these have "
                f"{height}x{width} = {height * width}"
            )
        scale = np.array(GRAY_WEIGHTS) / self.std
        offset = float(scale @ self.mean)
        points = torch.empty(len(images), self.m)
        step = max(1, self.chunk_values // self.n)
        for start in range(0, len(images), step):
            part = images[start : start + step].detach().cpu().flatten(2).contiguous().numpy()
            gray = gray_in_order(part, scale, offset, self._order)
            points[start : start + step] = torch.from_numpy(self._project(gray))
        return points

    @cached_property
    def _order(self) -> NDArray[np.uint32]:
        """The order in which `_project` wants the pixels."""
        return np.arange(self.n, dtype=np.uint32)

    @abstractmethod
    def _project(self, gray: NDArray[np.float32]) -> NDArray[np.float32]:
        """Project flattened gray images (N, n), pixels in `_order`, to points (N, m)."""


@njit(cache=True, parallel=True)
def gray_in_order(
    pixels: NDArray[np.float32],
    scale: NDArray[np.float64],
    offset: float,
    order: NDArray[np.uint32],
) -> NDArray[np.float32]:
    """`scale` · RGB − `offset` of flattened images (N, 3, n), pixels taken in `order`: (N, n)."""
    count, _, size = pixels.shape
    gray = np.empty((count, size), dtype=np.float32)
    weight_red, weight_green, weight_blue = (
        np.float32(scale[0]),
        np.float32(scale[1]),
        np.float32(scale[2]),
    )
    shift = np.float32(offset)
    for n in prange(count):
        red, green, blue = pixels[n, 0], pixels[n, 1], pixels[n, 2]
        # First in the order of memory, then each pixel to its place.
        plain = np.empty(size, dtype=np.float32)
        for i in range(size):
            plain[i] = weight_red * red[i] + weight_green * green[i] + weight_blue * blue[i] - shift
        ordered = gray[n]
        for i in range(size):
            ordered[i] = plain[order[i]]
    return gray


class DctProjection(Projection, kind="dct"):
    """m rows of a discrete cosine transform over pixels in random order.

    The rows are exactly orthonormal and no matrix is stored. One row is the constant, so a change
    of mean brightness passes whole, as it does through the orthogonalised uniform matrix of the
    authors, while everything else shrinks by √(m/n).

    The transform comes from a real Fourier transform of the samples in the order 0, 2, 4, ...,
    5, 3, 1 (J. Makhoul, IEEE TASSP 1980), which joins the random order, and only the coefficients
    that are kept get their factors.
    """

    @cached_property
    def _order(self) -> NDArray[np.uint32]:
        pixels = stream(self.seed, "projection", "dct", "pixels").permutation(self.n)
        return np.concatenate([pixels[::2], pixels[1::2][::-1]]).astype(np.uint32)

    @cached_property
    def _frequencies(self) -> NDArray[np.int64]:
        draw = stream(self.seed, "projection", "dct", "coefficients")
        others = 1 + draw.choice(self.n - 1, self.m - 1, replace=False)
        return np.concatenate([[0], np.sort(others)])

    @cached_property
    def _places(self) -> NDArray[np.uint32]:
        """Where in the half spectrum each frequency stands."""
        return np.minimum(self._frequencies, self.n - self._frequencies).astype(np.uint32)

    @cached_property
    def _factors(self) -> NDArray[np.float32]:
        """Factors (2, m) of the real and the imaginary part: Re(exp(-iπk/2n) · V_k), scaled."""
        angles = np.pi * self._frequencies / (2 * self.n)
        # Beyond the half spectrum V_k is the conjugate of V_(n-k).
        mirrored = np.where(self._frequencies > self.n // 2, -1.0, 1.0)
        norms = np.sqrt(np.where(self._frequencies == 0, 1, 2) / self.n)
        return (norms * np.stack([np.cos(angles), mirrored * np.sin(angles)])).astype(np.float32)

    def _project(self, gray: NDArray[np.float32]) -> NDArray[np.float32]:
        # Whatever the threads and the company of an image, this transform gives the same bits.
        spectrum = scipy.fft.rfft(gray, workers=-1)
        return _combine(spectrum, self._places, self._factors)


@njit(cache=True, parallel=True)
def _combine(
    spectrum: NDArray[np.complex64], places: NDArray[np.uint32], factors: NDArray[np.float32]
) -> NDArray[np.float32]:
    points = np.empty((spectrum.shape[0], places.shape[0]), dtype=np.float32)
    for n in prange(points.shape[0]):
        for j in range(places.shape[0]):
            value = spectrum[n, places[j]]
            points[n, j] = factors[0, j] * value.real + factors[1, j] * value.imag
    return points
