"""Rivals trained, every set searched, and what came out of it on one page."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from torch import nn

from superstar.control import Supervisor
from superstar.control.a2c import train_a2c
from superstar.control.actor_critic import PolicySchedule, train_actor_critic
from superstar.control.comparison import LEARNED, Search, compare
from superstar.control.protocol import all_cells
from superstar.control.rivals import (
    Actors,
    best_single_action,
    fit_entropy_rule,
    rival_policies,
    rival_returns,
)
from superstar.datasets import ShiftedSets
from superstar.errors import InputError
from superstar.images import Images, ImageSet
from superstar.parallel import fan_out
from superstar.parameters import (
    BenchmarkGeneration,
    Evaluation,
    Execution,
    Oracle,
    PolicyTraining,
    SurrogateGeneration,
)
from superstar.pipelines.oracle import figures, report, summary
from superstar.pipelines.sets import Parts, policy_batches, surrogate_cells

A2C = "A2C of stable-baselines3"
NOISE = "uniform_noise"


def train_rivals(
    batches: Parts,
    design: ImageSet,
    test: Images,
    supervisor: Supervisor,
    policy_training: dict[str, Any],
    surrogates: dict[str, Any],
    parameters: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> tuple[Actors, dict[str, Any], pd.DataFrame]:
    """Learned policies of several seeds, simple rules, and everyone's return on held-out batches.

    All are chosen on the training batches of the policy's surrogates. The first seed is the run's
    own, so that its policy is the supervisor's once more. A2C joins them where its package is
    installed.

    Raises:
        InputError: no noise among the policy's surrogates, which the entropy rule is fitted to, or
            sets of which a batch leaves nothing to score.
    """
    given, run = PolicyTraining.model_validate(policy_training), Execution.model_validate(execution)
    wanted = Oracle.model_validate(parameters)
    policy = SurrogateGeneration.model_validate(surrogates).policy
    if NOISE not in policy.names:
        raise InputError(
            f"the entropy rule is fitted to {NOISE}, which surrogate_generation.policy.names lacks"
        )
    smallest = min(len(design), len(test))
    if policy.batch_size >= smallest:
        raise InputError(
            f"batches of {policy.batch_size} images leave none of a set of {smallest} to score: "
            "lower surrogate_generation.policy.batch_size and evaluation.batch_size"
        )
    supervisor = supervisor.on(run.device)
    training, held_out = (policy_batches(batches, s, policy) for s in ("training", "held_out"))
    env = supervisor.environment(training, **given.environment)
    actors: Actors = {}
    for number in range(wanted.seeds):
        schedule = PolicySchedule(seed=seed + number, **given.training)
        learned = train_actor_critic(env.view(), schedule)
        actors[f"{LEARNED}-{number}"] = (learned.actor, supervisor.actions)
        if find_spec("stable_baselines3") is not None:
            outside = train_a2c(
                env.view(),
                episodes=given.episodes,
                discount=given.discount,
                reward_scale=given.reward_scale,
                seed=seed + number,
            )
            actors[f"{A2C}-{number}"] = (outside, supervisor.actions)
    env.close()
    known = supervisor.transitions(training, given.memory_limit)
    noisy = [name == NOISE for name in policy.names for _ in range(policy.training_batches)]
    rules = {
        "best_single": best_single_action(known),
        "entropy_threshold": fit_entropy_rule(known, noisy).threshold,
    }
    names = [name for name in policy.names for _ in range(policy.held_out_batches)]
    returns = rival_returns(
        supervisor.environment(held_out, **given.environment),
        rival_policies(actors, rules, supervisor.actions, wanted.seeds),
        len(names),
        discount=given.discount,
        exhaustive=wanted.exhaustive,
        width=wanted.width,
        seed=seed,
    )
    table = pd.DataFrame(returns, columns=["batch", "policy", "seed", "return"])
    table.insert(0, "surrogate", [names[batch] for batch in table["batch"]])
    return actors, rules, table


def search_surrogates(
    surrogates: Parts,
    supervisor: Supervisor,
    actors: Actors,
    rules: dict[str, Any],
    classifier: nn.Module,
    parameters: dict[str, Any],
    evaluation: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Every policy and oracle on the surrogates of validation images."""
    wanted = Oracle.model_validate(parameters).severities
    sets = [
        ({"split": "surrogate", **cell.keys}, load)
        for cell, load in surrogate_cells(surrogates)
        if cell.severity in wanted
    ]
    how = _how(parameters, evaluation, execution, seed)
    return _search(sets, (supervisor, actors, rules, classifier, *how), execution)


def search_tests(
    shifted: ShiftedSets,
    supervisor: Supervisor,
    actors: Actors,
    rules: dict[str, Any],
    classifier: nn.Module,
    parameters: dict[str, Any],
    evaluation: dict[str, Any],
    benchmark: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Every policy and oracle on the shifted test sets and the clean one."""
    shifts = BenchmarkGeneration.model_validate(benchmark).shifts
    sets = [
        ({"split": "test", **cell.keys}, partial(shifted.load, cell.shift, cell.severity))
        for cell in all_cells(shifts, Oracle.model_validate(parameters).severities)
    ]
    how = _how(parameters, evaluation, execution, seed)
    return _search(sets, (supervisor, actors, rules, classifier, *how), execution)


def summarise(
    surrogates: pd.DataFrame,
    tests: pd.DataFrame,
    returns: pd.DataFrame,
    evaluation: dict[str, Any],
    parameters: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, float | None], str]:
    """The supervisor's policy beside the oracles, as a table, as metrics, and as a page."""
    found = pd.concat([surrogates, tests], ignore_index=True)
    table = summary.oracle_table(found)
    metrics = summary.metrics(table, returns)
    batch_size = Evaluation.model_validate(evaluation).batch_size
    exhaustive = Oracle.model_validate(parameters).exhaustive
    page = report.compose(found, returns, metrics, batch_size=batch_size, exhaustive=exhaustive)
    return table, metrics, page


def draw_oracle(tests: pd.DataFrame) -> Figure:
    """What each test shift costs, and what policy and oracles give back."""
    return figures.ladder_figure(summary.ladder(tests))


def _how(
    parameters: dict[str, Any], evaluation: dict[str, Any], execution: dict[str, Any], seed: int
) -> tuple[int, Search]:
    """How many seeds the rivals have, and how sets are searched."""
    given, run = Oracle.model_validate(parameters), Execution.model_validate(execution)
    return given.seeds, Search(
        batch_size=Evaluation.model_validate(evaluation).batch_size,
        exhaustive=given.exhaustive,
        width=given.width,
        memory_limit=given.memory_limit_mb * 2**20,
        network_batch=run.batch_size,
        device=run.device,
        seed=seed,
    )


def _search(
    sets: Sequence[tuple[dict[str, Any], Callable[[], Images]]],
    shared: tuple[Any, ...],
    execution: dict[str, Any],
) -> pd.DataFrame:
    run = Execution.model_validate(execution)
    rows = chain.from_iterable(fan_out(_compare, sets, run, "oracle", shared=shared))
    return pd.DataFrame(rows).astype({"severity": "Int64"})


def _compare(
    keys: dict[str, Any],
    load: Callable[[], Images],
    supervisor: Supervisor,
    actors: Actors,
    rules: dict[str, Any],
    classifier: nn.Module,
    seeds: int,
    search: Search,
) -> list[dict[str, Any]]:
    policies = rival_policies(actors, rules, supervisor.actions, seeds)
    return compare(keys, load(), supervisor, policies, classifier, search)
