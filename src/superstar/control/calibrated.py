"""The calibrated controller: a gate, then corrections that are worth it, one after another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import Denoiser
from superstar.actions.appearance import Appearance
from superstar.actions.plan import Plan
from superstar.control.candidates import DENOISER, Tried, try_candidates
from superstar.control.gate import Gate
from superstar.control.worth import Worth
from superstar.errors import InputError
from superstar.images import check_images, stream
from superstar.integers import whole
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler

Reason = Literal["clean", "home", "no_gain", "horizon"]
"""Why it stopped: the images could not be told from clean ones; no longer could be; no correction
was worth it; as many candidates as it may take."""


@dataclass(frozen=True)
class Limits:
    """Numbers of the search, of parameters `calibration.limits`.

    Attributes:
        horizon: most candidates of a plan.
        sample: images that corrections are tried on.
        least_fall: share of the reading that a correction must take away.
        most_rise: share of the reading by which no band may move away from home.
        least_gain: share of the lost accuracy that a correction must give back on surrogates.

    Raises:
        InputError: no candidate, or fewer than two images.
    """

    horizon: int
    sample: int
    least_fall: float
    most_rise: float
    least_gain: float

    def __post_init__(self) -> None:
        whole(self.horizon, "the horizon", 1)
        whole(self.sample, "the sample", 2)


@dataclass(frozen=True)
class Score:
    """How far images are from home.

    Attributes:
        reading: of the ruler, 0 at home.
        threshold: the reading that clean images exceed at the gate's rate.
        p_value: how often as many clean images read as much.
    """

    reading: float
    threshold: float
    p_value: float

    @property
    def away(self) -> bool:
        """Whether the images can be told from clean ones."""
        return self.reading > self.threshold


@dataclass(frozen=True)
class Choice:
    """A plan and how it came about.

    Attributes:
        plan: the corrections.
        readings: of all images as they came, then of the sample after each correction.
        threshold: the reading from which on images are told from clean ones.
        p_value: how often clean images read as much.
        stopped_by: why there is no further correction.
    """

    plan: Plan
    readings: tuple[float, ...]
    threshold: float
    p_value: float
    stopped_by: Reason


@dataclass(frozen=True)
class Calibrated:
    """Corrects images only where they left home, and only by what is worth it.

    1. Gate: the reading of the images as they came must exceed what clean batches of their size
       read, but for a share of them (`Gate`).
    2. Every candidate, a correction or several in a row (`THEN`), is fitted to one half of a sample
       and read on the other, and the other way round, so that what it matches by construction does
       not count by itself.
    3. Of those that pass, the one whose fall of the reading gave back most of the lost accuracy on
       surrogates (`Worth`) is taken; then 2 again, until the images can no longer be told from
       clean ones, none passes, or the horizon is reached. The denoiser is taken once at most.

    Attributes:
        ruler: whose home is clean images.
        appearance: of the same images; what corrections are fitted to.
        gate: of the ruler.
        worth: of the candidates by name.
        limits: of the search.
    """

    ruler: BandRuler
    appearance: Appearance
    gate: Gate
    worth: Mapping[str, Worth]
    limits: Limits

    def score(self, histogram: NDArray[np.floating], count: int) -> Score:
        """How far images are from home.

        Args:
            histogram: mean of their `band_histograms`, (bands, bins).
            count: how many images that are.
        """
        reading = float(self.ruler.reading(histogram, count))
        return Score(reading, self.gate.threshold(count), self.gate.p_value(reading, count))

    def choose(self, images: Tensor, denoiser: Denoiser | None, seed: int = 0) -> Choice:
        """A plan for a batch of images from one distribution.

        Args:
            images: float32 (N, 3, H, W) in [0, 1], of the ruler's size.
            denoiser: for `dncnn`; the package's if None.
            seed: of the sample.

        Raises:
            InputError: not a batch of images, or of another size than the ruler's.
        """
        check_images(images)
        size, home = tuple(images.shape[2:]), self.ruler.bands.image_size
        if size != home:
            raise InputError(
                f"images are {size[0]}x{size[1]} pixels, the controller's home is of "
                f"{home[0]}x{home[1]}: resize them"
            )
        count = len(images)
        histograms = band_histograms(images)
        score = self.score(histograms.mean(0), count)
        if not score.away:
            return Choice(
                Plan((), denoiser), (score.reading,), score.threshold, score.p_value, "clean"
            )
        drawn = np.sort(stream(seed, "sample").permutation(count)[: self.limits.sample])
        now, bands = images[torch.from_numpy(drawn)], self._bands(histograms[drawn])
        near = self.gate.threshold(len(drawn))
        taken: list[Tried] = []
        readings = [score.reading]
        reason: Reason = "horizon"
        while len(taken) < self.limits.horizon:
            if taken and readings[-1] <= near:
                reason = "home"
                break
            best = self._best(now, bands, taken, denoiser)
            if best is None:
                reason = "no_gain"
                break
            taken.append(best)
            readings.append(float(self.ruler.aggregate(best.bands)))
            now, bands = Plan(best.corrections, denoiser).apply(now), best.bands
        plan = Plan(tuple(step for each in taken for step in each.corrections), denoiser)
        return Choice(plan, tuple(readings), score.threshold, score.p_value, reason)

    def _bands(self, histograms: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.maximum(self.ruler.by_band(histograms.mean(0), len(histograms)), 0)

    def _best(
        self,
        images: Tensor,
        bands: NDArray[np.float64],
        taken: Sequence[Tried],
        denoiser: Denoiser | None,
    ) -> Tried | None:
        """The candidate that is worth most here, if any passes.

        No reading falls below 0, so the denoiser, which takes longest, is tried last, and only
        where the whole reading taken away would give back more than what was found before.
        """
        most, best = self.limits.least_gain, None
        reading = float(self.ruler.aggregate(bands))
        names = [name for name in self.worth if not taken or name != taken[-1].name]
        denoising = [name for name in names if DENOISER in name]
        if any(DENOISER in each.name for each in taken):
            denoising = []
        for group in ([name for name in names if DENOISER not in name], denoising):
            worthy = [name for name in group if self.worth[name].gain(1.0) > most]
            for tried in try_candidates(images, worthy, self.appearance, self.ruler, denoiser):
                fall = reading - float(self.ruler.aggregate(tried.bands))
                worth = self.worth[tried.name]
                if (
                    fall < max(worth.margin, self.limits.least_fall * reading)
                    or (tried.bands - bands).max() > self.limits.most_rise * bands.sum()
                ):
                    continue
                gain = worth.gain(fall / reading)
                if gain > most:
                    most, best = gain, tried
        return best
