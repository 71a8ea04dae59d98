"""What can happen to an image: surrogates for design, benchmark shifts and composites for tests."""

from superstar.corruptions.constants import BENCHMARKS
from superstar.corruptions.registry import (
    ALL_SHIFTS,
    C_BAR_SHIFTS,
    COMPOSITES,
    EXTRA_SHIFTS,
    SHIFT_SETS,
    SHIFTS,
    STANDARD_SHIFTS,
    SURROGATES,
    corrupt,
    frost_of,
    preset_strengths,
    spell_out,
)
from superstar.corruptions.surrogates import STRENGTH_LABELS
from superstar.corruptions.textures import frost_source

__all__ = [
    "ALL_SHIFTS",
    "BENCHMARKS",
    "COMPOSITES",
    "C_BAR_SHIFTS",
    "EXTRA_SHIFTS",
    "SHIFTS",
    "SHIFT_SETS",
    "STANDARD_SHIFTS",
    "STRENGTH_LABELS",
    "SURROGATES",
    "corrupt",
    "frost_of",
    "frost_source",
    "preset_strengths",
    "spell_out",
]
