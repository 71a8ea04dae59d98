"""A2C of stable-baselines3 (extra `a2c`): an outside check of our own actor-critic.

V. Mnih and others, "Asynchronous methods for deep reinforcement learning", 2016; A. Raffin and
others, "Stable-Baselines3: reliable reinforcement learning implementations", 2021.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import gymnasium
import numpy as np
from torch import nn

from superstar.control.actor_critic import PolicySchedule
from superstar.control.networks import HIDDEN, THREADS, Actor
from superstar.control.rollouts import action_names
from superstar.errors import InputError
from superstar.training import fixed_threads, global_seed


def train_a2c(
    env: gymnasium.Env,
    *,
    episodes: int,
    discount: float = 0.9,
    reward_scale: float = 0.01,
    seed: int = 0,
) -> Actor:
    """Learn a policy with stable-baselines3's A2C, on networks of the paper's shape.

    Its defaults, which differ from the paper's: an update every five steps with returns
    bootstrapped by the critic (also beyond the horizon of an episode), RMSprop, no exploration but
    the policy's own.

    Args:
        env: observations float32 (3,), a `Discrete` action space starting at 0.
        episodes: how many, at least 1.
        discount: γ of the returns, in [0, 1].
        reward_scale: rewards are multiplied by this, as in `train_actor_critic`.
        seed: of initial weights, sampling and the environment.

    Returns:
        The policy network, in eval mode, as an `Actor`: to sample from, to evaluate, to save.
        Equal seeds give equal networks.

    Raises:
        InputError: stable-baselines3 is not installed, an argument outside its range or another
            kind of environment.
    """
    PolicySchedule(episodes, discount=discount, reward_scale=reward_scale)  # Checks them.
    n_actions = len(action_names(env))
    try:
        from stable_baselines3 import A2C
        from stable_baselines3.common.callbacks import StopTrainingOnMaxEpisodes
    except ImportError as error:
        raise InputError(
            "A2C is that of stable-baselines3, which is not installed: pip install -e '.[a2c]'"
        ) from error
    scaled = gymnasium.wrappers.TransformReward(env, lambda reward: reward_scale * float(reward))
    with _generators_kept(seed), fixed_threads(THREADS):
        model = A2C(
            "MlpPolicy",
            scaled,
            gamma=discount,
            policy_kwargs={"net_arch": list(HIDDEN), "activation_fn": nn.ReLU},
            seed=seed,
            device="cpu",
        )
        model.learn(sys.maxsize, StopTrainingOnMaxEpisodes(episodes), log_interval=None)
        actor = Actor(n_actions)
    learned = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    theirs = [layer for layer in learned if isinstance(layer, nn.Linear)]
    ours = (actor.linear1, actor.linear2, actor.linear3)
    for own, layer in zip(ours, theirs, strict=True):
        own.load_state_dict(layer.state_dict())
    return actor.eval()


@contextmanager
def _generators_kept(seed: int) -> Iterator[None]:
    """Give back the global generators as they were: stable-baselines3 seeds them all."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with global_seed(seed):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
