"""What can happen to an image: surrogates for design, benchmark shifts and composites for tests."""

from superstar.corruptions.constants import BENCHMARKS
from superstar.corruptions.registry import (
    COMPOSITES,
    SHIFTS,
    SURROGATES,
    corrupt,
    preset_strengths,
)

__all__ = ["BENCHMARKS", "COMPOSITES", "SHIFTS", "SURROGATES", "corrupt", "preset_strengths"]
