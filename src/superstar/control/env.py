"""Distribution-shift recovery as a Markov decision process (paper, section 4)."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Integral
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import ACTIONS, Denoiser, apply_action
from superstar.control.observation import STATE_HIGH, STATE_LOW, observe
from superstar.control.regulariser import Regulariser, check_regulariser, penalty
from superstar.errors import InputError, unknown_name
from superstar.images import check_images
from superstar.measures import Distance, ssim
from superstar.measures.ssim import SMALLEST_DATA_RANGE

Prefix = tuple[int, ...]
Embedding = Callable[[Tensor], Tensor]
"""Images float32 (N, 3, H, W) to points (N, m): a `Projection`, or what `distance` asks for."""


@dataclass(frozen=True)
class Outcome:
    """What there is to know of the images a prefix of actions makes.

    Attributes:
        state: float32 (3,), the state features' mean.
        distance: to the validation points.
        similarity: mean SSIM to the initial images; 1 for the initial images themselves.
    """

    state: NDArray[np.float32]
    distance: float
    similarity: float


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


class ShiftEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Bring a shifted set of images closer to the validation set, one correction at a time.

    The hidden state is a set of images; the agent sees its three mean state features. An action
    applies one correction of the library to every image. The reward of a step is

        R = -W(V, after) + λ·L_S(V_c, after),  L_S = log(1 - ssim) if ssim < ω, else 0,

    (section 4, "Computing Reward", as the authors' release evaluates it: both terms after the
    action), with W the distance chosen and L_S in the form that `regulariser` names. The episode
    terminates when W ≤ α·W_0 and is truncated after `horizon` steps; β and operability belong to
    the run time (Algorithm 1), not to training.

    Transitions are deterministic, so what was computed once for (batch, actions so far) is never
    computed again: features, distance and similarity of every prefix are kept for good, images
    of prefixes within `memory_limit`, rebuilt from the longest kept prefix when they are needed.
    `nop` changes nothing and is left out of the prefix.

    `info` of `reset` and `step`: `distance`, `initial_distance`, `similarity`, `sequence` (names
    of the corrections applied so far, without `nop`), `batch` (index of the initial set).

    Args:
        batches: initial sets V_c, each float32 (N, 3, H, W) in [0, 1]; `reset` draws one
            uniformly, or takes the one that `options={"batch": i}` names. Any sequence will do,
            also one that loads a batch when asked; each is checked when it is first used.
        reference: the projected validation set, (n, m).
        projection: what projected it; applied to every set of images. Any function from images to
            points (N, m) will do; for the distance `aline_d` it gives an ensemble's predictions
            (N, K), and the reference is (n, 1 + K), true labels first.
        distance: between sets of points; a name stands for `Distance.create(name)`.
        actions: names of the library, in the order of the action space.
        horizon: most steps of an episode, at least 1.
        alpha: the episode ends at this share of the initial distance, in (0, 1].
        ssim_weight: λ, at least 0.
        ssim_threshold: ω, in [0, 1].
        regulariser: the form of L_S: "paper", or "monotone", which grows as similarity falls.
        data_range: dynamic range that SSIM assumes. The paper's 255, for images in [0, 1], makes
            SSIM's constants dominate; its λ and ω are meant for that.
        denoiser: for `dncnn`.
        memory_limit: bytes of images of prefixes to keep, at least 0; batches in `batches` and
            the images at hand come on top.

    Raises:
        InputError: an argument outside its range, an unknown distance or regulariser, an unknown
            or repeated action, `dncnn` without a denoiser, no batch.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (the base class says so)

    def __init__(
        self,
        batches: Sequence[Tensor],
        reference: Tensor,
        projection: Embedding,
        *,
        distance: str | Distance = "wasserstein",
        actions: Sequence[str] = ACTIONS,
        horizon: int = 5,
        alpha: float = 0.9,
        ssim_weight: float,
        ssim_threshold: float,
        data_range: float = 255.0,
        regulariser: Regulariser = "paper",
        denoiser: Denoiser | None = None,
        memory_limit: int = 2**30,
    ) -> None:
        if len(batches) == 0:
            raise InputError("the environment needs at least one batch of images")
        if horizon < 1:
            raise InputError(f"the horizon must be at least 1, not {horizon}")
        if not 0 < alpha <= 1:
            raise InputError(f"alpha must lie in (0, 1], not {alpha}")
        if not 0 <= ssim_weight < inf:
            raise InputError(f"the weight of SSIM must be at least 0, not {ssim_weight}")
        if not SMALLEST_DATA_RANGE <= data_range < inf:
            raise InputError(
                f"data_range must be a number of at least {SMALLEST_DATA_RANGE:g}, not {data_range}"
            )
        if not 0 <= ssim_threshold <= 1:
            raise InputError(f"the threshold of SSIM must lie in [0, 1], not {ssim_threshold}")
        if memory_limit < 0:
            raise InputError(f"the memory limit must be at least 0 bytes, not {memory_limit}")
        check_regulariser(regulariser)
        check_actions(actions, denoiser)
        self.distance = Distance.of(distance)
        self.actions = tuple(actions)
        self.horizon = horizon
        self.alpha = alpha
        self.ssim_weight = ssim_weight
        self.ssim_threshold = ssim_threshold
        self.data_range = data_range
        self.regulariser = regulariser
        self.observation_space = spaces.Box(STATE_LOW, STATE_HIGH, dtype=np.float32)
        self.action_space = spaces.Discrete(len(self.actions))
        self.steps = 0
        self.distinct_steps = 0

        self._batches = batches
        self._reference = reference
        self._projection = projection
        self._denoiser = denoiser
        self._outcomes: dict[tuple[int, Prefix], Outcome] = {}
        self._images = PrefixImages(memory_limit)
        self._initial: tuple[int, Tensor] | None = None
        self._batch = 0
        self._prefix: Prefix = ()
        self._taken = 0
        self._running = False

    @property
    def hit_rate(self) -> float:
        """Share of the steps that were known already, in [0, 1]; 0 before the first step."""
        return 1 - self.distinct_steps / self.steps if self.steps else 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: restarts the environment's random stream.
            options: `{"batch": i}` starts from batch i instead of a random one.

        Returns:
            The state, float32 (3,), and `info`.

        Raises:
            InputError: no such batch, an unknown option, or the batch is none of images.
        """
        self._running = False
        super().reset(seed=seed)
        wanted = dict(options or {})
        if "batch" in wanted:
            batch = wanted.pop("batch")
            if not isinstance(batch, Integral):
                raise InputError(f"a batch is named by its index, not by {batch!r}")
            batch = int(batch)
        else:
            batch = int(self.np_random.integers(len(self._batches)))
        if wanted:
            raise unknown_name("option of reset", next(iter(wanted)), ["batch"])
        if not 0 <= batch < len(self._batches):
            raise InputError(f"there is no batch {batch}: there are {len(self._batches)}")
        self._batch, self._prefix, self._taken = batch, (), 0
        outcome = self._outcome(())
        self._running = True
        return outcome.state.copy(), self._info(outcome)

    def step(
        self, action: np.int64 | int
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Apply an action.

        Returns:
            State float32 (3,), reward, terminated (W ≤ α·W_0), truncated (horizon), `info`.

        Raises:
            ResetNeeded: before the first `reset` or after the end of an episode.
            InputError: no such action.
        """
        if not self._running:
            raise ResetNeeded("call reset() first: no episode is running")
        if not isinstance(action, Integral) or not 0 <= action < len(self.actions):
            raise InputError(f"there is no action {action}: there are {len(self.actions)}")
        self.steps += 1
        self._taken += 1
        if self.actions[action] != "nop":
            self._prefix = (*self._prefix, int(action))
        outcome = self._outcome(self._prefix)
        terminated = self._ends(outcome)
        truncated = self._taken >= self.horizon
        self._running = not (terminated or truncated)
        return (
            outcome.state.copy(),
            self._reward(outcome),
            terminated,
            truncated,
            self._info(outcome),
        )

    def close(self) -> None:
        """Free the images kept; what is known of the prefixes stays."""
        self._images.clear()
        self._initial = None
        self._running = False
        super().close()

    def _reward(self, outcome: Outcome) -> float:
        change = penalty(self.regulariser, outcome.similarity, self.ssim_threshold)
        return -outcome.distance + self.ssim_weight * change

    def _ends(self, outcome: Outcome) -> bool:
        return outcome.distance <= self.alpha * self._outcomes[self._batch, ()].distance

    def _info(self, outcome: Outcome) -> dict[str, Any]:
        return {
            "distance": outcome.distance,
            "initial_distance": self._outcomes[self._batch, ()].distance,
            "similarity": outcome.similarity,
            "sequence": tuple(self.actions[action] for action in self._prefix),
            "batch": self._batch,
        }

    def _outcome(self, prefix: Prefix) -> Outcome:
        known = self._outcomes.get((self._batch, prefix))
        if known is not None:
            return known
        initial = self._initial_images()
        images = initial
        if prefix:
            self.distinct_steps += 1
            images = self._apply(self._prefix_images(prefix[:-1]), prefix[-1])
        outcome = Outcome(
            state=observe(images),
            distance=self.distance(self._reference, self._projection(images)),
            similarity=(
                float(ssim(initial, images, data_range=self.data_range)) if prefix else 1.0
            ),
        )
        self._outcomes[self._batch, prefix] = outcome
        # A prefix that ends its episode is never continued: its images are not needed again.
        if prefix and len(prefix) < self.horizon and not self._ends(outcome):
            self._images.put(self._batch, prefix, images)
        return outcome

    def _prefix_images(self, prefix: Prefix) -> Tensor:
        if not prefix:
            return self._initial_images()
        images = self._images.get(self._batch, prefix)
        if images is None:
            images = self._apply(self._prefix_images(prefix[:-1]), prefix[-1])
            self._images.put(self._batch, prefix, images)
        return images

    def _apply(self, images: Tensor, action: int) -> Tensor:
        return apply_action(images, self.actions[action], denoiser=self._denoiser)

    def _initial_images(self) -> Tensor:
        if self._initial is None or self._initial[0] != self._batch:
            images = check_images(self._batches[self._batch], f"batch {self._batch}")
            self._initial = (self._batch, images)
        return self._initial[1]


def check_actions(actions: Sequence[str], denoiser: Denoiser | None) -> None:
    """Refuse a list of actions that could not be carried out.

    Raises:
        InputError: no action, an unknown or repeated name, `dncnn` without a denoiser.
    """
    if len(actions) == 0:
        raise InputError(f"at least one action is needed (known: {', '.join(ACTIONS)})")
    for name in actions:
        if name not in ACTIONS:
            raise unknown_name("action", name, ACTIONS)
    if len(set(actions)) < len(actions):
        raise InputError(f"an action is named twice: {', '.join(actions)}")
    if "dncnn" in actions and denoiser is None:
        raise InputError("the action 'dncnn' needs a denoiser: pass one or leave the action out")
