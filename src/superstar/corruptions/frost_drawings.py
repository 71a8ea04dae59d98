"""Drawings of frost on a pane, after the photographs of ImageNet-C's frost.

Crystals are drawn in one of four habits. The drawing is then given the contrast of its photograph,
octave by octave, and its colours: their mean, how each channel follows the lightness, and clouds
of a second hue.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from superstar.corruptions.plasma import plasma
from superstar.images import stream

Plane = NDArray[np.float32]
# OpenCV smooths lines on 8 bits only.
Canvas = NDArray[np.uint8]
Triple = tuple[float, float, float]

SIDE = 384
# Points are given to OpenCV in sixteenths of a pixel.
_SHIFT = 4
# Octaves lie between these sigmas of Gaussians, in pixels.
_SIGMAS = (0.7, 1.4, 2.8, 5.6, 11.2, 22.4, 44.8)


def draw_frost(index: int) -> NDArray[np.uint8]:
    """Drawing `index` of five, uint8 RGB (384, 384, 3); equal at every call."""
    look = LOOKS[index]
    generator = stream(0, "frost drawing", index)
    lightness = _with_contrasts(look.crystals(generator).astype(np.float32), look.contrasts)
    hue = _clouds(generator, 1.6)
    hue = (hue - hue.mean()) / hue.std()
    mean, follow, tint = np.array([look.mean, look.follow, look.tint], dtype=np.float32)
    colours = mean + lightness[..., None] * follow + hue[..., None] * tint
    return np.rint(np.clip(colours, 0, 1) * 255).astype(np.uint8)


def _with_contrasts(plane: Plane, contrasts: tuple[float, ...]) -> Plane:
    """Scale every octave of `plane` to its contrast (standard deviation); mean 0."""
    rest = plane
    total = np.zeros_like(plane)
    for sigma, contrast in zip(_SIGMAS, contrasts[:-1], strict=True):
        smooth = np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma), dtype=np.float32)
        octave = rest - smooth
        total += octave * np.float32(contrast / octave.std())
        rest = smooth
    rest = rest - rest.mean()
    total += rest * np.float32(contrasts[-1] / rest.std())
    return total


def _feathers(generator: np.random.Generator) -> Canvas:
    """Stars of feathers: a spine with side branches that shorten towards the tip."""
    canvas = _canvas(0.25 + 0.3 * _clouds(generator, 1.5))
    bare = _clouds(generator, 1.6)
    for stars, least, most in ((1500, 6, 20), (380, 12, 50)):
        for _ in range(stars):
            centre = generator.uniform(0, SIDE, 2)
            if bare[int(centre[1]), int(centre[0])] < 0.3:
                continue
            size = least + (most - least) * generator.random() ** 2
            _star(canvas, generator, centre, size, tone=generator.uniform(0.4, 0.95))
    return canvas


def _star(
    canvas: Canvas,
    generator: np.random.Generator,
    centre: NDArray[np.float64],
    size: float,
    tone: float,
) -> None:
    count = generator.integers(2, 6)
    along, across = _axes(generator.uniform(0, 2 * np.pi, count))
    lengths = size * generator.uniform(0.6, 1.2, (count, 1))
    tips = centre + lengths * along
    shoulders, wide = centre + 0.3 * lengths * along, 0.22 * lengths * across
    origins = np.broadcast_to(centre, tips.shape)
    for leaf in np.stack([origins, shoulders + wide, tips, shoulders - wide], axis=1):
        _fill(canvas, leaf, 0.4 * tone)
    feet = np.linspace(0.05, 0.95, max(4, int(size / 2.2)))[:, None, None]
    starts = centre + feet * lengths * along
    reach = 0.38 * lengths * (1 - feet) * np.minimum(1, 5 * feet)
    for side, shade in ((1, 1.0), (-1, 0.75)):
        uneven = reach * generator.uniform(0.4, 1.1, reach.shape)
        ends = starts + uneven * (0.7 * along + side * across)
        _stroke(canvas, np.stack([starts, ends], axis=2).reshape(-1, 2, 2), shade * tone)
    _stroke(canvas, np.stack([origins, tips], axis=1), 1.1 * tone)


def _needles(generator: np.random.Generator) -> Canvas:
    """Sheaves of blades, each with a bright and a dark edge, short ones under long ones."""
    canvas = _canvas(0.75 + 0.1 * _grains(generator, 1.2))
    for sheaves, least, most in ((1100, 8, 22), (450, 15, 45), (90, 40, 110)):
        for _ in range(sheaves):
            centre = generator.uniform(-20, SIDE + 20, 2)
            count = generator.integers(1, 5)
            along, across = _axes(generator.uniform(0, 2 * np.pi) + generator.normal(0, 0.2, count))
            length = generator.uniform(least, most)
            starts = centre + generator.normal(0, 0.1 * length, (count, 2))
            ends = starts + length * generator.uniform(0.5, 1, (count, 1)) * along
            wide = (0.5 + generator.uniform(0.01, 0.06, (count, 1)) * length) * across
            bright, dark = (starts + ends) / 2 + wide, (starts + ends) / 2 - wide
            tone = generator.uniform(0.68, 0.98)
            for blade in np.stack([starts, bright, ends, dark], axis=1):
                _fill(canvas, blade, tone)
            _stroke(canvas, np.stack([starts, bright, ends], axis=1), tone + 0.15)
            shade = tone - 0.5 * generator.random() ** 2
            _stroke(canvas, np.stack([starts, dark, ends], axis=1), shade)
    return _canvas(canvas / 255 + 0.03 * _grains(generator, 0.7))


def _facets(generator: np.random.Generator) -> Canvas:
    """Grains in upright rows, and among them small fans of bright and dark facets."""
    rows = np.abs(np.sin(np.arange(SIDE) / 2.7 + 9 * _clouds(generator, 2)[:1]))
    canvas = _canvas(0.5 + _grains(generator, 0.9) * (0.04 + 0.14 * rows))
    fans = _clouds(generator, 1.5)
    for _ in range(2600):
        centre = generator.uniform(0, SIDE, 2)
        # Fans keep to some regions.
        if fans[int(centre[1]), int(centre[0])] < generator.uniform(0.3, 0.8):
            continue
        size = 3 + 11 * generator.random() ** 3
        angles = generator.uniform(0, 2 * np.pi) + np.cumsum(generator.uniform(0.15, 0.5, 7))
        rays = centre + size * _axes(angles)[0] * generator.uniform(0.6, 1.1, (7, 1))
        for first, second in pairwise(rays):
            tone = generator.choice([0.2, 0.35, 0.5, 0.65, 0.9])
            _fill(canvas, np.stack([centre, first, second]), tone)
    return canvas


def _wrinkles(generator: np.random.Generator) -> Canvas:
    """Thin ice lit from the side: the relief of creases under soft clouds."""
    creases = np.full((SIDE, SIDE), 128, np.uint8)
    rough = _clouds(generator, 1.5)
    for _ in range(7000):
        start = generator.uniform(0, SIDE, 2)
        if rough[int(start[1]), int(start[0])] < generator.uniform(0.2, 0.9):
            continue
        steps = generator.integers(3, 12)
        headings = generator.uniform(0, 2 * np.pi) + np.cumsum(generator.normal(0, 0.4, steps))
        line = start + 2.5 * np.cumsum(_axes(headings)[0], axis=0)
        _stroke(creases, line[None], generator.uniform(0, 1))
    smooth = np.asarray(cv2.GaussianBlur(creases, (0, 0), 0.6), dtype=np.float32)
    relief = _relief(smooth / smooth.std() + 0.5 * _grains(generator, 0.8))
    return _canvas(0.5 + 0.12 * relief)


def _clouds(generator: np.random.Generator, decay: float) -> Plane:
    return plasma(generator, 512, decay)[:SIDE, :SIDE]


def _grains(generator: np.random.Generator, sigma: float) -> Plane:
    """Normal noise smoothed with `sigma`; standard deviation 1."""
    noise = generator.standard_normal((SIDE, SIDE), dtype=np.float32)
    smooth = np.asarray(cv2.GaussianBlur(noise, (0, 0), sigma), dtype=np.float32)
    return smooth / smooth.std()


def _relief(heights: Plane) -> Plane:
    """How a surface looks that is lit from the upper left; mean 0, standard deviation 1."""
    slopes = heights - np.roll(heights, (1, 1), (0, 1))
    return (slopes - slopes.mean()) / slopes.std()


def _canvas(plane: NDArray[np.floating]) -> Canvas:
    return np.rint(np.clip(plane, 0, 1) * 255).astype(np.uint8)


def _axes(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit vectors (L, 2) along `angles` (L,) in radians, and across them."""
    cosines, sines = np.cos(angles), np.sin(angles)
    return np.stack([cosines, sines], axis=1), np.stack([-sines, cosines], axis=1)


def _fill(canvas: Canvas, corners: NDArray[np.float64], tone: float) -> None:
    """Fill a convex polygon (corners, 2)."""
    cv2.fillConvexPoly(canvas, _points(corners), _level(tone), cv2.LINE_AA, _SHIFT)


def _stroke(canvas: Canvas, lines: NDArray[np.float64], tone: float) -> None:
    """Draw lines (L, points, 2), one pixel wide."""
    cv2.polylines(canvas, list(_points(lines)), False, _level(tone), 1, cv2.LINE_AA, _SHIFT)


def _points(points: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.rint(points * 2**_SHIFT).astype(np.int32)


def _level(tone: float) -> int:
    return round(255 * min(max(tone, 0), 1))


@dataclass(frozen=True)
class _Look:
    """How a drawing looks; figures measured on the photographs, in units of full scale.

    Attributes:
        crystals: draws the plane.
        mean: of each channel.
        follow: how much each channel changes with the lightness.
        tint: standard deviation of each channel that the lightness does not explain, signed.
        contrasts: standard deviation of each octave of lightness, fine to coarse, and of the rest.
    """

    crystals: Callable[[np.random.Generator], Canvas]
    mean: Triple
    follow: Triple
    tint: Triple
    contrasts: tuple[float, ...]


_WHITE = _Look(
    _needles, (0.787, 0.805, 0.841), (0.97, 1.005, 1.025), (-0.006, 0, 0.006),
    (0.020, 0.017, 0.016, 0.015, 0.012, 0.010, 0.009, 0.054),
)  # fmt: skip
# The benchmark has the white photograph twice; we draw it twice, differently.
LOOKS = (
    _Look(
        _wrinkles, (0.305, 0.585, 0.650), (1.37, 0.90, 0.73), (-0.043, 0.012, 0.031),
        (0.019, 0.014, 0.009, 0.007, 0.008, 0.010, 0.012, 0.043),
    ),
    _WHITE,
    _WHITE,
    _Look(
        _facets, (0.540, 0.599, 0.648), (0.985, 0.985, 1.03), (0.006, 0.004, -0.009),
        (0.035, 0.027, 0.022, 0.018, 0.013, 0.010, 0.011, 0.062),
    ),
    _Look(
        _feathers, (0.441, 0.484, 0.529), (1.03, 1.004, 0.966), (-0.006, 0, 0.006),
        (0.045, 0.032, 0.031, 0.031, 0.030, 0.024, 0.018, 0.096),
    ),
)  # fmt: skip
