"""Thresholds, policy and supervisor (paper, appendix E, Policy Network)."""

import logging
from functools import partial
from typing import Any

import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor, nn

from superstar.actions import ACTIONS, Denoiser
from superstar.checkpoint import own_part
from superstar.control import ShiftEnv, Supervisor
from superstar.control.actor_critic import PolicySchedule, evaluate_policy, train_actor_critic
from superstar.control.calibrated import Calibrated
from superstar.control.networks import Actor
from superstar.control.thresholds import choose_beta, clean_ratios
from superstar.images import ImageSet
from superstar.measures import Distance, Projection
from superstar.parameters import Execution, PolicyTraining, SurrogateGeneration
from superstar.pipelines.sets import Parts, policy_batches
from superstar.weights import on_device

logger = logging.getLogger(__name__)


def calibrate_thresholds(
    design: ImageSet,
    points: Tensor,
    projection: dict[str, Any],
    measure: dict[str, Any],
    denoiser: Denoiser,
    parameters: dict[str, Any],
    surrogates: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[dict[str, float], pd.DataFrame]:
    """Alpha and beta of Algorithm 1, and the clean images' ratios that beta rests on."""
    given = PolicyTraining.model_validate(parameters)
    ratios = clean_ratios(
        design.batch(),
        Projection.from_dict(projection),
        partial(Distance.from_dict(measure), points),
        batch_size=SurrogateGeneration.model_validate(surrogates).policy.batch_size,
        draws=given.beta_draws,
        denoiser=on_device(denoiser, Execution.model_validate(execution).device),
        seed=seed,
    )
    if given.beta == "calibrated":
        return {"alpha": given.alpha, "beta": choose_beta(ratios, given.beta_margin)}, ratios
    beta = float(given.beta)
    lowest = ratios.loc[ratios["ratio"].idxmin()]
    if lowest["ratio"] < beta:
        logger.warning(
            "policy_training.beta = %g would let clean images be changed by %s, which takes their "
            "distance to %.3f of what it was: lower it, or choose calibrated",
            beta,
            lowest["action"],
            lowest["ratio"],
        )
    return {"alpha": given.alpha, "beta": beta}, ratios


def train_policy(
    batches: Parts,
    points: Tensor,
    projection: dict[str, Any],
    measure: dict[str, Any],
    denoiser: Denoiser,
    thresholds: dict[str, float],
    parameters: dict[str, Any],
    surrogates: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[tuple[Actor, tuple[str, ...]], nn.Module, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Actor, critic, training curves, and the policy's episodes on batches never trained on.

    Training that was interrupted goes on from its checkpoint.
    """
    given = PolicyTraining.model_validate(parameters)
    policy = SurrogateGeneration.model_validate(surrogates).policy
    environments = {
        split: ShiftEnv(
            policy_batches(batches, split, policy),
            points,
            Projection.from_dict(projection),
            distance=Distance.from_dict(measure),
            horizon=given.horizon,
            alpha=thresholds["alpha"],
            denoiser=on_device(denoiser, Execution.model_validate(execution).device),
            **given.environment,
        )
        for split in ("training", "held_out")
    }
    training = environments["training"]
    schedule = PolicySchedule(seed=seed, checkpoint=own_part("policy"), **given.training)
    result = train_actor_critic(training, schedule)
    logger.info(
        "%d steps of the environment, %d computed (%.0f%% remembered)",
        training.steps,
        training.distinct_steps,
        100 * training.hit_rate,
    )
    held_out = environments["held_out"]
    indices = range(len(policy.names) * policy.held_out_batches)
    episodes = evaluate_policy(held_out, result.actor, indices, seed=seed, discount=given.discount)
    episodes["surrogate"] = [policy.names[i // policy.held_out_batches] for i in episodes["batch"]]
    # Over the whole training; `training` knows only the steps of this process.
    steps = int(result.curves["length"].sum())
    distinct_steps = int(result.curves["distinct_steps"].iloc[-1])
    metrics = {
        f"policy.{column}.{name}": float(table[column].mean())
        for name, table in episodes.groupby("policy")
        for column in ("return", "distance_ratio")
    } | {
        "policy.steps": float(steps),
        "policy.distinct_steps": float(distinct_steps),
        "policy.hit_rate": 1 - distinct_steps / steps,
        **{f"threshold.{name}": value for name, value in thresholds.items()},
    }
    for environment in environments.values():
        environment.close()
    return (result.actor, ACTIONS), result.critic, result.curves, episodes, metrics


def assemble_supervisor(
    actor: tuple[Actor, tuple[str, ...]],
    tree: DecisionTreeClassifier,
    denoiser: Denoiser,
    points: Tensor,
    projection: dict[str, Any],
    measure: dict[str, Any],
    thresholds: dict[str, float],
    reference: ImageSet,
    calibrated: Calibrated,
    parameters: dict[str, Any],
    benchmark: str,
) -> Supervisor:
    """All that both controllers need at run time, in one folder."""
    return Supervisor(
        actor=actor[0],
        tree=tree,
        denoiser=denoiser,
        validation_points=points,
        projection=Projection.from_dict(projection),
        alpha=thresholds["alpha"],
        beta=thresholds["beta"],
        horizon=PolicyTraining.model_validate(parameters).horizon,
        actions=actor[1],
        image_size=(reference.images.shape[1], reference.images.shape[2]),
        benchmark=benchmark,
        distance=Distance.from_dict(measure),
        calibrated=calibrated,
    )
