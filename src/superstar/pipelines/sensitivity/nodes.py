"""Points laid out, policies trained, every set measured, and what came out of it on one page."""

from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from torch import nn

from superstar.control import Supervisor
from superstar.control.networks import Actor, SampledPolicy
from superstar.control.points import OWN, Point, Setting, from_table, lay_out, to_table
from superstar.control.protocol import Cell
from superstar.control.rivals import Actors
from superstar.control.rollouts import mean_return
from superstar.control.sweep import Measuring, measure_set, train_points
from superstar.control.thresholds import choose_beta, clean_ratios
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.measures import Distance
from superstar.parallel import fan_out
from superstar.parameters import (
    Execution,
    PolicySurrogates,
    PolicyTraining,
    RunTimeSweep,
    SurrogateGeneration,
    TrainingSweep,
)
from superstar.pipelines.sensitivity import figures, report, summary
from superstar.pipelines.sets import Parts, policy_batches, surrogate_cells


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
    supervisor = supervisor.on(run.device)

    def beta_at(batch_size: int) -> float:
        if given.beta != "calibrated":
            return supervisor.beta
        ratios = clean_ratios(
            design.batch(),
            supervisor.projection,
            partial(Distance.of(supervisor.distance), supervisor.validation_points),
            batch_size=batch_size,
            draws=given.beta_draws,
            actions=supervisor.actions,
            denoiser=supervisor.denoiser,
            seed=seed,
        )
        return choose_beta(ratios, given.beta_margin)

    own = Setting(
        alpha=supervisor.alpha,
        beta=supervisor.beta,
        ssim_weight=given.reward.ssim_weight,
        ssim_threshold=given.reward.ssim_threshold,
        batch_size=policy.batch_size,
        horizon=supervisor.horizon,
        seed=seed,
    )
    here = RunTimeSweep.model_validate(run_time)
    return to_table(list(lay_out(own, dict(here), dict(anew), beta_at)))


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
    shared = (batches, supervisor, given, policy, run.device)
    calls = [(share,) for share in shares if share]
    trained = ChainMap(*fan_out(_train, calls, run, "policies", shared=shared))
    # In an order that the number of workers has no bearing on.
    wanted = [point.policy for group in groups.values() for point in group]
    actors = {OWN: supervisor.actor} | {name: trained[name] for name in wanted}
    held_out = policy_batches(batches, "held_out", policy)
    env = supervisor.on(run.device).environment(held_out, **given.environment)
    returns = [
        (name, mean_return(env, SampledPolicy(actor), len(held_out), given.discount, seed))
        for name, actor in actors.items()
    ]
    env.close()
    named = {name: (actor, supervisor.actions) for name, actor in actors.items()}
    return named, pd.DataFrame(returns, columns=["policy", "return"])


def _train(
    points: Sequence[Point],
    batches: Parts,
    supervisor: Supervisor,
    given: PolicyTraining,
    policy: PolicySurrogates,
    device: str,
) -> dict[str, Actor]:
    images = policy_batches(batches, "training", policy, points[0].setting.batch_size)
    env = supervisor.on(device).environment(images, **given.environment)
    actors = train_points(points, env, **given.training)
    env.close()
    return actors


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
        memory_limit=PolicyTraining.model_validate(training).memory_limit,
        network_batch=run.batch_size,
        device=run.device,
        seed=seed,
    )
    sets = [(Cell("none", None), lambda: design), *surrogate_cells(surrogates)]
    shared = (table, actors, supervisor, classifier, how)
    rows = chain.from_iterable(fan_out(_measure, sets, run, "sets", shared=shared))
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
    cell: Cell,
    load: Callable[[], ImageSet],
    table: pd.DataFrame,
    actors: Actors,
    supervisor: Supervisor,
    classifier: nn.Module,
    how: Measuring,
) -> list[dict[str, Any]]:
    policies = {name: SampledPolicy(actor) for name, (actor, _) in actors.items()}
    return measure_set(cell.keys, load(), from_table(table), policies, supervisor, classifier, how)
