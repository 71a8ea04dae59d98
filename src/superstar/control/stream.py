"""A supervisor over a stream: images in one at a time, corrected images out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import Plan
from superstar.control.calibrated import Reason, Score
from superstar.control.supervisor import Supervisor
from superstar.errors import InputError
from superstar.images import check_images, check_seed, stream
from superstar.integers import whole
from superstar.measures.bands import band_histograms
from superstar.measures.rulers import BandRuler

SMALLEST_WINDOW = 2
PERMUTATIONS = 999
"""That two windows are compared by, at least."""


@dataclass(frozen=True)
class Alarm:
    """What a full window told, where it differs from what the one before told.

    Attributes:
        kind: "drift" (images left home), "change" (the drift is another than the plan was chosen
            for) or "end" (they are home again).
        images: how many images had come.
        score: of the window, uncorrected.
        plan: from here on.
        stopped_by: why the plan has no further correction; None at the end of a drift.
    """

    kind: Literal["drift", "change", "end"]
    images: int
    score: Score
    plan: Plan
    stopped_by: Reason | None = None


class SupervisorStream:
    """Corrects images one at a time by a plan that it chooses when they drift.

    Windows follow one another and share no image, so that of windows of clean images a share of
    `rate` raises an alarm, whatever the length of the stream. When a window is full:

    1. It is at home: there is no plan from here on.
    2. It left home, and the one before had not: the controller `calibrated` chooses a plan on it.
    3. So had the one before: the plan stays, unless the window can be told, at the same rate, from
       the one that the plan was chosen on. Then one is chosen anew.

    A plan holds from the image that fills its window on. It keeps one window of images, and the
    histograms of two. Not for use by several threads at once.

    Args:
        supervisor: one that holds the controller `calibrated`.
        window: images in a window.
        rate: of false alarms, by window; None takes the controller's own.
        on_alarm: called with each `Alarm`, before the image that caused it is returned.
        seed: of the sample that corrections are tried on, and of the comparison of windows.

    Attributes:
        plan: that is applied now.
        drifting: whether the last full window had left home.

    Raises:
        InputError: no such controller, a window below 2, a bad seed, or a rate that the
            controller's clean images do not support.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        window: int = 50,
        rate: float | None = None,
        on_alarm: Callable[[Alarm], object] | None = None,
        seed: int = 0,
    ) -> None:
        calibrated = supervisor.need_calibrated()
        if rate is not None:
            calibrated = replace(calibrated, gate=replace(calibrated.gate, rate=rate))
        self._supervisor, self._calibrated = supervisor, calibrated
        self._on_alarm, self._seed = on_alarm, check_seed(seed)
        window = whole(window, "a window", SMALLEST_WINDOW)
        self._images = torch.empty((window, 3, *supervisor.image_size))
        self._histograms = np.empty((window, *calibrated.ruler.clean.shape), np.float32)
        self._reference: NDArray[np.float32] | None = None
        self._seen = 0
        self.plan = Plan()

    @property
    def drifting(self) -> bool:
        """Whether the last full window had left home."""
        return self._reference is not None

    def push(self, image: Tensor) -> Tensor:
        """Take the next image.

        Args:
            image: float32 (3, H, W) in [0, 1], of the supervisor's size; not modified.

        Returns:
            The image, corrected: float32 (3, H, W) in [0, 1].

        Raises:
            InputError: no such image; the stream is then as it was.
        """
        if not isinstance(image, Tensor) or image.ndim != 3:
            raise InputError("push takes one image, a torch.Tensor of shape (3, H, W)")
        alone = check_images(image.detach()[None], "image")
        self._supervisor.check_size(alone)
        place = self._seen % len(self._images)
        self._images[place] = alone[0]
        self._histograms[place] = band_histograms(alone)[0]
        self._seen += 1
        if place + 1 == len(self._images):
            self._judge()
        return self.plan.apply(alone)[0]

    def wrap(self, classifier: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        """A classifier behind the stream: it sees corrected images.

        Args:
            classifier: from a batch, float32 (N, 3, H, W) in [0, 1], to whatever it gives.

        Returns:
            A function of such batches, whose images it takes in their order.
        """

        def classify(images: Tensor) -> Any:
            self._supervisor.check_size(check_images(images))
            return classifier(torch.stack([self.push(image) for image in images]))

        return classify

    def _judge(self) -> None:
        """What a full window tells."""
        before, count = self._reference, len(self._images)
        score = self._calibrated.score(self._histograms.mean(0), count)
        if not score.away:
            self.plan, self._reference = Plan(), None
            if before is not None:
                self._tell(Alarm("end", self._seen, score, self.plan))
            return
        if before is not None and not self._changed(before):
            return
        choice = self._calibrated.choose(self._images, self._supervisor.denoiser, self._seed)
        self.plan, self._reference = choice.plan, self._histograms.copy()
        kind: Literal["drift", "change"] = "drift" if before is None else "change"
        self._tell(Alarm(kind, self._seen, score, self.plan, choice.stopped_by))

    def _changed(self, before: NDArray[np.float32]) -> bool:
        """Whether the window can be told, at the rate, from an earlier one."""
        rng = stream(self._seed, "windows", self._seen)
        calibrated = self._calibrated
        return told_apart(before, self._histograms, calibrated.ruler, calibrated.gate.rate, rng)

    def _tell(self, alarm: Alarm) -> None:
        if self._on_alarm is not None:
            self._on_alarm(alarm)


def told_apart(
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    ruler: BandRuler,
    rate: float,
    rng: np.random.Generator,
) -> bool:
    """Whether two sets of images look different, by a test of permutation.

    The statistic is the ruler's transport distance between the two, mean over the bands. It is
    compared with that of random parts of their union, so that two sets of the same kind are told
    apart at the rate at most.

    Args:
        first: histograms of images, (n, bands, bins).
        second: of other images, (m, bands, bins).
        ruler: whose scale counts.
        rate: of false alarms, where both sets come from one distribution.
        rng: of the permutations.
    """
    union = np.cumsum(np.concatenate([first, second]), axis=2) / ruler.spread[:, None]
    flat = union.reshape(len(union), -1)
    own = np.r_[np.full(len(first), 1 / len(first)), np.full(len(second), -1 / len(second))]
    draws = max(PERMUTATIONS, int(np.ceil(1 / rate)) - 1)
    signs = np.stack([own, *(rng.permutation(own) for _ in range(draws))])
    distances = np.abs(signs.astype(np.float32) @ flat).sum(1)
    return bool((distances >= distances[0]).sum() <= rate * len(distances))
