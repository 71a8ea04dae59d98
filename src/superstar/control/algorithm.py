"""Algorithm 1, "Transformation Selection": the learned policy applied, with its brakes."""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from superstar.control.networks import Policy
from superstar.control.operability import is_operable
from superstar.control.transitions import Prefix, Transitions
from superstar.errors import InputError
from superstar.integers import whole

StopReason = Literal["inoperable", "alpha", "beta", "nop", "horizon"]


@dataclass(frozen=True)
class Step:
    """One round of the loop.

    Attributes:
        state: float32 (3,), of the images before the action.
        operable: what the tree says of that state.
        action: the policy's choice; None if it was not asked, the set being inoperable.
        distance: w_i, of the images after the action; after no action, that of the images before.
        decision: whether the action joined the sequence.
        reason: for "kept", "progress" or "alpha" (close enough to stop); for "dropped", "beta"
            (too little progress), "nop" or "inoperable".
    """

    state: NDArray[np.float32]
    operable: bool
    action: str | None
    distance: float
    decision: Literal["kept", "dropped"]
    reason: Literal["progress", "alpha", "beta", "nop", "inoperable"]


@dataclass(frozen=True)
class Brakes:
    """What stops the policy. None takes a brake away.

    Attributes:
        alpha: α in (0, 1]; at this share of the first distance the images are close enough.
        beta: β > 0; an action must bring the distance below this share of the one before it. With
            β > 1 actions that raise the distance a little pass (paper, appendix "Inaction").
        tree: the operability classifier, asked about the mean state of the set.
        horizon: k, most actions, at least 1.

    Raises:
        InputError: one of them is out of range.
    """

    alpha: float | None
    beta: float | None
    tree: DecisionTreeClassifier | None
    horizon: int

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0 < self.alpha <= 1:
            raise InputError(f"alpha must lie in (0, 1], not {self.alpha}")
        if self.beta is not None and not 0 < self.beta < inf:
            raise InputError(f"beta must be a number above 0, not {self.beta}")
        object.__setattr__(self, "horizon", whole(self.horizon, "the horizon", 1))

    def operable(self, state: NDArray[np.float32]) -> bool:
        """Whether the tree, if there is one, lets the policy act on images of this state."""
        return self.tree is None or is_operable(self.tree, state)

    def progress(self, before: float, after: float) -> bool:
        """Whether an action passes β."""
        return self.beta is None or after < self.beta * before

    def arrived(self, first: float, now: float) -> bool:
        """Whether the images are close enough by α."""
        return self.alpha is not None and now <= self.alpha * first


@dataclass(frozen=True)
class Trace:
    """The sequence that Algorithm 1 returns, and how it came about.

    Attributes:
        sequence: names of the actions kept, in order of application.
        prefix: the same as indices.
        steps: the rounds of the loop, the last one included whatever its decision.
        stop_reason: "inoperable", "alpha", "beta", "nop" or "horizon".
        distances: w_0 and the distance after each action kept.
    """

    sequence: tuple[str, ...]
    prefix: Prefix
    steps: tuple[Step, ...]
    stop_reason: StopReason
    distances: tuple[float, ...]

    @property
    def operable(self) -> bool:
        """Whether the images as they came were operable."""
        return self.steps[0].operable

    @property
    def distance_initial(self) -> float:
        """w_0, the distance of the images as they came."""
        return self.distances[0]

    @property
    def distance_final(self) -> float:
        """The distance of the images returned."""
        return self.distances[-1]


def run_algorithm(
    transitions: Transitions,
    batch: int,
    policy: Policy,
    brakes: Brakes,
    rng: np.random.Generator,
) -> Trace:
    """Choose corrections until a brake stops the policy (paper, Algorithm 1).

    Each round i = 1, ..., horizon, with w_i the distance to the validation set after i actions:

    1. V_{i-1} inoperable: stop. (The algorithm as printed asks for V_i, which does not exist yet.)
    2. The policy says `nop`: stop. (It leaves w_i = w_{i-1}, so it always fails the next test.)
    3. w_i ≥ β·w_{i-1}: drop the action and stop. So small a fall is no evidence of progress, even
       if it crosses the line of step 4.
    4. Keep the action; w_i ≤ α·w_0: stop. (As printed the action that reaches α is dropped; the
       authors' release keeps it.)

    Args:
        transitions: of the batches; its actions are the policy's, in the policy's order.
        batch: index of the batch V_c.
        policy: π.
        brakes: what stops it.
        rng: the policy's random stream.

    Returns:
        The sequence and every decision on the way.
    """
    prefix: Prefix = ()
    steps: list[Step] = []
    now = transitions.outcome(batch)
    distances = [now.distance]
    stop_reason: StopReason = "horizon"
    for _ in range(brakes.horizon):
        if not brakes.operable(now.state):
            steps.append(Step(now.state, False, None, now.distance, "dropped", "inoperable"))
            stop_reason = "inoperable"
            break
        chosen = policy(now.state, rng)
        action = transitions.actions[chosen]
        if action == "nop":
            steps.append(Step(now.state, True, action, now.distance, "dropped", "nop"))
            stop_reason = "nop"
            break
        then = transitions.outcome(batch, (*prefix, chosen))
        if not brakes.progress(now.distance, then.distance):
            steps.append(Step(now.state, True, action, then.distance, "dropped", "beta"))
            stop_reason = "beta"
            break
        prefix = (*prefix, chosen)
        distances.append(then.distance)
        if brakes.arrived(distances[0], then.distance):
            steps.append(Step(now.state, True, action, then.distance, "kept", "alpha"))
            stop_reason = "alpha"
            break
        steps.append(Step(now.state, True, action, then.distance, "kept", "progress"))
        now = then
    sequence = tuple(transitions.actions[index] for index in prefix)
    return Trace(sequence, prefix, tuple(steps), stop_reason, tuple(distances))
