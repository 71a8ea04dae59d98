"""Fractal clouds by the diamond-square algorithm (Fournier, Fussell & Carpenter, 1982)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


def plasma(generator: np.random.Generator, side: int, decay: float) -> NDArray[np.float32]:
    """A square map of clouds that wraps around, distributed as in ImageNet-C's fog.

    A grid of one point is refined by halving its step. Each new point is the mean of its four
    neighbours plus an offset: first the centres of the squares, then the middles of their sides.
    The offsets are uniform and symmetric, and decay² times smaller after each halving.

    Args:
        generator: gives side² numbers, one for each point.
        side: of the map, a power of two from 2.
        decay: at least 1; the greater, the smoother the clouds.

    Returns:
        float32 (side, side), stretched so that it runs from 0 to 1.
    """
    clouds = generator.random((side, side), dtype=np.float32)
    # The benchmark multiplies a uniform number, of half-width w, by w again: hence the square.
    _refine(clouds, np.float32(decay) ** 2)
    clouds -= clouds.min()
    clouds /= clouds.max()
    return clouds


@njit(cache=True, nogil=True, error_model="numpy")
def _refine(points: NDArray[np.float32], decay: np.float32) -> None:
    """Turn each point's random number in [0, 1) into its height, in place."""
    side = len(points)
    wrap = side - 1
    quarter = np.float32(0.25)
    width = np.float32(2)
    points[0, 0] = 0
    step = side
    while step > 1:
        half = step // 2
        for y in range(0, side, step):
            here, centre, below = points[y], points[y + half], points[(y + step) & wrap]
            for x in range(0, side, step):
                right = (x + step) & wrap
                total = here[x] + here[right] + below[x] + below[right]
                offset = width * (centre[x + half] - np.float32(0.5))
                centre[x + half] = quarter * total + offset
        for y in range(0, side, step):
            above, here = points[(y - half) & wrap], points[y]
            centre, below = points[y + half], points[(y + step) & wrap]
            for x in range(0, side, step):
                middle = x + half
                total = here[x] + here[(x + step) & wrap] + above[middle] + centre[middle]
                here[middle] = quarter * total + width * (here[middle] - np.float32(0.5))
                total = here[x] + below[x] + centre[(x - half) & wrap] + centre[middle]
                centre[x] = quarter * total + width * (centre[x] - np.float32(0.5))
        width /= decay
        step = half
