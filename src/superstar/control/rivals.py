"""Simple policies that a learned one has to beat, chosen on the same surrogates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superstar.control.networks import Policy
from superstar.control.transitions import Transitions
from superstar.errors import InputError
from superstar.measures import FEATURES

ENTROPY = FEATURES.index("entropy")


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
