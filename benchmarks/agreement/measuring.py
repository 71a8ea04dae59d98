"""State features and distances of a data set under the surrogates."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.agreement.released import SEVERITIES, STATE_SEVERITY
from benchmarks.agreement.setups import SEED, Images, Setup
from superstar.corruptions import SURROGATES, corrupt
from superstar.images import from_uint8, to_uint8
from superstar.measures import points_distance, state_features

logger = logging.getLogger(__name__)

_AT_ONCE = 100


@dataclass(frozen=True)
class Measured:
    """What was measured on one data set, with images in rows.

    Attributes:
        clean: state features (N, 3) of the images that nothing corrupted.
        states: the same at severity 5, by surrogate.
        by_kernel: the same under median blur, by side of the kernel.
        distances: one for each draw, by surrogate and severity.
    """

    clean: NDArray[np.float64]
    states: Mapping[str, NDArray[np.float64]]
    by_kernel: Mapping[int, NDArray[np.float64]]
    distances: Mapping[tuple[str, int], NDArray[np.float64]]


def measure(setup: Setup) -> Measured:
    """Everything that the report shows of a data set."""
    points = points_of(setup, setup.validation)
    states, distances = {}, {}
    for surrogate in SURROGATES:
        logger.info("%s: %s", setup.benchmark, surrogate)
        for severity in SEVERITIES:
            images = shifted(setup, surrogate, severity)
            distances[surrogate, severity] = distances_of(setup, points, images)
            if severity == STATE_SEVERITY:
                states[surrogate] = states_of(setup, images)
    by_kernel = {
        side: states_of(setup, shifted(setup, "median_blur", STATE_SEVERITY, strength=side))
        for side in setup.kernels
    }
    return Measured(states_of(setup, shifted(setup, "none")), states, by_kernel, distances)


def shifted(
    setup: Setup,
    name: str,
    severity: int = 1,
    strength: float | None = None,
    to_8_bits: Callable[[Tensor], Images] = to_uint8,
    seed: int = SEED,
) -> Images:
    """All images of a data set, corrupted and as they are measured: uint8 (N, H, W, 3)."""
    if strength is None:
        strength = setup.strengths.get((name, severity))
    parts = []
    for start in range(0, len(setup.originals), _AT_ONCE):
        corrupted = corrupt(
            from_uint8(setup.originals[start : start + _AT_ONCE]),
            name,
            severity=severity,
            benchmark=setup.constants,
            seed=seed,
            first_index=start,
            strength=strength,
        )
        parts.append(setup.served(to_8_bits(corrupted)))
    return np.concatenate(parts)


def states_of(setup: Setup, images: Images) -> NDArray[np.float64]:
    """State features (N, 3) of those images that the states are taken over."""
    return _in_parts(state_features, images[setup.for_states]).numpy()


def points_of(setup: Setup, images: Images) -> Tensor:
    """The images as points (N, m) between which distances are measured."""
    return _in_parts(setup.projection, images)


def distances_of(setup: Setup, clean: Tensor, images: Images) -> NDArray[np.float64]:
    """The distance from clean points to shifted images, one for each draw."""
    points = points_of(setup, images)
    return np.array([points_distance(clean[a], points[b]) for a, b in setup.draws])


def _in_parts(function: Callable[[Tensor], Tensor], images: Images) -> Tensor:
    starts = range(0, len(images), _AT_ONCE)
    return torch.cat([function(from_uint8(images[i : i + _AT_ONCE])) for i in starts])
