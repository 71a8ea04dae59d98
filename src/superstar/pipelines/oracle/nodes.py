"""Rivals trained, every set searched, and what came out of it on one page."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from torch import nn

from superstar.control import ShiftEnv, Supervisor
from superstar.control.a2c import train_a2c
from superstar.control.networks import Actor, Policy, always, sampled, uniform
from superstar.control.oracle import best_return
from superstar.control.rivals import EntropyRule, best_single_action, fit_entropy_rule
from superstar.control.rollouts import discounted_returns, rollouts
from superstar.control.transitions import Transitions
from superstar.datasets import ShiftedSets
from superstar.errors import InputError
from superstar.images import Images, ImageSet, stream
from superstar.parameters import (
    BenchmarkGeneration,
    Evaluation,
    Execution,
    Oracle,
    PolicyTraining,
    SurrogateGeneration,
)
from superstar.pipelines.oracle import figures, report, summary
from superstar.pipelines.oracle.comparison import LEARNED, ORACLE, Search, compare
from superstar.pipelines.parallel import spread
from superstar.pipelines.policies import environment, train
from superstar.pipelines.policy_training.nodes import split_batches

Parts = dict[str, Callable[[], ImageSet]]
Actors = dict[str, tuple[Actor, tuple[str, ...]]]
A2C = "A2C of stable-baselines3"
NOISE = "uniform_noise"


def train_rivals(
    batches: Parts,
    design: ImageSet,
    test: Images,
    supervisor: Supervisor,
    training: dict[str, Any],
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
    given, run = PolicyTraining.model_validate(training), Execution.model_validate(execution)
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
    images = {s: split_batches(batches, s, policy) for s in ("training", "held_out")}
    environments = {s: environment(images[s], supervisor, given, run.device) for s in images}
    actors: Actors = {}
    for number in range(wanted.seeds):
        actor = train(environments["training"].view(), given, seed + number).actor
        actors[f"{LEARNED}-{number}"] = (actor, supervisor.actions)
        if find_spec("stable_baselines3") is not None:
            outside = train_a2c(
                environments["training"].view(),
                episodes=given.episodes,
                discount=given.discount,
                reward_scale=given.reward_scale,
                seed=seed + number,
            )
            actors[f"{A2C}-{number}"] = (outside, supervisor.actions)
    known = Transitions(
        images["training"],
        supervisor.validation_points,
        supervisor.projection,
        distance=supervisor.distance,
        actions=supervisor.actions,
        denoiser=supervisor.denoiser,
        memory_limit=given.memory_limit_mb * 2**20,
    )
    noisy = [name == NOISE for name in policy.names for _ in range(policy.training_batches)]
    rules = {
        "best_single": best_single_action(known),
        "entropy_threshold": fit_entropy_rule(known, noisy).threshold,
    }
    policies = rival_policies(actors, rules, supervisor.actions, wanted.seeds)
    names = [name for name in policy.names for _ in range(policy.held_out_batches)]
    returns = _returns(environments["held_out"], policies, names, given.discount, wanted, seed)
    return actors, rules, returns


def rival_policies(
    actors: Actors, rules: Mapping[str, Any], actions: Sequence[str], seeds: int
) -> dict[str, list[Policy]]:
    """All policies by name, one a seed; rules that draw nothing stand alone."""
    policies: dict[str, list[Policy]] = {}
    for name, (actor, _) in actors.items():
        policies.setdefault(name.rpartition("-")[0], []).append(sampled(actor))
    rule = EntropyRule(rules["entropy_threshold"])
    return policies | {
        "entropy rule": [rule.policy(actions)],
        f"always {rules['best_single']}": [always(actions.index(rules["best_single"]))],
        "random": [uniform(len(actions))] * seeds,
        "nop": [always(actions.index("nop"))],
    }


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
    sets = []
    for key, load in surrogates.items():
        shift, _, severity = key.partition("/")
        if int(severity) not in wanted:
            continue
        sets.append(({"split": "surrogate", "shift": shift, "severity": int(severity)}, load))
    return _search(
        sets, supervisor, actors, rules, classifier, parameters, evaluation, execution, seed
    )


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
    levels = Oracle.model_validate(parameters).severities
    cells = [("none", None), *((shift, level) for shift in shifts for level in levels)]
    sets = [
        ({"split": "test", "shift": shift, "severity": level}, partial(shifted.load, shift, level))
        for shift, level in cells
    ]
    return _search(
        sets, supervisor, actors, rules, classifier, parameters, evaluation, execution, seed
    )


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


def draw_oracle(surrogates: pd.DataFrame, tests: pd.DataFrame) -> Figure:
    """Gains of policy and oracles by shift, and where a nearer distance costs accuracy."""
    return figures.oracle_figure(pd.concat([surrogates, tests], ignore_index=True))


def _search(
    sets: Sequence[tuple[dict[str, Any], Callable[[], Images]]],
    supervisor: Supervisor,
    actors: Actors,
    rules: dict[str, Any],
    classifier: nn.Module,
    parameters: dict[str, Any],
    evaluation: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    given, run = Oracle.model_validate(parameters), Execution.model_validate(execution)
    search = Search(
        batch_size=Evaluation.model_validate(evaluation).batch_size,
        exhaustive=given.exhaustive,
        width=given.width,
        memory_limit=given.memory_limit_mb * 2**20,
        network_batch=run.batch_size,
        device=run.device,
        seed=seed,
    )
    arguments = [
        (keys, load, supervisor, actors, rules, given.seeds, classifier, search)
        for keys, load in sets
    ]
    rows = chain.from_iterable(spread(_compare, arguments, run, "oracle"))
    return pd.DataFrame(rows).astype({"severity": "Int64"})


def _compare(
    keys: dict[str, Any],
    load: Callable[[], Images],
    supervisor: Supervisor,
    actors: Actors,
    rules: dict[str, Any],
    seeds: int,
    classifier: nn.Module,
    search: Search,
) -> list[dict[str, Any]]:
    if supervisor.denoiser is not None:
        supervisor.denoiser.to(search.device)
    policies = rival_policies(actors, rules, supervisor.actions, seeds)
    return compare(keys, load(), supervisor, policies, classifier, search)


def _returns(
    env: ShiftEnv,
    policies: Mapping[str, Sequence[Policy]],
    surrogates: Sequence[str],
    discount: float,
    wanted: Oracle,
    seed: int,
) -> pd.DataFrame:
    """One row a held-out batch, policy and seed, and one a batch for the oracle of the return."""
    rows = []
    paths: dict[int, list[list[int]]] = {batch: [] for batch in range(len(surrogates))}
    for name, seeds in policies.items():
        for number, policy in enumerate(seeds):
            streams = [stream(seed, "rival returns", name, number, batch) for batch in paths]
            episodes = rollouts(env, policy, list(paths), streams)
            for batch, episode in enumerate(episodes):
                paths[batch].append(episode.actions)
                value = discounted_returns(episode.rewards, discount)[0]
                rows.append((surrogates[batch], batch, name, number, value))
    for batch, known in paths.items():
        best = best_return(
            env,
            batch,
            discount=discount,
            exhaustive=wanted.exhaustive,
            width=wanted.width,
            known=known,
        )
        rows.append((surrogates[batch], batch, ORACLE, 0, best))
    return pd.DataFrame(rows, columns=["surrogate", "batch", "policy", "seed", "return"])
