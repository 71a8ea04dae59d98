"""All corruptions by name, and `corrupt`, which applies one to a batch."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isfinite
from numbers import Real

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from torch import Tensor

from superstar.corruptions import (
    blur,
    caustics,
    digital,
    distortion,
    noise,
    patterns,
    photometric,
    sparkles,
    spectra,
    surrogates,
    weather,
)
from superstar.corruptions.constants import BENCHMARKS, SEVERITIES, STRENGTHS, Constants
from superstar.corruptions.textures import frost_source
from superstar.errors import InputError, check_name
from superstar.images import check_shape, check_values, stream
from superstar.integers import integer, whole

# Functions of (images, one generator an image, *constants).
_RANDOM: Mapping[str, Callable[..., NDArray[np.float32]]] = {
    "uniform_noise": surrogates.uniform_noise,
    "gaussian_noise": noise.gaussian_noise,
    "shot_noise": noise.shot_noise,
    "impulse_noise": noise.impulse_noise,
    "speckle_noise": noise.speckle_noise,
    "glass_blur": blur.glass_blur,
    "motion_blur": blur.motion_blur,
    "snow": weather.snow,
    "frost": weather.frost,
    "fog": weather.fog,
    "elastic_transform": distortion.elastic_transform,
    "spatter": weather.spatter,
    "blue_noise_sample": spectra.blue_noise_sample,
    "brownish_noise": spectra.brownish_noise,
    "caustic_refraction": caustics.caustic_refraction,
    "checkerboard_cutout": patterns.checkerboard_cutout,
    "cocentric_sine_waves": patterns.cocentric_sine_waves,
    "inverse_sparkles": sparkles.inverse_sparkles,
    "perlin_noise": patterns.perlin_noise,
    "plasma_noise": patterns.plasma_noise,
    "single_frequency_greyscale": patterns.single_frequency_greyscale,
    "sparkles": sparkles.sparkles,
}

# Functions of (images, *constants).
_DETERMINISTIC: Mapping[str, Callable[..., NDArray[np.float32]]] = {
    "median_blur": surrogates.median_blur,
    "gamma_increase": surrogates.gamma,
    "gamma_decrease": surrogates.gamma,
    "sigmoid_increase": surrogates.sigmoid,
    "sigmoid_decrease": surrogates.sigmoid,
    "defocus_blur": blur.defocus_blur,
    "gaussian_blur": blur.gaussian_blur,
    "zoom_blur": blur.zoom_blur,
    "brightness": photometric.brightness,
    "contrast": photometric.contrast,
    "saturate": photometric.saturate,
}

# Functions of (images, *constants, out), fast enough that a copy of the result would count.
_IN_PLACE: Mapping[str, Callable[..., None]] = {
    "jpeg_compression": digital.jpeg_compression,
    "pixelate": digital.pixelate,
}

SURROGATES = tuple(STRENGTHS)
# Hendrycks & Dietterich, in their order: the benchmark's corruptions, and those held out of it.
STANDARD_SHIFTS = (
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
)
EXTRA_SHIFTS = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
SHIFTS = STANDARD_SHIFTS + EXTRA_SHIFTS
# Mintun, Kirillov & Xie (2021), ImageNet-C̄: chosen for being unlike those of ImageNet-C.
C_BAR_SHIFTS = (
    "blue_noise_sample",
    "brownish_noise",
    "caustic_refraction",
    "checkerboard_cutout",
    "cocentric_sine_waves",
    "inverse_sparkles",
    "perlin_noise",
    "plasma_noise",
    "single_frequency_greyscale",
    "sparkles",
)
ALL_SHIFTS = SHIFTS + C_BAR_SHIFTS
# DC4L, table of composite ImageNet-C shifts.
NOISES = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")
COMPOSITES = tuple(
    f"{first}+{second}" for first in NOISES for second in ("brightness", "contrast", "saturate")
)

SHIFT_SETS: Mapping[str, tuple[str, ...]] = {
    "imagenet_c": SHIFTS,
    "imagenet_c_standard": STANDARD_SHIFTS,
    "imagenet_c_bar": C_BAR_SHIFTS,
    "imagenet_cp": COMPOSITES,
    "noises": NOISES,
}
"""Several shifts under one name: ImageNet-C's 19, its 15 that are averaged, ImageNet-C̄'s ten, the
12 composites, the four noises.
"""


def spell_out(shifts: str | Iterable[str]) -> list[str]:
    """Names of shifts with the sets among them (`SHIFT_SETS`) spelt out.

    Args:
        shifts: names, or one text with spaces between them. Other names stay as they are.
    """
    names = shifts.split() if isinstance(shifts, str) else shifts
    return [shift for name in names for shift in SHIFT_SETS.get(name, (name,))]


def frost_of(shifts: Iterable[str]) -> str | None:
    """Where frost's textures come from (`frost_source`) if it is among the shifts, else None."""
    return frost_source() if any("frost" in shift.split("+") for shift in shifts) else None


_WEAKEST, _STRONGEST = 1e-3, 1e3
# Values worked on at once by one thread: 4 MB, so that intermediate results stay in cache.
_VALUES_AT_ONCE = 2**20


def corrupt(
    images: Tensor,
    name: str,
    severity: int = 3,
    benchmark: str = "imagenet",
    seed: int = 0,
    first_index: int = 0,
    strength: float | None = None,
) -> Tensor:
    """Corrupt a batch of images.

    Image i draws from `stream(seed, name, severity, first_index + i)`, so that a part of a set,
    made alone, equals that part of the whole bit by bit. Where a composite names a shift again,
    the place among its parts is one more key.

    Constants mean at any size what they mean in the benchmark: radii and widths of blurs, of grains
    and of motion are pixels, so that blurs are harsher on smaller images; elastic's map, zoom,
    pixelate and clouds follow the image's size. So do the shifts of ImageNet-C̄, save the waves of
    `single_frequency_greyscale`.

    Args:
        images: float32 (N, 3, H, W) in [0, 1], of any size from 16 × 16.
        name: one of `SURROGATES` or `ALL_SHIFTS`; several of them joined by "+", applied from
            left to right at the same severity, each with its own constants and stream; or "none".
        severity: 1 (weakest) to 5; of no account for "none".
        benchmark: whose constants, "imagenet" (ImageNet-C, ImageNet-C̄) or "cifar" (CIFAR-C,
            CIFAR-10-C̄).
        seed: of the random streams, at least 0.
        first_index: position of the first image in its set, at least 0.
        strength: for surrogates, replaces the severity's constant: half-width of the uniform
            noise, side of the median's window in pixels (a whole number), gamma, or gain of the
            sigmoid. The streams do not depend on it.

    Returns:
        A new tensor, float32 (N, 3, H, W) in [0, 1], not quantised, on the device of `images`.

    Raises:
        InputError: bad images, an unknown shift or benchmark, a severity that is not an integer
            from 1 to 5, a negative seed or index, or a strength that is out of range or given to
            a shift that has none.
    """
    check_shape(images)
    parts = _check_name(name)
    check_name("benchmark", benchmark, BENCHMARKS)
    seed, first_index = whole(seed, "seed"), whole(first_index, "first_index")
    if strength is not None:
        strength = _checked_strength(name, strength, images)
    if parts:
        severity = whole(severity, "severity", 1, 5)

    if not parts:
        check_values(images)
        return images.detach().clone()

    corrupted = images.detach().cpu()
    for place, part in enumerate(parts):
        constants = _constants(part, severity, benchmark) if strength is None else (strength,)
        repeat = place if part in parts[:place] else None
        corrupted = _Job(part, constants, seed, severity, first_index, repeat).run(corrupted)
    return corrupted.to(images.device)


def preset_strengths(name: str, benchmark: str = "imagenet") -> tuple[float, ...]:
    """The preset strengths of a surrogate at severities 1 to 5 (DC4L, appendix).

    Half-width of the uniform noise, side of the median's window in pixels, gamma, or gain.

    Raises:
        InputError: an unknown surrogate or benchmark.
    """
    check_name("surrogate", name, SURROGATES)
    check_name("benchmark", benchmark, BENCHMARKS)
    return STRENGTHS[name][benchmark]


@dataclass(frozen=True)
class _Job:
    name: str
    constants: Constants
    seed: int
    severity: int
    first_index: int
    repeat: int | None

    def run(self, images: Tensor) -> Tensor:
        """Check and corrupt the batch in slices, several threads at once.

        Nothing of torch runs in several threads here: its threads, once at work, wait for more
        with full force for milliseconds, in which these would have to share the cores with them.
        """
        # Numpy's memory comes in huge pages, which take less time to get than torch's small ones.
        out = np.empty(images.shape, dtype=np.float32)
        at_once = max(1, _VALUES_AT_ONCE // images[0].numel())
        starts = range(0, len(images), at_once)

        def run_slice(start: int) -> None:
            part = slice(start, start + at_once)
            given = images[part].contiguous().numpy()
            if not (given.min() >= 0 and given.max() <= 1):
                check_values(images)
            if self.name in _IN_PLACE:
                _IN_PLACE[self.name](given, *self.constants, out[part])
            else:
                np.clip(self._apply(given, start), 0, 1, out=out[part])

        with ThreadPoolExecutor(min(cpu_count(), len(starts))) as pool:
            list(pool.map(run_slice, starts))
        return torch.from_numpy(out)

    def _apply(self, images: NDArray[np.float32], start: int) -> NDArray[np.float32]:
        if self.name in _DETERMINISTIC:
            return _DETERMINISTIC[self.name](images, *self.constants)
        first = self.first_index + start
        keys = () if self.repeat is None else (self.repeat,)
        generators = [
            stream(self.seed, self.name, self.severity, first + i, *keys)
            for i in range(len(images))
        ]
        return _RANDOM[self.name](images, generators, *self.constants)


def _constants(name: str, severity: int, benchmark: str) -> Constants:
    if name in STRENGTHS:
        return (STRENGTHS[name][benchmark][severity - 1],)
    return SEVERITIES[name][benchmark][severity - 1]


def _check_name(name: str) -> list[str]:
    """The parts of a name that change anything."""
    known = (*SURROGATES, *ALL_SHIFTS, "none")
    parts = name.split("+") if isinstance(name, str) else [name]
    if "" in parts and len(parts) > 1:
        raise InputError(f"shift {name!r} has an empty part: put a name on each side of every '+'")
    for part in parts:
        check_name("shift", part, known)
    return [part for part in parts if part != "none"]


def _checked_strength(name: str, strength: float, images: Tensor) -> float:
    if name not in STRENGTHS:
        raise InputError(
            f"{name!r} has no single strength: choose a severity, or a surrogate "
            f"({', '.join(SURROGATES)})"
        )
    number = integer(strength)
    strength = strength if number is None else number
    if isinstance(strength, bool) or not isinstance(strength, Real) or not isfinite(strength):
        raise InputError(f"strength of {name} must be a finite number, not {strength!r}")
    if name == "median_blur":
        side = min(images.shape[2:])
        if strength != int(strength) or not 1 <= strength <= side:
            raise InputError(
                f"strength of median_blur must be a whole number of pixels from 1 to the images' "
                f"shorter side, {side}, not {strength!r}"
            )
    elif not _WEAKEST <= strength <= _STRONGEST:
        raise InputError(
            f"strength of {name} must lie between {_WEAKEST:g} and {_STRONGEST:g}, not {strength!r}"
        )
    return float(strength)
