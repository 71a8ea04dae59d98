"""Distribution-shift recovery as a Markov decision process (paper, section 4)."""

from collections.abc import Mapping, Sequence
from copy import copy
from math import inf
from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from torch import Tensor

from superstar.actions import ACTIONS, Denoiser
from superstar.control.observation import STATE_HIGH, STATE_LOW
from superstar.control.regulariser import Regulariser, penalty
from superstar.control.transitions import Embedding, Outcome, Prefix, Transitions
from superstar.errors import InputError, check_name, unknown_name
from superstar.images import check_seed
from superstar.integers import whole
from superstar.measures import Distance
from superstar.measures.ssim import SMALLEST_DATA_RANGE


class ShiftEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Bring a shifted set of images closer to the validation set, one correction at a time.

    The hidden state is a set of images; the agent sees its three mean state features. An action
    applies one correction of the library to every image. The reward of a step is

        R = -W(V, after) + λ·L_S(V_c, after),  L_S = log(1 - ssim) if ssim < ω, else 0,

    (section 4, "Computing Reward", as the authors' release evaluates it: both terms after the
    action), with W the distance chosen and L_S in the form that `regulariser` names. The episode
    terminates when W ≤ α·W_0 and is truncated after `horizon` steps; β and operability belong to
    the run time (Algorithm 1), not to training.

    What was computed once for (batch, actions so far) is never computed again: see `Transitions`.
    `nop` changes nothing and is left out of the actions so far.

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
        if not SMALLEST_DATA_RANGE <= data_range < inf:
            raise InputError(
                f"data_range must be a number of at least {SMALLEST_DATA_RANGE:g}, not {data_range}"
            )
        check_name("regulariser", regulariser, get_args(Regulariser))
        self._set(horizon, alpha, ssim_weight, ssim_threshold)
        self._transitions = Transitions(
            batches,
            reference,
            projection,
            distance=distance,
            actions=actions,
            denoiser=denoiser,
            data_range=data_range,
            memory_limit=memory_limit,
        )
        self.distance = self._transitions.distance
        self.actions = self._transitions.actions
        self.data_range = data_range
        self.regulariser = regulariser
        self.observation_space = spaces.Box(STATE_LOW, STATE_HIGH, dtype=np.float32)
        self.action_space = spaces.Discrete(len(self.actions))
        self.steps = 0

        self._batch = 0
        self._prefix: Prefix = ()
        self._taken = 0
        self._running = False

    @property
    def distinct_steps(self) -> int:
        """Steps that had to be computed, by this environment and its views."""
        return self._transitions.computed

    @property
    def hit_rate(self) -> float:
        """Share of the steps that were known already, in [0, 1]; 0 before the first step."""
        return 1 - self.distinct_steps / self.steps if self.steps else 0.0

    def view(
        self,
        *,
        horizon: int | None = None,
        alpha: float | None = None,
        ssim_weight: float | None = None,
        ssim_threshold: float | None = None,
    ) -> "ShiftEnv":
        """Another environment on the same batches and the same memory, with episodes of its own.

        Its random stream and its count of steps are its own too. Distances, states and
        similarities depend on none of the arguments, so what is known holds for every view.

        Args:
            horizon: as of the environment; None keeps its value, here and below.
            alpha: as of the environment.
            ssim_weight: as of the environment.
            ssim_threshold: as of the environment.

        Raises:
            InputError: an argument outside its range.
        """
        view = copy(self)
        view._set(
            self.horizon if horizon is None else horizon,
            self.alpha if alpha is None else alpha,
            self.ssim_weight if ssim_weight is None else ssim_weight,
            self.ssim_threshold if ssim_threshold is None else ssim_threshold,
        )
        view.steps, view._running = 0, False
        view._np_random, view._np_random_seed = None, None
        view.action_space = spaces.Discrete(len(self.actions))
        return view

    def _set(self, horizon: int, alpha: float, ssim_weight: float, ssim_threshold: float) -> None:
        """Take what ends an episode and what its rewards are, if it is in range."""
        self.horizon = whole(horizon, "the horizon", 1)
        if not 0 < alpha <= 1:
            raise InputError(f"alpha must lie in (0, 1], not {alpha}")
        if not 0 <= ssim_weight < inf:
            raise InputError(f"the weight of SSIM must be at least 0, not {ssim_weight}")
        if not 0 <= ssim_threshold <= 1:
            raise InputError(f"the threshold of SSIM must lie in [0, 1], not {ssim_threshold}")
        self.alpha = alpha
        self.ssim_weight = ssim_weight
        self.ssim_threshold = ssim_threshold

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
        super().reset(seed=None if seed is None else check_seed(seed))
        if not isinstance(options, Mapping | None):
            raise InputError(
                f"options of reset are a mapping such as {{'batch': 0}}, not {options!r}"
            )
        wanted = dict(options or {})
        if "batch" in wanted:
            batch = wanted.pop("batch")
            batch = whole(batch, "a batch", most=len(self._transitions) - 1)
        else:
            batch = int(self.np_random.integers(len(self._transitions)))
        if wanted:
            raise unknown_name("option of reset", next(iter(wanted)), ["batch"])
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
        chosen = whole(action, "an action", most=len(self.actions) - 1)
        self.steps += 1
        self._taken += 1
        if self.actions[chosen] != "nop":
            self._prefix = (*self._prefix, chosen)
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
        self._transitions.release()
        self._running = False
        super().close()

    def _reward(self, outcome: Outcome) -> float:
        assert outcome.similarity is not None
        change = penalty(self.regulariser, outcome.similarity, self.ssim_threshold)
        return -outcome.distance + self.ssim_weight * change

    def _ends(self, outcome: Outcome) -> bool:
        return outcome.distance <= self.alpha * self._initial_distance

    def _info(self, outcome: Outcome) -> dict[str, Any]:
        return {
            "distance": outcome.distance,
            "initial_distance": self._initial_distance,
            "similarity": outcome.similarity,
            "sequence": tuple(self.actions[action] for action in self._prefix),
            "batch": self._batch,
        }

    def _outcome(self, prefix: Prefix) -> Outcome:
        # A prefix that ends its episode is never continued.
        return self._transitions.outcome(
            self._batch,
            prefix,
            keep=lambda outcome: len(prefix) < self.horizon and not self._ends(outcome),
        )

    @property
    def _initial_distance(self) -> float:
        return self._transitions.outcome(self._batch).distance
