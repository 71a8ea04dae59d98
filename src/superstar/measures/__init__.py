"""How we look at a set of images: state features, projections, the distance, similarity."""

from superstar.measures.projections import Projection
from superstar.measures.ssim import ssim
from superstar.measures.state import FEATURES, state_features
from superstar.measures.wasserstein import points_distance, wasserstein_distance

__all__ = [
    "FEATURES",
    "Projection",
    "points_distance",
    "ssim",
    "state_features",
    "wasserstein_distance",
]
