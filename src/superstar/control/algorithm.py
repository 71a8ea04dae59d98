"""Algorithm 1, "Transformation Selection": the learned policy applied, with its brakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from superstar.actions import ACTIONS, Denoiser, apply_action
from superstar.control.env import Embedding, check_actions
from superstar.control.networks import Policy
from superstar.control.observation import observe
from superstar.control.operability import is_operable
from superstar.errors import InputError
from superstar.images import check_images
from superstar.measures import Distance

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
class Selection:
    """The sequence that Algorithm 1 returns, and how it came about.

    Attributes:
        sequence: names of the actions kept, in order of application.
        steps: the rounds of the loop, the last one included whatever its decision.
        stop_reason: "inoperable", "alpha", "beta", "nop" or "horizon".
        distances: w_0 and the distance after each action kept.
        images: the corrected images, float32 (N, 3, H, W) in [0, 1]; the caller's own tensor
            where no action was kept.
    """

    sequence: tuple[str, ...]
    steps: tuple[Step, ...]
    stop_reason: StopReason
    distances: tuple[float, ...]
    images: Tensor

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


def select_transforms(
    images: Tensor,
    policy: Policy,
    *,
    reference: Tensor,
    projection: Embedding,
    tree: DecisionTreeClassifier,
    alpha: float,
    beta: float,
    horizon: int,
    denoiser: Denoiser | None,
    rng: np.random.Generator,
    actions: Sequence[str] = ACTIONS,
    distance: str | Distance = "wasserstein",
) -> Selection:
    """Choose and apply corrections until a brake stops the policy (paper, Algorithm 1).

    Each round i = 1, ..., horizon, with w_i the distance to the validation set after i actions:

    1. V_{i-1} inoperable: stop. (The algorithm as printed asks for V_i, which does not exist yet.)
    2. The policy says `nop`: stop. (It leaves w_i = w_{i-1}, so it always fails the next test.)
    3. w_i ≥ β·w_{i-1}: drop the action and stop. So small a fall is no evidence of progress, even
       if it crosses the line of step 4.
    4. Keep the action; w_i ≤ α·w_0: stop. (As printed the action that reaches α is dropped; the
       authors' release keeps it.)

    Args:
        images: V_c, float32 (N, 3, H, W) in [0, 1]; not modified.
        policy: π.
        reference: the projected validation set, (n, m).
        projection: what projected it.
        tree: the operability classifier, asked about the mean state of the set.
        alpha: α, in (0, 1].
        beta: β, in (0, 1].
        horizon: k, most actions, at least 1.
        denoiser: for `dncnn`.
        rng: the policy's random stream.
        actions: names of the policy's actions, in its order.
        distance: between sets of points; a name stands for `Distance.create(name)`.

    Returns:
        The sequence, the corrected images and every decision on the way.

    Raises:
        InputError: not a batch of images, an argument outside its range, an unknown action or
            distance, `dncnn` without a denoiser.
    """
    check_images(images)
    check_actions(actions, denoiser)
    check_brakes(alpha, beta, horizon)
    measure = Distance.of(distance)

    sequence: list[str] = []
    steps: list[Step] = []
    distances = [measure(reference, projection(images))]
    stop_reason: StopReason = "horizon"
    for _ in range(horizon):
        state = observe(images)
        if not is_operable(tree, state):
            steps.append(Step(state, False, None, distances[-1], "dropped", "inoperable"))
            stop_reason = "inoperable"
            break
        action = actions[policy(state, rng)]
        if action == "nop":
            steps.append(Step(state, True, action, distances[-1], "dropped", "nop"))
            stop_reason = "nop"
            break
        corrected = apply_action(images, action, denoiser=denoiser)
        reached = measure(reference, projection(corrected))
        if reached >= beta * distances[-1]:
            steps.append(Step(state, True, action, reached, "dropped", "beta"))
            stop_reason = "beta"
            break
        images = corrected
        sequence.append(action)
        distances.append(reached)
        if reached <= alpha * distances[0]:
            steps.append(Step(state, True, action, reached, "kept", "alpha"))
            stop_reason = "alpha"
            break
        steps.append(Step(state, True, action, reached, "kept", "progress"))
    return Selection(tuple(sequence), tuple(steps), stop_reason, tuple(distances), images)


def check_brakes(alpha: float, beta: float, horizon: int) -> None:
    """Refuse thresholds outside (0, 1] and a horizon below 1.

    Raises:
        InputError: one of them is.
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value <= 1:
            raise InputError(f"{name} must lie in (0, 1], not {value}")
    if horizon < 1:
        raise InputError(f"the horizon must be at least 1, not {horizon}")
