"""L_S, the reward's term against excessive change of the images (paper, section 4)."""

from math import log
from typing import Literal

Regulariser = Literal["paper", "monotone"]

LEAST_SIMILARITY = -1 + 1e-6
"""Similarities below this count as this, so that the monotone form stays finite at -1."""


def penalty(regulariser: Regulariser, similarity: float, threshold: float) -> float:
    """L_S of images that are so similar to the initial ones; 0 from the threshold ω on.

    "paper": log(1 - s) for s < ω. It is most negative next to identity and vanishes with
    dissimilarity, so it punishes small changes more than large ones, and it jumps at ω.

    "monotone": log((1 + s) / (1 + ω)) for s < ω. It is never positive, the more negative the less
    similar, and continuous at ω; at s = -1, the least that SSIM can be, it is about -14.5. With
    the paper's λ and ω it is small, since these were chosen with the paper's form.

    Args:
        regulariser: "paper" or "monotone".
        similarity: s, mean SSIM, at most 1.
        threshold: ω, in [0, 1].
    """
    if not similarity < threshold:  # ω ≤ 1, so the paper's logarithm is finite
        return 0.0
    if regulariser == "paper":
        return log(1 - similarity)
    return log((1 + max(similarity, LEAST_SIMILARITY)) / (1 + threshold))
