"""Advantage actor-critic: how the policy is learned (paper, appendix E, "Policy Network")."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor
from torch.nn import functional

from superstar.control.networks import (
    N_FEATURES,
    Actor,
    Critic,
    Policy,
    always,
    one_thread,
    sampled,
    uniform,
)
from superstar.errors import InputError
from superstar.images import stream
from superstar.training import global_seed


@dataclass(frozen=True)
class TrainingResult:
    """What training leaves.

    Attributes:
        actor: the policy network.
        critic: the value network; its values are of returns times `reward_scale`.
        curves: one row an episode: `episode`, `reward` (of the last step), `return` (discounted),
            `length`, `distance_ratio` (final to initial distance; NaN where the environment does
            not say), `entropy` (nats, mean over the steps, of the policy), `exploration` (the
            probability of a uniform action), one column an action with how often it was taken,
            `distinct_steps` (computed by the environment so far; NaN where it does not say).
    """

    actor: Actor
    critic: Critic
    curves: pd.DataFrame


@dataclass
class _Episode:
    states: list[NDArray[np.float32]]
    actions: list[int]
    rewards: list[float]
    info: dict[str, Any]

    @property
    def distance_ratio(self) -> float:
        if "distance" not in self.info or "initial_distance" not in self.info:
            return float("nan")
        initial = self.info["initial_distance"]
        return self.info["distance"] / initial if initial > 0 else 1.0


def train_actor_critic(
    env: gymnasium.Env,
    *,
    episodes: int,
    learning_rate: float = 1e-4,
    discount: float = 0.9,
    exploration_base: float = 0.9,
    exploration_decay: float = 0.07,
    exploration_floor: float = 0.1,
    reward_scale: float = 0.01,
    seed: int = 0,
    progress: bool = True,
) -> TrainingResult:
    """Learn a policy with Monte Carlo advantage actor-critic, an update each episode.

    In episode e = 0, 1, ... each action is drawn uniformly with probability
    max(floor, base^(decay·(e + 1))), otherwise from the policy. The defaults are the paper's
    (appendix E), but for `reward_scale`.

    Args:
        env: observations float32 (3,), a `Discrete` action space starting at 0.
        episodes: how many, at least 1.
        learning_rate: Adam's, of both networks.
        discount: γ of the returns, in [0, 1].
        exploration_base: base of the exploration probability, in (0, 1].
        exploration_decay: its exponent per episode, at least 0.
        exploration_floor: the least exploration probability, in [0, 1].
        reward_scale: rewards are multiplied by this before the updates, not in the curves. Returns
            of several hundreds are out of the critic's reach at 1e-4 within some hundred updates,
            and until then every advantage is negative; near 1 it follows. The actor's
            gradient is scaled alike, which Adam undoes.
        seed: of initial weights, exploration, sampling and the environment.
        progress: show a progress bar.

    Returns:
        The networks and the training curves. Equal seeds give equal networks.

    Raises:
        InputError: an argument outside its range or another kind of environment.
    """
    if episodes < 1:
        raise InputError(f"the number of episodes must be at least 1, not {episodes}")
    if not 0 <= discount <= 1:
        raise InputError(f"the discount must lie in [0, 1], not {discount}")
    if not learning_rate > 0 or not reward_scale > 0:
        raise InputError(
            f"learning rate and reward scale must exceed 0, not {learning_rate} and {reward_scale}"
        )
    if not (0 < exploration_base <= 1 and exploration_decay >= 0 and 0 <= exploration_floor <= 1):
        raise InputError(
            "exploration needs a base in (0, 1], a decay of at least 0 and a floor in [0, 1], not "
            f"{exploration_base}, {exploration_decay}, {exploration_floor}"
        )
    names = _action_names(env)
    actor, critic = _initial_networks(len(names), seed)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=learning_rate)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=learning_rate)
    policy = sampled(actor)
    rng = stream(seed, "actor_critic")
    env.reset(seed=seed)

    rows = []
    for episode in _track(range(episodes), progress):
        exploration = max(
            exploration_floor, exploration_base ** (exploration_decay * (episode + 1))
        )

        def explore(
            state: NDArray[np.float32], rng: np.random.Generator, rate: float = exploration
        ) -> int:
            return int(rng.integers(len(names))) if rng.random() < rate else policy(state, rng)

        history = _play(env, explore, rng)
        returns = _returns(history.rewards, discount)
        with one_thread():
            entropy = _update(
                actor,
                critic,
                actor_optimizer,
                critic_optimizer,
                states=torch.from_numpy(np.stack(history.states)),
                actions=torch.tensor(history.actions),
                returns=torch.tensor(returns, dtype=torch.float32) * reward_scale,
            )
        counts = Counter(history.actions)
        rows.append(
            {
                "episode": episode,
                "reward": history.rewards[-1],
                "return": returns[0],
                "length": len(history.rewards),
                "distance_ratio": history.distance_ratio,
                "entropy": entropy,
                "exploration": exploration,
                **{name: counts[index] for index, name in enumerate(names)},
                "distinct_steps": getattr(env.unwrapped, "distinct_steps", float("nan")),
            }
        )
    return TrainingResult(actor.eval(), critic.eval(), pd.DataFrame(rows))


def evaluate_policy(
    env: gymnasium.Env,
    actor: Actor,
    batches: Iterable[int],
    seed: int = 0,
    *,
    discount: float = 0.9,
) -> pd.DataFrame:
    """Play one episode a batch with the learned policy and with two that learned nothing.

    Args:
        env: an environment that takes `reset(options={"batch": i})`, such as a `ShiftEnv` over
            batches that training never saw.
        actor: the policy network; its actions are sampled.
        batches: indices of the batches to start from.
        seed: of the sampling.
        discount: γ of the returns.

    Returns:
        One row a policy and batch: `policy` ("actor", "random" or, where the environment has
        that action, "nop"), `batch`, `return` (discounted), `length`, `distance_ratio` (final to
        initial), `sequence` (list of action names).

    Raises:
        InputError: an actor with another number of actions, no such batch.
    """
    names = _action_names(env)
    if actor.n_actions != len(names):
        raise InputError(f"the actor has {actor.n_actions} actions, the environment {len(names)}")
    policies = {"actor": sampled(actor), "random": uniform(len(names))}
    if "nop" in names:
        policies["nop"] = always(names.index("nop"))
    rows = []
    for batch in batches:
        for name, policy in policies.items():
            rng = stream(seed, "evaluate_policy", name, batch)
            history = _play(env, policy, rng, options={"batch": batch})
            rows.append(
                {
                    "policy": name,
                    "batch": batch,
                    "return": _returns(history.rewards, discount)[0],
                    "length": len(history.rewards),
                    "distance_ratio": history.distance_ratio,
                    "sequence": [names[action] for action in history.actions],
                }
            )
    return pd.DataFrame(rows)


def _update(
    actor: Actor,
    critic: Critic,
    actor_optimizer: torch.optim.Optimizer,
    critic_optimizer: torch.optim.Optimizer,
    *,
    states: Tensor,
    actions: Tensor,
    returns: Tensor,
) -> float:
    """One gradient step of both networks on an episode of T steps; the policy's entropy before.

    `states` float32 (T, 3), `actions` int64 (T,), `returns` float32 (T,).
    """
    log_policy = functional.log_softmax(actor(states), dim=-1)
    log_probabilities = log_policy.gather(1, actions[:, None]).squeeze(1)
    values = critic(states)
    # How much better the episode went than the critic expected; no gradient through the critic.
    advantages = returns - values.detach()
    # Policy loss: raise the log-probability of actions in proportion to their advantage.
    policy_loss = -(advantages * log_probabilities).mean()
    # Value loss: mean squared error of the critic against the Monte Carlo returns.
    value_loss = functional.mse_loss(values, returns)

    actor_optimizer.zero_grad()
    policy_loss.backward()
    actor_optimizer.step()
    critic_optimizer.zero_grad()
    value_loss.backward()
    critic_optimizer.step()
    return float(-(log_policy.exp() * log_policy).sum(dim=-1).mean().detach())


def _play(
    env: gymnasium.Env,
    policy: Policy,
    rng: np.random.Generator,
    options: dict[str, Any] | None = None,
) -> _Episode:
    state, info = env.reset(options=options)
    episode = _Episode([], [], [], info)
    ended = False
    while not ended:
        action = policy(state, rng)
        episode.states.append(state)
        state, reward, terminated, truncated, episode.info = env.step(action)
        episode.actions.append(action)
        episode.rewards.append(float(reward))
        ended = terminated or truncated
    return episode


def _returns(rewards: Sequence[float], discount: float) -> list[float]:
    """Discounted sums of the rewards from each step to the last."""
    returns = []
    total = 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        returns.append(total)
    return returns[::-1]


def _action_names(env: gymnasium.Env) -> tuple[str, ...]:
    space = env.action_space
    if not isinstance(space, spaces.Discrete) or space.start != 0:
        raise InputError(f"the action space must be Discrete and start at 0, not {space}")
    if env.observation_space.shape != (N_FEATURES,):
        raise InputError(
            f"observations must have shape ({N_FEATURES},), not {env.observation_space.shape}"
        )
    named = getattr(env.unwrapped, "actions", None)
    return tuple(named) if named else tuple(f"action_{i}" for i in range(int(space.n)))


def _initial_networks(n_actions: int, seed: int) -> tuple[Actor, Critic]:
    with global_seed(seed):
        return Actor(n_actions), Critic()


def _track(episodes: range, show: bool) -> Iterator[int]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, disable=not show) as bar:
        yield from bar.track(episodes, description="Policy training")
