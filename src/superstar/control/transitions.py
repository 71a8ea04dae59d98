"""What corrections do to batches of images, computed once and remembered."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import ACTIONS, Denoiser, apply_action
from superstar.control.observation import observe
from superstar.errors import InputError, check_name
from superstar.images import check_images
from superstar.measures import Distance, ssim

Prefix = tuple[int, ...]
"""Actions applied so far, as indices, without `nop`, which changes nothing."""
Embedding = Callable[[Tensor], Tensor]
"""Images float32 (N, 3, H, W) to points (N, m): a `Projection`, or what `distance` asks for."""


@dataclass(frozen=True)
class Outcome:
    """What there is to know of the images a prefix of actions makes.

    Attributes:
        state: float32 (3,), the state features' mean.
        distance: to the validation points.
        similarity: mean SSIM to the initial images, 1 for these themselves; None if not asked for.
    """

    state: NDArray[np.float32]
    distance: float
    similarity: float | None


class PrefixImages:
    """Images of action prefixes, the least recently used dropped beyond a number of bytes."""

    def __init__(self, memory_limit: int) -> None:
        self.memory_limit = memory_limit
        self.bytes = 0
        self._kept: OrderedDict[tuple[int, Prefix], Tensor] = OrderedDict()

    def get(self, batch: int, prefix: Prefix) -> Tensor | None:
        """The images, if still kept."""
        images = self._kept.get((batch, prefix))
        if images is not None:
            self._kept.move_to_end((batch, prefix))
        return images

    def put(self, batch: int, prefix: Prefix, images: Tensor) -> None:
        """Keep the images, unless they alone exceed the limit."""
        if images.nbytes > self.memory_limit or (batch, prefix) in self._kept:
            return
        self._kept[batch, prefix] = images
        self.bytes += images.nbytes
        while self.bytes > self.memory_limit:
            _, dropped = self._kept.popitem(last=False)
            self.bytes -= dropped.nbytes

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self.bytes = 0


class Transitions:
    """Outcomes of prefixes of actions on batches of images.

    Actions are deterministic, so what was measured once for (batch, prefix) is never measured
    again. Images are kept within `memory_limit`, and made anew from the longest kept prefix when
    they are needed.

    Arguments are those of `ShiftEnv`; a prefix holds indices into `actions`, and without a
    `data_range` no similarity is measured.

    Raises:
        InputError: no batch, an unknown distance, an unknown or repeated action, `dncnn` without
            a denoiser, a negative memory limit.
    """

    def __init__(
        self,
        batches: Sequence[Tensor],
        reference: Tensor,
        projection: Embedding,
        *,
        distance: str | Distance = "wasserstein",
        actions: Sequence[str] = ACTIONS,
        denoiser: Denoiser | None = None,
        data_range: float | None = None,
        memory_limit: int,
    ) -> None:
        if len(batches) == 0:
            raise InputError("at least one batch of images is needed")
        if not memory_limit >= 0:
            raise InputError(f"the memory limit must be at least 0 bytes, not {memory_limit}")
        check_actions(actions, denoiser)
        self.actions = tuple(actions)
        self.distance = Distance.of(distance)
        self._batches = batches
        self._reference = reference
        self._projection = projection
        self._denoiser = denoiser
        self._data_range = data_range
        self._outcomes: dict[tuple[int, Prefix], Outcome] = {}
        self._states: dict[tuple[int, Prefix], NDArray[np.float32]] = {}
        self._distances: dict[tuple[int, Prefix], float] = {}
        self._seen: set[tuple[int, Prefix]] = set()
        self._images = PrefixImages(memory_limit)
        self._initial: tuple[int, Tensor] | None = None

    def __len__(self) -> int:
        """How many batches there are."""
        return len(self._batches)

    @property
    def computed(self) -> int:
        """How many different prefixes' images had to be computed."""
        return len(self._seen)

    def outcome(
        self, batch: int, prefix: Prefix = (), keep: Callable[[Outcome], bool] | None = None
    ) -> Outcome:
        """All that there is to know of where the actions of a prefix lead.

        Args:
            batch: index of a batch.
            prefix: indices of actions, none of them `nop`.
            keep: whether the prefix may be continued, so that its images are worth keeping; by
                default it may.
        """
        known = self._outcomes.get((batch, prefix))
        if known is not None:
            return known
        images = self._images_once(batch, prefix)
        similarity = None
        if self._data_range is not None:
            initial = self._initial_images(batch)
            similarity = (
                float(ssim(initial, images, data_range=self._data_range)) if prefix else 1.0
            )
        outcome = Outcome(
            self.state(batch, prefix, images), self.distance_at(batch, prefix, images), similarity
        )
        self._outcomes[batch, prefix] = outcome
        if prefix and (keep is None or keep(outcome)):
            self._images.put(batch, prefix, images)
        return outcome

    def state(
        self, batch: int, prefix: Prefix = (), images: Tensor | None = None
    ) -> NDArray[np.float32]:
        """The state alone, float32 (3,); `images` are those of the prefix, if at hand."""
        if (batch, prefix) not in self._states:
            self._states[batch, prefix] = observe(
                self.images(batch, prefix) if images is None else images
            )
        return self._states[batch, prefix]

    def distance_at(self, batch: int, prefix: Prefix = (), images: Tensor | None = None) -> float:
        """The distance alone; `images` are those of the prefix, if at hand."""
        if (batch, prefix) not in self._distances:
            points = self._projection(self.images(batch, prefix) if images is None else images)
            self._distances[batch, prefix] = self.distance(self._reference, points)
        return self._distances[batch, prefix]

    def images(self, batch: int, prefix: Prefix = ()) -> Tensor:
        """The images after the actions of a prefix; the batch itself after none."""
        images = self._images_once(batch, prefix)
        if prefix:
            self._images.put(batch, prefix, images)
        return images

    def _images_once(self, batch: int, prefix: Prefix) -> Tensor:
        """The images after the actions of a prefix, those of shorter prefixes kept."""
        if not prefix:
            return self._initial_images(batch)
        images = self._images.get(batch, prefix)
        if images is None:
            images = self._apply(self.images(batch, prefix[:-1]), prefix[-1])
            self._seen.add((batch, prefix))
        return images

    def release(self) -> None:
        """Free the images kept; what is known of the prefixes stays."""
        self._images.clear()
        self._initial = None

    def _apply(self, images: Tensor, action: int) -> Tensor:
        return apply_action(images, self.actions[action], denoiser=self._denoiser)

    def _initial_images(self, batch: int) -> Tensor:
        if self._initial is None or self._initial[0] != batch:
            images = check_images(self._batches[batch], f"batch {batch}")
            self._initial = (batch, images)
        return self._initial[1]


def check_actions(actions: Sequence[str], denoiser: Denoiser | None) -> None:
    """Refuse a list of actions that could not be carried out.

    Raises:
        InputError: no action, an unknown or repeated name, `dncnn` without a denoiser.
    """
    if len(actions) == 0:
        raise InputError(f"at least one action is needed (known: {', '.join(ACTIONS)})")
    for name in actions:
        check_name("action", name, ACTIONS)
    if len(set(actions)) < len(actions):
        raise InputError(f"an action is named twice: {', '.join(actions)}")
    if "dncnn" in actions and denoiser is None:
        raise InputError("the action 'dncnn' needs a denoiser: pass one or leave the action out")
