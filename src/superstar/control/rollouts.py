"""Episodes played: one after another, or several at once with one pass of the policy network."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from superstar.control.env import ShiftEnv
from superstar.control.networks import N_FEATURES, Policy, SampledPolicy
from superstar.errors import InputError
from superstar.images import stream


@dataclass
class Episode:
    """What happened in an episode of T steps.

    Attributes:
        states: T states float32 (3,) that an action was chosen in.
        actions: T indices of actions.
        rewards: T rewards.
        info: the environment's last.
    """

    states: list[NDArray[np.float32]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def distance(self) -> float:
        """The last distance; NaN where the environment does not say."""
        return float(self.info.get("distance", float("nan")))

    @property
    def distance_ratio(self) -> float:
        """The last distance as a share of the first; NaN where the environment does not say."""
        initial = float(self.info.get("initial_distance", float("nan")))
        return 1.0 if initial == 0 else self.distance / initial

    def take(
        self, env: gymnasium.Env, state: NDArray[np.float32], action: int
    ) -> tuple[NDArray[np.float32], bool]:
        """Take an action in a state; the next state, and whether the episode has ended."""
        self.states.append(state)
        state, reward, terminated, truncated, self.info = env.step(action)
        self.actions.append(action)
        self.rewards.append(float(reward))
        return state, terminated or truncated


def play(env: gymnasium.Env, policy: Policy, rng: np.random.Generator) -> Episode:
    """Play one episode from a state that the environment draws."""
    episode = Episode()
    state, _ = env.reset()
    ended = False
    while not ended:
        state, ended = episode.take(env, state, policy(state, rng))
    return episode


def rollouts(
    env: ShiftEnv,
    policy: Policy,
    batches: Sequence[int],
    streams: Sequence[np.random.Generator],
) -> list[Episode]:
    """Play one episode from each of several batches, in step with one another.

    Each step asks the policy about all episodes that still run; a `SampledPolicy` answers with
    one pass of its network. Every episode draws from its own stream, and ends as it would alone.

    Args:
        env: the environment; the episodes share its memory. Images between corrections are kept
            within its memory limit, so let that hold a batch an episode, or they are computed anew.
        policy: π.
        batches: indices of the batches to start from.
        streams: a random stream for each.

    Returns:
        The episodes, in the order of `batches`.

    Raises:
        InputError: no such batch, or not a stream for each.
    """
    if len(batches) != len(streams):
        raise InputError(f"{len(batches)} episodes need as many streams, not {len(streams)}")
    views = [env.view() for _ in batches]
    states = [
        view.reset(options={"batch": batch})[0] for view, batch in zip(views, batches, strict=True)
    ]
    episodes = [Episode() for _ in batches]
    running = list(range(len(batches)))
    while running:
        actions = _choose(policy, [states[i] for i in running], [streams[i] for i in running])
        ended = set()
        for i, action in zip(running, actions, strict=True):
            states[i], done = episodes[i].take(views[i], states[i], action)
            if done:
                ended.add(i)
        running = [i for i in running if i not in ended]
    return episodes


def _choose(
    policy: Policy, states: list[NDArray[np.float32]], streams: list[np.random.Generator]
) -> list[int]:
    if isinstance(policy, SampledPolicy):
        return policy.choose(np.stack(states), streams)
    return [policy(state, stream) for state, stream in zip(states, streams, strict=True)]


def discounted_returns(rewards: Sequence[float], discount: float) -> list[float]:
    """Discounted sums of the rewards from each step to the last."""
    returns = []
    total = 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        returns.append(total)
    return returns[::-1]


def mean_return(env: ShiftEnv, policy: Policy, batches: int, discount: float, seed: int) -> float:
    """Mean discounted return of a policy, one episode a batch.

    Args:
        env: the environment; one for all policies, so that their returns compare.
        policy: π.
        batches: how many the environment has.
        discount: γ.
        seed: of the sampling, which is the same for every policy.
    """
    streams = [stream(seed, "sensitivity return", batch) for batch in range(batches)]
    episodes = rollouts(env, policy, range(batches), streams)
    return sum(discounted_returns(e.rewards, discount)[0] for e in episodes) / batches


def action_names(env: gymnasium.Env) -> tuple[str, ...]:
    """Names of the actions of an environment that the networks fit.

    Raises:
        InputError: an action space that is not `Discrete` from 0, or observations not of shape
            (3,).
    """
    space = env.action_space
    if not isinstance(space, spaces.Discrete) or space.start != 0:
        raise InputError(f"the action space must be Discrete and start at 0, not {space}")
    if env.observation_space.shape != (N_FEATURES,):
        raise InputError(
            f"observations must have shape ({N_FEATURES},), not {env.observation_space.shape}"
        )
    named = getattr(env.unwrapped, "actions", None)
    return tuple(named) if named else tuple(f"action_{i}" for i in range(int(space.n)))
