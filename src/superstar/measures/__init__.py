"""How we look at a set of images: state features, projections, distances, similarity."""

# They register their kinds of `Distance` and of `Projection`.
from superstar.measures import aline as aline
from superstar.measures import divergences as divergences
from superstar.measures import random_projections as random_projections
from superstar.measures import sliced as sliced
from superstar.measures.cai_lim import cai_lim_distance
from superstar.measures.distances import Distance
from superstar.measures.projections import Projection
from superstar.measures.ssim import ssim
from superstar.measures.state import FEATURES, state_features
from superstar.measures.wasserstein import points_distance, wasserstein_distance

__all__ = [
    "FEATURES",
    "Distance",
    "Projection",
    "cai_lim_distance",
    "points_distance",
    "ssim",
    "state_features",
    "wasserstein_distance",
]
