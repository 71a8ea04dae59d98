"""Corrections that are fitted to a batch: numbers are estimated once, then frozen."""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions.appearance import (
    LEVELS,
    Appearance,
    blurred,
    coarse,
    luminance_of,
    veil,
)

Numbers = tuple[float, ...]
Image = NDArray[np.float32]

KNOTS = 33
"""Knots of `match_tone`'s curve, at equal steps of luminance."""

MOST_GAIN = 20.0
"""Greatest factor of contrast and colour; the least is its reciprocal."""

MOST_SHARPENING = 3.0
"""Multiple of what a Gaussian of one pixel takes away."""

MOST_VEIL = 0.9
"""Share of the veil that is taken away."""


@dataclass(frozen=True)
class Fitted:
    """A correction with numbers.

    Attributes:
        fit: the numbers, from how a batch looks and how clean images look.
        apply: to an image (3, H, W) in [0, 1]; the result may leave that range.
        count: of the numbers.
    """

    fit: Callable[[Appearance, Appearance], Numbers]
    apply: Callable[[Image, Numbers], Image]
    count: int


def _share(clean: float, batch: float, most: float = MOST_GAIN) -> float:
    return float(np.clip(clean / max(batch, 1e-6), 1 / most, most))


def _cumulative(histogram: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(histogram)])


def _fit_tone(batch: Appearance, clean: Appearance) -> Numbers:
    """The transport map in one dimension, as a curve."""
    edges = np.linspace(0, 1, LEVELS + 1)
    source, target = _cumulative(batch.luminance), _cumulative(clean.luminance)
    # Each level's middle rank to the luminance of that rank; levels that hold nothing follow.
    ranks = (source[1:] + source[:-1]) / 2
    strictly = target + 1e-9 * np.arange(len(target))
    mapped = np.interp(ranks, strictly / strictly[-1], edges)
    held = batch.luminance > 1e-6
    centres = (edges[1:] + edges[:-1]) / 2
    knots = np.linspace(0, 1, KNOTS)
    curve = np.interp(knots, centres[held], mapped[held])
    return tuple(float(value) for value in np.maximum.accumulate(curve))


def _apply_tone(image: Image, numbers: Numbers) -> Image:
    light = luminance_of(image)
    curve = np.asarray(numbers, np.float32)
    place = light * (len(curve) - 1)
    low = np.minimum(place.astype(np.int32), len(curve) - 2)
    share = place - low
    return image + ((1 - share) * curve[low] + share * curve[low + 1] - light)


def _moments(histogram: NDArray[np.float64]) -> tuple[float, float]:
    centres = (np.arange(LEVELS) + 0.5) / LEVELS
    mean = float(histogram @ centres)
    return mean, float(histogram @ (centres - mean) ** 2) ** 0.5


def _fit_brightness(batch: Appearance, clean: Appearance) -> Numbers:
    (mean, spread), (home, home_spread) = _moments(batch.luminance), _moments(clean.luminance)
    gain = _share(home_spread, spread)
    return gain, home - gain * mean


def _apply_brightness(image: Image, numbers: Numbers) -> Image:
    gain, offset = numbers
    return image + ((gain - 1) * luminance_of(image) + np.float32(offset))


def _fit_contrast(batch: Appearance, clean: Appearance) -> Numbers:
    return tuple(map(_share, clean.contrast.tolist(), batch.contrast.tolist()))


def _apply_contrast(image: Image, numbers: Numbers) -> Image:
    means = image.mean((1, 2), keepdims=True)
    return means + np.asarray(numbers, np.float32)[:, None, None] * (image - means)


def _fit_local_contrast(batch: Appearance, clean: Appearance) -> Numbers:
    return _share(clean.coarse, batch.coarse), _share(clean.fine, batch.fine)


def _apply_local_contrast(image: Image, numbers: Numbers) -> Image:
    wide, fine = (np.float32(number) for number in numbers)
    made = np.empty_like(image)
    for channel, plane in enumerate(image):
        smooth = coarse(plane)
        mean = smooth.mean()
        made[channel] = mean + wide * (smooth - mean) + fine * (plane - smooth)
    return made


def _fit_colour(batch: Appearance, clean: Appearance) -> Numbers:
    return (_share(clean.colour, batch.colour),)


def _apply_colour(image: Image, numbers: Numbers) -> Image:
    light = luminance_of(image)
    return light + np.float32(numbers[0]) * (image - light)


def _fit_sharpness(batch: Appearance, clean: Appearance) -> Numbers:
    return (float(np.clip(clean.sharpness / max(batch.sharpness, 1e-6) - 1, 0, MOST_SHARPENING)),)


def _apply_sharpness(image: Image, numbers: Numbers) -> Image:
    amount = np.float32(numbers[0])
    return np.stack([plane + amount * (plane - blurred(plane, 1.0)) for plane in image])


def _fit_veil(batch: Appearance, clean: Appearance) -> Numbers:
    # (v - w v) / (1 - w v) is the clean images' mean veil where v is the batch's.
    v, home = batch.veil, clean.veil
    return (float(np.clip((v - home) / max(v * (1 - home), 1e-6), 0, MOST_VEIL)),)


def _apply_veil(image: Image, numbers: Numbers) -> Image:
    taken = np.float32(numbers[0]) * veil(image)
    return (image - taken) / (1 - taken)


def _no_numbers(batch: Appearance, clean: Appearance) -> Numbers:
    return ()


def _median(image: Image, numbers: Numbers) -> Image:
    return np.stack([cv2.medianBlur(plane, 3) for plane in image])


FITTED: dict[str, Fitted] = {
    "match_tone": Fitted(_fit_tone, _apply_tone, KNOTS),
    "match_brightness": Fitted(_fit_brightness, _apply_brightness, 2),
    "match_contrast": Fitted(_fit_contrast, _apply_contrast, 3),
    "match_local_contrast": Fitted(_fit_local_contrast, _apply_local_contrast, 2),
    "match_colour": Fitted(_fit_colour, _apply_colour, 1),
    "match_sharpness": Fitted(_fit_sharpness, _apply_sharpness, 1),
    "match_veil": Fitted(_fit_veil, _apply_veil, 1),
    "median_3": Fitted(_no_numbers, _median, 0),
}


def apply_fitted(images: Tensor, name: str, numbers: Numbers) -> Tensor:
    """Apply a correction with its numbers to a batch.

    Args:
        images: float32 (N, 3, H, W) in [0, 1]; left as they are.
        name: one of `FITTED`.
        numbers: as many as it takes.

    Returns:
        New images of the same shape, in [0, 1], on the device of `images`.
    """
    correction = FITTED[name]
    pixels = np.asarray(images.detach().cpu().contiguous())
    made = np.empty_like(pixels)
    for place, image in enumerate(pixels):
        np.clip(correction.apply(image, numbers), 0, 1, out=made[place])
    return torch.from_numpy(made).to(images.device)
