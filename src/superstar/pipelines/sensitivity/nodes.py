"""Points laid out, policies trained, every set measured, and what came out of it on one page."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from torch import nn

from superstar.control import Supervisor
from superstar.control.networks import Actor, sampled
from superstar.control.thresholds import calibrate_beta, clean_ratios
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import (
    Execution,
    PolicyTraining,
    RunTimeSweep,
    SurrogateGeneration,
    TrainingSweep,
)
from superstar.pipelines.parallel import spread
from superstar.pipelines.policies import environment
from superstar.pipelines.policy_training.nodes import split_batches
from superstar.pipelines.sensitivity import figures, report, summary
from superstar.pipelines.sensitivity.measuring import Measuring, measure_set
from superstar.pipelines.sensitivity.points import (
    OWN,
    Point,
    Setting,
    from_table,
    lay_out,
    to_table,
)
from superstar.pipelines.sensitivity.training import mean_return, train_group

Parts = dict[str, Callable[[], ImageSet]]
Actors = dict[str, tuple[Actor, tuple[str, ...]]]


def lay_out_points(
    design: ImageSet,
    supervisor: Supervisor,
    training: dict[str, Any],
    surrogates: dict[str, Any],
    run_time: dict[str, Any],
    retrained: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """The settings to look at; at other batch sizes with a β calibrated anew, if the run's is.

    Raises:
        InputError: a batch size that there are too few images for.
    """
    given, run = PolicyTraining.model_validate(training), Execution.model_validate(execution)
    policy = SurrogateGeneration.model_validate(surrogates).policy
    anew = TrainingSweep.model_validate(retrained)
    learned = policy.batch_size * policy.training_batches
    for size in (policy.batch_size, *anew.batch_size):
        if size > learned or size >= len(design):
            raise InputError(
                f"batches of {size} images are too large to sweep: the policy learns from "
                f"{learned} of each surrogate, and some of the {len(design)} that it is measured "
                "on must be left to score; see sensitivity.retrained.batch_size"
            )
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(run.device)

    def beta_at(batch_size: int) -> float:
        if given.beta != "calibrated":
            return supervisor.beta
        ratios = clean_ratios(
            design.batch(),
            supervisor.validation_points,
            supervisor.projection,
            batch_size=batch_size,
            draws=given.beta_draws,
            actions=supervisor.actions,
            denoiser=supervisor.denoiser,
            seed=seed,
            distance=supervisor.distance,
        )
        return calibrate_beta(ratios, given.beta_margin)

    own = Setting(
        alpha=supervisor.alpha,
        beta=supervisor.beta,
        ssim_weight=given.reward.ssim_weight,
        ssim_threshold=given.reward.ssim_threshold,
        batch_size=policy.batch_size,
        horizon=supervisor.horizon,
        seed=seed,
    )
    return to_table(list(lay_out(own, RunTimeSweep.model_validate(run_time), anew, beta_at)))


def train_policies(
    table: pd.DataFrame,
    batches: Parts,
    supervisor: Supervisor,
    training: dict[str, Any],
    surrogates: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[Actors, pd.DataFrame]:
    """The policy of every retrained setting, and all policies' returns.

    All returns are of the run's own environment, on held-out batches of the run's own size, so
    that they compare; a policy that was trained for another reward may well have a lower one.
    """
    given, run = PolicyTraining.model_validate(training), Execution.model_validate(execution)
    policy = SurrogateGeneration.model_validate(surrogates).policy
    groups: dict[int, list[Point]] = {}
    for point in from_table(table):
        if point.retrained:
            groups.setdefault(point.setting.batch_size, []).append(point)
    shares = [group[i :: run.workers] for group in groups.values() for i in range(run.workers)]
    arguments = [
        (share, batches, supervisor, given, policy, run.device) for share in shares if share
    ]
    actors = {OWN: supervisor.actor}
    for trained in spread(train_group, arguments, run, "policies"):
        actors |= trained
    held_out = split_batches(batches, "held_out", policy)
    env = environment(held_out, supervisor, given, run.device)
    returns = [
        (name, mean_return(env, actor, len(held_out), given.discount, seed))
        for name, actor in actors.items()
    ]
    env.close()
    named = {name: (actor, supervisor.actions) for name, actor in actors.items()}
    return named, pd.DataFrame(returns, columns=["policy", "return"])


def measure_points(
    table: pd.DataFrame,
    actors: Actors,
    surrogates: Parts,
    design: ImageSet,
    supervisor: Supervisor,
    classifier: nn.Module,
    training: dict[str, Any],
    trials: int,
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Every point on the surrogates of validation images, and on these images themselves."""
    run = Execution.model_validate(execution)
    how = Measuring(
        trials=trials,
        memory_limit=PolicyTraining.model_validate(training).memory_limit_mb * 2**20,
        network_batch=run.batch_size,
        device=run.device,
        seed=seed,
    )
    sets: list[tuple[str, int | None, Callable[[], ImageSet]]] = [("none", None, lambda: design)]
    for key, load in surrogates.items():
        shift, _, severity = key.partition("/")
        sets.append((shift, int(severity), load))
    arguments = [
        ({"shift": shift, "severity": level}, load, table, actors, supervisor, classifier, how)
        for shift, level, load in sets
    ]
    rows = chain.from_iterable(spread(_measure, arguments, run, "sets"))
    return pd.DataFrame(rows).astype({"severity": "Int64"})


def summarise(
    table: pd.DataFrame, measured: pd.DataFrame, returns: pd.DataFrame
) -> tuple[pd.DataFrame, str]:
    """One row a point: gain, harm and what else there is to compare; and the same as a page."""
    sweep = summary.summarise(table, measured, returns)
    return sweep, report.compose(sweep, measured)


def draw_sweep(sweep: pd.DataFrame) -> Figure:
    """Gain against harm, a panel a parameter."""
    return figures.sweep_figure(sweep)


def _measure(
    keys: dict[str, Any],
    load: Callable[[], ImageSet],
    table: pd.DataFrame,
    actors: Actors,
    supervisor: Supervisor,
    classifier: nn.Module,
    how: Measuring,
) -> list[dict[str, Any]]:
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(how.device)
    policies = {name: sampled(actor) for name, (actor, _) in actors.items()}
    return measure_set(keys, load(), from_table(table), policies, supervisor, classifier, how)
