"""Distances between two sets of points behind one interface (paper, appendix A).

Which to take: `wasserstein` is the paper's. `sliced_wasserstein` costs N·log N and suits large
sets. The f-divergences saturate once the sets are apart. `aline_d` measures a classifier instead
of images and needs an ensemble's predictions in place of points.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from superstar.errors import InputError, check_name
from superstar.integers import whole

_REAL = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
)

LARGEST = 1e30
"""Coordinates beyond this overflow where they are squared or summed in single precision."""


@dataclass(frozen=True)
class Distance(ABC):
    """A distance of a set of points from a reference set; make one with `Distance.create`.

    Equal specifications give equal distances: what is random in one comes from its seed.
    """

    kind: ClassVar[str]
    queries_classifiers: ClassVar[bool] = False
    """Whether the points are predictions of classifiers rather than projected images."""
    _kinds: ClassVar[dict[str, type["Distance"]]] = {}

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:  # what several kinds share has none of its own
            cls.kind = kind
            Distance._kinds[kind] = cls

    @staticmethod
    def create(kind: str, **options: Any) -> "Distance":
        """The distance of that kind.

        Args:
            kind: "wasserstein", "sliced_wasserstein", "total_variation", "kullback_leibler",
                "jensen_shannon" or "aline_d".
            options: of that kind, each with a default.

        Raises:
            InputError: unknown kind, or an unknown or unusable option.
        """
        check_name("distance", kind, Distance._kinds)
        made = Distance._kinds[kind]
        known = [field.name for field in fields(made)]
        for name in options:
            check_name(f"option of the distance {kind!r}", name, known)
        return made(**options)

    @staticmethod
    def of(distance: "str | Distance") -> "Distance":
        """The distance itself, or the one of that kind with its defaults.

        Raises:
            InputError: an unknown kind, or neither a kind nor a distance.
        """
        if isinstance(distance, Distance):
            return distance
        if isinstance(distance, str):
            return Distance.create(distance)
        raise InputError(f"a distance is a name or a Distance, not {type(distance).__name__}")

    def to_dict(self) -> dict[str, Any]:
        """The specification, fit for JSON: kind and options."""
        return {"kind": self.kind, **asdict(self)}

    @staticmethod
    def from_dict(specification: Mapping[str, Any]) -> "Distance":
        """The distance that `to_dict` described; options left out take their defaults.

        Raises:
            InputError: a missing, superfluous or unusable entry.
        """
        try:
            return Distance.create(**specification)
        except TypeError as error:
            raise InputError(f"not the specification of a distance: {error}") from error

    def __call__(self, reference: Tensor, points: Tensor) -> float:
        """How far the points are from the reference.

        Args:
            reference: points of the validation set, (N, m), any real dtype.
            points: points of the set at hand, (M, m); M may differ from N.

        Returns:
            At least 0.

        Raises:
            InputError: not points, NaN or infinite values, or sets that do not go together.
        """
        first = check_points(reference, "the reference points")
        second = check_points(points, "the points")
        self._check_pair(first, second)
        return self._between(first, second)

    def _check_pair(self, reference: Tensor, points: Tensor) -> None:
        check_dimensions(reference, points)

    @abstractmethod
    def _between(self, reference: Tensor, points: Tensor) -> float:
        """The distance between two checked sets."""

    def _check_whole(self, name: str, least: int, most: int | None = None) -> None:
        """Refuse an option that is no whole number within the bounds."""
        what = f"{name} of the distance {self.kind!r}"
        object.__setattr__(self, name, whole(getattr(self, name), what, least, most))


def check_points(points: Tensor, name: str) -> Tensor:
    """The points, detached and on the CPU.

    Raises:
        InputError: not a real tensor (N, m) with N and m at least 1, or NaN, infinite or huge
            values.
    """
    if not isinstance(points, Tensor) or points.ndim != 2 or 0 in points.shape:
        shape = tuple(points.shape) if isinstance(points, Tensor) else type(points).__name__
        raise InputError(f"{name} must be a tensor of points (N, m), not {shape}")
    if points.layout != torch.strided or points.is_meta or points.dtype not in _REAL:
        raise InputError(f"{name} must be a dense tensor of real numbers, not {points.dtype}")
    points = points.detach().cpu()
    low, high = (float(bound) for bound in torch.aminmax(points))
    if not (low >= -LARGEST and high <= LARGEST):
        if not torch.isfinite(points).all():
            bad = int((~torch.isfinite(points)).any(dim=1).nonzero()[0])
            raise InputError(f"{name} hold NaN or infinite values, first in point {bad}")
        raise InputError(f"{name} hold values beyond {LARGEST:g}: scale them down")
    return points


def check_dimensions(first: Tensor, second: Tensor) -> None:
    """Refuse two sets of points of different dimensions.

    Raises:
        InputError: they differ.
    """
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"the points have different dimensions: {first.shape[1]} and {second.shape[1]}"
        )
