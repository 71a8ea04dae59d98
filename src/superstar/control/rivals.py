"""Policies that the supervisor's has to beat: simple ones, and learned ones of other seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superstar.control.comparison import ORACLE
from superstar.control.env import ShiftEnv
from superstar.control.networks import Actor, Policy, SampledPolicy, always, uniform
from superstar.control.oracle import best_return
from superstar.control.rollouts import discounted_returns, rollouts
from superstar.control.transitions import Transitions
from superstar.errors import InputError
from superstar.images import stream
from superstar.measures import FEATURES

ENTROPY = FEATURES.index("entropy")
Actors = dict[str, tuple[Actor, tuple[str, ...]]]
"""Policy networks by name, with the names of their actions."""


@dataclass(frozen=True)
class EntropyRule:
    """One action for images of high entropy, another for the rest.

    Attributes:
        threshold: of the mean entropy, in bits.
        above: name of the action where the entropy exceeds it.
        below: name of the action elsewhere.
    """

    threshold: float
    above: str = "dncnn"
    below: str = "clahe_2_1"

    def policy(self, actions: Sequence[str]) -> Policy:
        """The rule as a policy over the named actions."""
        above, below = actions.index(self.above), actions.index(self.below)

        def act(state: NDArray[np.float32], rng: np.random.Generator) -> int:
            return above if state[ENTROPY] > self.threshold else below

        return act


def best_single_action(transitions: Transitions) -> str:
    """The action that, taken once, lowers the distance most: in the mean over all batches."""
    names = [name for name in transitions.actions if name != "nop"]
    if not names:
        raise InputError("there is no action but 'nop'")

    def mean_ratio(name: str) -> float:
        prefix = (transitions.actions.index(name),)
        return float(
            np.mean(
                [
                    transitions.outcome(batch, prefix).distance
                    / transitions.outcome(batch).distance
                    for batch in range(len(transitions))
                ]
            )
        )

    return min(names, key=mean_ratio)


def fit_entropy_rule(transitions: Transitions, noisy: Sequence[bool]) -> EntropyRule:
    """The rule that the released policy nearly is: `dncnn` on noise, `clahe_2_1` elsewhere.

    Args:
        transitions: of batches under surrogates.
        noisy: of each batch, whether its surrogate is noise.

    Returns:
        The rule with its threshold midway between the mean entropies of the two kinds.

    Raises:
        InputError: batches of one kind only, or another number of them.
    """
    kinds = np.asarray(noisy, dtype=bool)
    if kinds.shape != (len(transitions),) or kinds.all() or not kinds.any():
        raise InputError("the rule needs batches with noise and batches without")
    entropy = np.array(
        [transitions.outcome(batch).state[ENTROPY] for batch in range(len(transitions))]
    )
    return EntropyRule(float((entropy[kinds].mean() + entropy[~kinds].mean()) / 2))


def rival_policies(
    actors: Actors, rules: Mapping[str, Any], actions: Sequence[str], seeds: int
) -> dict[str, list[Policy]]:
    """All policies by name, one a seed; rules that draw nothing stand alone.

    Args:
        actors: by name and seed, such as `learned-0`.
        rules: `best_single`, the name of an action, and `entropy_threshold`, in bits.
        actions: names of the actors' actions.
        seeds: how many random policies.
    """
    policies: dict[str, list[Policy]] = {}
    for name, (actor, _) in actors.items():
        policies.setdefault(name.rpartition("-")[0], []).append(SampledPolicy(actor))
    rule = EntropyRule(rules["entropy_threshold"])
    return policies | {
        "entropy rule": [rule.policy(actions)],
        f"always {rules['best_single']}": [always(actions.index(rules["best_single"]))],
        "random": [uniform(len(actions))] * seeds,
        "nop": [always(actions.index("nop"))],
    }


def rival_returns(
    env: ShiftEnv,
    policies: Mapping[str, Sequence[Policy]],
    batches: int,
    *,
    discount: float,
    exhaustive: int,
    width: int,
    seed: int,
) -> list[tuple[int, str, int, float]]:
    """Discounted returns of every policy and seed, one episode a batch, and of the oracle.

    Args:
        env: the environment.
        policies: by name, one a seed.
        batches: how many the environment has.
        discount: γ.
        exhaustive: as of `best_return`, which considers what the policies did, too.
        width: likewise.
        seed: of the sampling.

    Returns:
        Batch, name, number of the seed, return.
    """
    rows = []
    paths: dict[int, list[list[int]]] = {batch: [] for batch in range(batches)}
    for name, seeds in policies.items():
        for number, policy in enumerate(seeds):
            streams = [stream(seed, "rival returns", name, number, batch) for batch in paths]
            episodes = rollouts(env, policy, list(paths), streams)
            for batch, episode in enumerate(episodes):
                paths[batch].append(episode.actions)
                rows.append((batch, name, number, discounted_returns(episode.rewards, discount)[0]))
    for batch, known in paths.items():
        best = best_return(
            env, batch, discount=discount, exhaustive=exhaustive, width=width, known=known
        )
        rows.append((batch, ORACLE, 0, best))
    return rows
