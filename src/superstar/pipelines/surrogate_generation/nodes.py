"""Surrogate sets, made one at a time as they are written."""

from collections.abc import Callable
from functools import partial
from typing import Any

from superstar.corruptions.sets import shift_set
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import SurrogateGeneration

Parts = dict[str, Callable[[], ImageSet]]


def generate_surrogates(
    design: ImageSet,
    strengths: dict[str, list[float]],
    scale: str,
    jpeg_quality: int | None,
    seed: int,
) -> Parts:
    """Six surrogates at five severities of the design images: `<surrogate>/<severity>`."""
    shift = partial(shift_set, jpeg_quality=jpeg_quality)
    return {
        f"{name}/{severity}": partial(shift, design, name, severity, scale, seed, strength)
        for name, levels in strengths.items()
        for severity, strength in enumerate(levels, start=1)
    }


def generate_policy_batches(
    train: ImageSet,
    strengths: dict[str, list[float]],
    parameters: dict[str, Any],
    scale: str,
    jpeg_quality: int | None,
    seed: int,
) -> Parts:
    """The policy's surrogates of disjoint training images: `<split>/<surrogate>`.

    Split is `training` or `held_out`; each set holds that split's batches one after another.

    Raises:
        InputError: the training set is too small for so many disjoint batches.
    """
    given = SurrogateGeneration.model_validate(parameters).policy
    counts = {
        "training": given.training_batches * given.batch_size,
        "held_out": given.held_out_batches * given.batch_size,
    }
    if sum(counts.values()) > len(train):
        raise InputError(
            f"{sum(counts.values())} images are needed for disjoint policy batches, but the "
            f"training set has {len(train)}: lower surrogate_generation.policy.training_batches, "
            "held_out_batches or batch_size"
        )
    parts: Parts = {}
    for name in given.names:
        start = 0
        for split, count in counts.items():
            images = train.take(slice(start, start + count))
            strength = strengths[name][given.severity - 1]
            parts[f"{split}/{name}"] = partial(
                shift_set, images, name, given.severity, scale, seed, strength, start, jpeg_quality
            )
            start += count
    return parts
