"""Shifted test sets, made one shift at a time as they are written."""

from collections.abc import Callable
from functools import partial
from typing import Any

from superstar.datasets import SEVERITIES
from superstar.images import ImageSet
from superstar.parameters import BenchmarkGeneration
from superstar.pipelines.shifting import describe_shifts, shift_set


def generate_benchmark(
    test: ImageSet, parameters: dict[str, Any], scale: str, seed: int
) -> dict[str, Callable[[], list[ImageSet]]]:
    """Every shift at five severities, and `none`, the clean set itself."""
    given = BenchmarkGeneration.model_validate(parameters)
    shifted = {shift: partial(_sets, test, shift, scale, seed) for shift in given.shifts}
    return {"none": lambda: [test], **shifted}


def describe_benchmark(parameters: dict[str, Any], scale: str, seed: int) -> dict[str, Any]:
    """What the shifted sets were made with."""
    given = BenchmarkGeneration.model_validate(parameters)
    return describe_shifts(given.shifts, SEVERITIES, scale, seed)


def _sets(test: ImageSet, shift: str, scale: str, seed: int) -> list[ImageSet]:
    return [shift_set(test, shift, severity, scale, seed) for severity in SEVERITIES]
