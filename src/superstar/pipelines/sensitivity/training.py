"""Policies for the points that need one of their own, and what all policies are worth."""

from collections.abc import Callable, Sequence

from torch import Tensor

from superstar.control import ShiftEnv, Supervisor
from superstar.control.networks import Actor, sampled
from superstar.control.rollouts import discounted_returns, rollouts
from superstar.images import ImageSet, stream
from superstar.parameters import PolicySurrogates, PolicyTraining
from superstar.pipelines.policies import environment, train
from superstar.pipelines.sensitivity.points import Point

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
    images = regrouped(batches, policy, group[0].setting.batch_size)
    env = environment(images, supervisor, given, device)
    actors: dict[str, Actor] = {}
    for point in group:
        setting = point.setting
        view = env.view(
            horizon=setting.horizon,
            alpha=setting.alpha,
            ssim_weight=setting.ssim_weight,
            ssim_threshold=setting.ssim_threshold,
        )
        actors[point.policy] = train(view, given, setting.seed, progress=False).actor
    env.close()
    return actors


def regrouped(batches: Parts, policy: PolicySurrogates, size: int) -> list[Tensor]:
    """The policy's training images in batches of another size, surrogate by surrogate.

    Images that fill no batch are left out.
    """
    whole = (batches[f"training/{name}"]().batch() for name in policy.names)
    return [batch for images in whole for batch in images.split(size) if len(batch) == size]


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
