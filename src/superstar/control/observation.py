"""What the agent sees of a set of images (paper, section 4, "State Representation")."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from superstar.measures import state_features

# Bounds for any image: bior1.3's analysis low-pass has coefficients ±0.088, 0.707, 0.707, so LL of
# an image in [0, 1] lies within [-0.57, 2.57]; its standard deviation is at most half that range;
# the entropy of 8-bit levels lies in [0, 8] bits. Rounding may overstep these by a little.
STATE_LOW = np.array([-1.0, -1.0, -1.0], dtype=np.float32)
STATE_HIGH = np.array([3.0, 2.0, 9.0], dtype=np.float32)


def observe(images: Tensor) -> NDArray[np.float32]:
    """The state of a set of images: the mean of its images' state features.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].

    Returns:
        float32 (3,): brightness, standard deviation, entropy (F_R of section 3).

    Raises:
        InputError: not a batch of images.
    """
    features = np.asarray(state_features(images), dtype=np.float64)
    return features.mean(axis=0).astype(np.float32)
