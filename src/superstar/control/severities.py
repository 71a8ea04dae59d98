"""Which strengths become the severities of a surrogate (paper, appendix E)."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

# Which entry of the state each family is to change, and which way (paper, appendix E).
STATE_INDEX = {
    "uniform_noise": (2, 1),
    "median_blur": (2, -1),
    "gamma_increase": (0, 1),
    "gamma_decrease": (0, -1),
    "sigmoid_increase": (1, 1),
    "sigmoid_decrease": (1, -1),
}
LEVELS = 5


def relative_change(
    surrogate: str, clean: NDArray[np.float64], shifted: NDArray[np.float64]
) -> float:
    """By how much a surrogate changes the entry of the state that its family is to change.

    |F_i(V_c) - F_i(V)| / |F_i(V)|, negative where the entry moves in the direction that the family
    is not meant for.

    Args:
        surrogate: its name.
        clean: state (3,) of the clean images V.
        shifted: state (3,) of the shifted images V_c.
    """
    index, direction = STATE_INDEX[surrogate]
    return float(direction * (shifted[index] - clean[index]) / abs(clean[index]))


def choose_levels(changes: NDArray[np.float64], rule: tuple[float, float]) -> list[int]:
    """Positions of severities 1 to 5 among changes that rise.

    Severity 5 is the largest change within the rule; where there is none, the one that comes
    nearest to it. Severities 1 to 4 divide the change up to there as evenly as the grid
    allows.
    """
    low, high = rule
    outside = np.maximum(0, np.maximum(low - changes, changes - high))
    candidates = np.arange(LEVELS - 1, len(changes))
    nearest = candidates[outside[candidates] == outside[candidates].min()]
    top = int(nearest[-1])
    targets = changes[top] * np.arange(1, LEVELS) / LEVELS
    lower = min(
        combinations(range(top), LEVELS - 1),
        key=lambda rows: float(np.abs(changes[list(rows)] - targets).sum()),
    )
    return [*lower, top]
