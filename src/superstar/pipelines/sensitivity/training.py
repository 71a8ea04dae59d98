"""Policies for the points that need one of their own, and what all policies are worth."""

import logging
from collections.abc import Callable, Sequence

from torch import Tensor

from superstar.control import ShiftEnv, Supervisor
from superstar.control.actor_critic import train_actor_critic
from superstar.control.networks import Actor, sampled
from superstar.control.rollouts import discounted_returns, rollouts
from superstar.images import ImageSet, stream
from superstar.parameters import PolicySurrogates, PolicyTraining
from superstar.pipelines.sensitivity.points import Point

logger = logging.getLogger(__name__)

Parts = dict[str, Callable[[], ImageSet]]


def train_group(
    group: Sequence[Point],
    batches: Parts,
    supervisor: Supervisor,
    given: PolicyTraining,
    policy: PolicySurrogates,
    device: str,
) -> dict[str, Actor]:
    """Policies of points that share a batch size, by `Point.policy`.

    What corrections do to the batches depends on nothing else that is swept, so all trainings
    share one memory: each computes only the sequences that none before it came across.
    """
    images = regrouped(batches, "training", policy, group[0].setting.batch_size)
    env = environment(images, supervisor, given, device)
    actors: dict[str, Actor] = {}
    for point in group:
        known, setting = env.distinct_steps, point.setting
        view = env.view(
            horizon=setting.horizon,
            alpha=setting.alpha,
            ssim_weight=setting.ssim_weight,
            ssim_threshold=setting.ssim_threshold,
        )
        actors[point.policy] = train_actor_critic(
            view,
            episodes=given.episodes,
            learning_rate=given.learning_rate,
            discount=given.discount,
            exploration_base=given.exploration.base,
            exploration_decay=given.exploration.rate,
            exploration_floor=given.exploration.floor,
            reward_scale=given.reward_scale,
            seed=setting.seed,
            progress=False,
        ).actor
        logger.info("%s: %d steps computed", point.policy, env.distinct_steps - known)
    env.close()
    return actors


def regrouped(batches: Parts, split: str, policy: PolicySurrogates, size: int) -> list[Tensor]:
    """The policy's images in batches of another size, surrogate by surrogate.

    Images that fill no batch are left out.
    """
    whole = (batches[f"{split}/{name}"]().batch() for name in policy.names)
    return [batch for images in whole for batch in images.split(size) if len(batch) == size]


def environment(
    batches: Sequence[Tensor], supervisor: Supervisor, given: PolicyTraining, device: str
) -> ShiftEnv:
    """The environment in which the supervisor's policy was trained, on these batches."""
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(device)
    return ShiftEnv(
        batches,
        supervisor.validation_points,
        supervisor.projection,
        distance=supervisor.distance,
        actions=supervisor.actions,
        horizon=supervisor.horizon,
        alpha=supervisor.alpha,
        ssim_weight=given.reward.ssim_weight,
        ssim_threshold=given.reward.ssim_threshold,
        data_range=given.reward.data_range,
        regulariser=given.reward.regulariser,
        denoiser=supervisor.denoiser,
        memory_limit=given.memory_limit_mb * 2**20,
    )


def mean_return(env: ShiftEnv, actor: Actor, batches: int, discount: float, seed: int) -> float:
    """Mean discounted return of a policy, one episode a batch.

    Args:
        env: the environment; one for all policies, so that their returns compare.
        actor: the policy network.
        batches: how many batches the environment has.
        discount: γ.
        seed: of the sampling, which is the same for every policy.
    """
    streams = [stream(seed, "sensitivity return", batch) for batch in range(batches)]
    episodes = rollouts(env, sampled(actor), range(batches), streams)
    return sum(discounted_returns(e.rewards, discount)[0] for e in episodes) / batches
