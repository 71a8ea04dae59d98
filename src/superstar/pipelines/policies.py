"""Policies trained with the parameters of a run."""

from collections.abc import Sequence

from torch import Tensor

from superstar.checkpoint import Checkpoint
from superstar.control import ShiftEnv, Supervisor
from superstar.control.actor_critic import PolicySchedule, TrainingResult, train_actor_critic
from superstar.parameters import PolicyTraining


def environment(
    batches: Sequence[Tensor], supervisor: Supervisor, given: PolicyTraining, device: str
) -> ShiftEnv:
    """The environment in which the supervisor's policy was trained, on these batches.

    Moves the supervisor's denoiser to the device.
    """
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


def train(
    env: ShiftEnv,
    given: PolicyTraining,
    seed: int,
    *,
    checkpoint: Checkpoint | None = None,
    progress: bool = True,
) -> TrainingResult:
    """A policy learned with the parameters of a run.

    Args:
        env: the environment.
        given: the parameters.
        seed: of the training.
        checkpoint: from which an interrupted training goes on.
        progress: whether to show a bar.
    """
    schedule = PolicySchedule(
        episodes=given.episodes,
        learning_rate=given.learning_rate,
        discount=given.discount,
        exploration_base=given.exploration.base,
        exploration_decay=given.exploration.rate,
        exploration_floor=given.exploration.floor,
        reward_scale=given.reward_scale,
        seed=seed,
        checkpoint=checkpoint,
        checkpoint_episodes=given.checkpoint_episodes,
    )
    return train_actor_critic(env, schedule, progress=progress)
