"""Shifted test sets, made one shift at a time as they are written."""

from collections.abc import Callable
from functools import partial
from typing import Any

from superstar.datasets import SEVERITIES
from superstar.images import ImageSet
from superstar.parameters import BenchmarkGeneration
from superstar.pipelines.shifting import shift_set


def generate_benchmark(
    test: ImageSet, parameters: dict[str, Any], scale: str, seed: int
) -> dict[str, Callable[[], list[ImageSet]]]:
    """Every shift at five severities, and `none`, the clean set itself."""
    given = BenchmarkGeneration.model_validate(parameters)
    shifted = {shift: partial(_sets, test, shift, scale, seed) for shift in given.shifts}
    return {"none": lambda: [test], **shifted}


def _sets(test: ImageSet, shift: str, scale: str, seed: int) -> list[ImageSet]:
    return [shift_set(test, shift, severity, scale, seed) for severity in SEVERITIES]
