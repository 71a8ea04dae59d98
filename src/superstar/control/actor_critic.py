"""Advantage actor-critic: how the policy is learned (paper, appendix E, "Policy Network")."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.nn import functional

from superstar.checkpoint import Checkpoint, TrainingState, restore, tensors_of
from superstar.control.env import ShiftEnv
from superstar.control.networks import (
    THREADS,
    Actor,
    Critic,
    Policy,
    SampledPolicy,
    always,
    uniform,
)
from superstar.control.rollouts import (
    Episode,
    action_names,
    discounted_returns,
    play,
    rollouts,
)
from superstar.errors import InputError
from superstar.images import check_seed, stream
from superstar.integers import whole
from superstar.training import fixed_threads, global_seed

REWARD_WINDOW = 200
"""Episodes that the curve of rewards averages over (paper, appendix E, training curves)."""

TOGETHER = 8
"""Episodes of an evaluation played in step; the environment keeps the images of each."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingResult:
    """What training leaves.

    Attributes:
        actor: the policy network.
        critic: the value network; its values are of returns times `reward_scale`.
        curves: one row an episode: `episode`, `batch` (its number in the environment), `reward`
            (at termination: of the last step), `return` (discounted), `length`, `distance`
            (reached at last), `distance_ratio` (that, as a share of the initial distance),
            `entropy` (nats, mean over the steps, of the policy), `exploration` (the probability of
            a uniform action), one column an action with how often it was taken, `distinct_steps`
            (different steps that training has seen so far, by batch and corrections: so many the
            environment had to compute), `reward_window` (mean of `reward` over the last 200
            episodes). What the environment does not say is NaN.
    """

    actor: Actor
    critic: Critic
    curves: pd.DataFrame


@dataclass(frozen=True)
class PolicySchedule:
    """How long and how a policy is learned; the defaults are the paper's, but for `reward_scale`.

    In episode e = 0, 1, ... each action is drawn uniformly with probability
    max(floor, base^(rate·(e + 1))), otherwise from the policy.

    Attributes:
        episodes: how many, at least 1.
        learning_rate: Adam's, of both networks.
        discount: γ of the returns, in [0, 1].
        exploration_base: base of the exploration probability, in (0, 1].
        exploration_rate: its exponent per episode, at least 0.
        exploration_floor: the least exploration probability, in [0, 1].
        reward_scale: rewards are multiplied by this before the updates, not in the curves. Returns
            of several hundreds are out of the critic's reach at 1e-4 within some hundred updates,
            and until then every advantage is negative; near 1 it follows. The actor's
            gradient is scaled alike, which Adam undoes.
        seed: of initial weights, exploration, sampling and the environment.
        checkpoint: where to keep how far training has come. What an earlier training with the same
            settings left there is gone on from, to the same result as without a break; what the
            environment knew then, it computes again. Anything else there is replaced.
        checkpoint_episodes: how many episodes go by from one checkpoint to the next, at least 1;
            there is one after the last episode too.

    Raises:
        InputError: a number out of its range.
    """

    episodes: int
    learning_rate: float = 1e-4
    discount: float = 0.9
    exploration_base: float = 0.9
    exploration_rate: float = 0.07
    exploration_floor: float = 0.1
    reward_scale: float = 0.01
    seed: int = 0
    checkpoint: Checkpoint | None = None
    checkpoint_episodes: int = 100

    def __post_init__(self) -> None:
        for name in ("episodes", "checkpoint_episodes"):
            object.__setattr__(self, name, whole(getattr(self, name), name, 1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        if not 0 <= self.discount <= 1:
            raise InputError(f"the discount must lie in [0, 1], not {self.discount}")
        if not self.learning_rate > 0 or not self.reward_scale > 0:
            raise InputError(
                "learning rate and reward scale must exceed 0, not "
                f"{self.learning_rate} and {self.reward_scale}"
            )
        base, rate, floor = self.exploration_base, self.exploration_rate, self.exploration_floor
        if not (0 < base <= 1 and rate >= 0 and 0 <= floor <= 1):
            raise InputError(
                "exploration needs a base in (0, 1], a rate of at least 0 and a floor in [0, 1], "
                f"not {base}, {rate}, {floor}"
            )

    def exploration(self, episode: int) -> float:
        """The probability of a uniform action in an episode, counted from 0."""
        exponent = self.exploration_rate * (episode + 1)
        return max(self.exploration_floor, self.exploration_base**exponent)


def train_actor_critic(
    env: gymnasium.Env, schedule: PolicySchedule, *, progress: bool = True
) -> TrainingResult:
    """Learn a policy with Monte Carlo advantage actor-critic, an update each episode.

    Paper, appendix E.

    Args:
        env: observations float32 (3,), a `Discrete` action space starting at 0; what chance it
            has must come from its `np_random`.
        schedule: of the training.
        progress: show a progress bar.

    Returns:
        The networks and the training curves. Equal seeds give equal networks.

    Raises:
        InputError: another kind of environment.
    """
    names, checkpoint = action_names(env), schedule.checkpoint
    settings = {"actions": names, **asdict(schedule)}
    del settings["checkpoint"], settings["checkpoint_episodes"]
    learner = _Learner(env, names, schedule)
    saved = None if checkpoint is None else checkpoint.load(settings)
    if saved is not None:
        try:
            learner.restore(saved)
            logger.info("policy training goes on from episode %d", learner.episode)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            logger.warning(
                "%s is of another version and will be replaced (%r)",
                None if checkpoint is None else checkpoint.path,
                error,
            )
            learner = _Learner(env, names, schedule)

    policy = SampledPolicy(learner.actor)
    for episode in _track(range(learner.episode, schedule.episodes), progress):
        exploration = schedule.exploration(episode)

        def explore(
            state: NDArray[np.float32], rng: np.random.Generator, rate: float = exploration
        ) -> int:
            return int(rng.integers(len(names))) if rng.random() < rate else policy(state, rng)

        learner.learn(play(env, explore, learner.rng), exploration)
        made = episode + 1
        due = made % schedule.checkpoint_episodes == 0 or made == schedule.episodes
        if checkpoint is not None and due:
            checkpoint.save(settings, learner.state())
    return TrainingResult(learner.actor.eval(), learner.critic.eval(), learner.curves())


class _Learner:
    """All that changes in the course of a training."""

    def __init__(self, env: gymnasium.Env, names: Sequence[str], schedule: PolicySchedule) -> None:
        with global_seed(schedule.seed):
            self.actor, self.critic = Actor(len(names)), Critic()
        rate = schedule.learning_rate
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=rate)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=rate)
        self.rng = stream(schedule.seed, "actor_critic")
        self._env = env
        self._names = names
        self._rows: list[dict[str, Any]] = []
        self._known: set[tuple[int, tuple[str, ...]]] = set()
        self._schedule = schedule
        env.reset(seed=schedule.seed)

    @property
    def episode(self) -> int:
        """The next one."""
        return len(self._rows)

    def learn(self, played: Episode, exploration: float) -> None:
        """One gradient step of both networks on an episode, and its row of the curves."""
        returns = discounted_returns(played.rewards, self._schedule.discount)
        with fixed_threads(THREADS):
            entropy = _update(
                self.actor,
                self.critic,
                self.actor_optimizer,
                self.critic_optimizer,
                states=torch.tensor(np.stack(played.states)),
                actions=torch.tensor(played.actions),
                returns=torch.tensor(returns, dtype=torch.float32) * self._schedule.reward_scale,
            )
        counts = Counter(played.actions)
        self._rows.append(
            {
                "episode": self.episode,
                "batch": played.info.get("batch", float("nan")),
                "reward": played.rewards[-1],
                "return": returns[0],
                "length": len(played.rewards),
                "distance": played.distance,
                "distance_ratio": played.distance_ratio,
                "entropy": entropy,
                "exploration": exploration,
                **{name: counts[index] for index, name in enumerate(self._names)},
                "distinct_steps": self._count(played.info),
            }
        )

    def _count(self, info: dict[str, Any]) -> float:
        if "batch" not in info or "sequence" not in info:
            return float("nan")
        corrections = tuple(info["sequence"])
        self._known |= {(info["batch"], corrections[: n + 1]) for n in range(len(corrections))}
        return len(self._known)

    def curves(self) -> pd.DataFrame:
        """One row an episode."""
        curves = pd.DataFrame(self._rows)
        curves["reward_window"] = curves["reward"].rolling(REWARD_WINDOW, min_periods=1).mean()
        return curves

    def state(self) -> TrainingState:
        """What `restore` needs."""
        values = {
            "rng": self.rng.bit_generator.state,
            "environment": self._env.unwrapped.np_random.bit_generator.state,
            "rows": self._rows,
            "known": sorted(self._known),
        }
        return TrainingState(tensors_of(**self._parts()), values)

    def restore(self, saved: TrainingState) -> None:
        """Become what was saved."""
        restore(saved.tensors, **self._parts())
        self.rng.bit_generator.state = saved.values["rng"]
        self._env.unwrapped.np_random.bit_generator.state = saved.values["environment"]
        self._rows = [dict(row) for row in saved.values["rows"]]
        self._known = {(batch, tuple(corrections)) for batch, corrections in saved.values["known"]}

    def _parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        return {
            "actor": self.actor,
            "critic": self.critic,
            "actor_optimizer": self.actor_optimizer,
            "critic_optimizer": self.critic_optimizer,
        }


def evaluate_policy(
    env: ShiftEnv,
    actor: Actor,
    batches: Iterable[int],
    seed: int = 0,
    *,
    discount: float = 0.9,
) -> pd.DataFrame:
    """Play one episode a batch with the learned policy and with two that learned nothing.

    Args:
        env: an environment over batches that training never saw.
        actor: the policy network; its actions are sampled.
        batches: indices of the batches to start from.
        seed: of the sampling.
        discount: γ of the returns.

    Returns:
        One row a policy and batch: `policy` ("actor", "random" or, where the environment has
        that action, "nop"), `batch`, `return` (discounted), `length`, `distance_ratio` (final to
        initial), `sequence` (list of action names).

    Raises:
        InputError: an actor with another number of actions, or no such batch.
    """
    names = action_names(env)
    if actor.n_actions != len(names):
        raise InputError(f"the actor has {actor.n_actions} actions, the environment {len(names)}")
    policies: dict[str, Policy] = {"actor": SampledPolicy(actor), "random": uniform(len(names))}
    if "nop" in names:
        policies["nop"] = always(names.index("nop"))
    wanted = list(batches)
    rows = []
    for start in range(0, len(wanted), TOGETHER):
        group = wanted[start : start + TOGETHER]
        played = {
            name: rollouts(
                env, policy, group, [stream(seed, "evaluate_policy", name, i) for i in group]
            )
            for name, policy in policies.items()
        }
        rows += [
            {
                "policy": name,
                "batch": batch,
                "return": discounted_returns(played[name][place].rewards, discount)[0],
                "length": len(played[name][place].rewards),
                "distance_ratio": played[name][place].distance_ratio,
                "sequence": [names[action] for action in played[name][place].actions],
            }
            for place, batch in enumerate(group)
            for name in policies
        ]
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


def _track(episodes: range, show: bool) -> Iterator[int]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, disable=not show) as bar:
        yield from bar.track(episodes, description="Policy training")
