"""What corrects images before any classifier sees them: simple rules, and the controllers."""

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from superstar.actions import ACTIONS, apply_action, packaged_denoiser
from superstar.actions.appearance import Appearance
from superstar.actions.fitted import FITTED, apply_fitted
from superstar.control import Supervisor
from superstar.control.rivals import EntropyRule
from superstar.measures import state_features

Front = Callable[[Tensor], Tensor]
"""From a batch, float32 (N, 3, H, W) in [0, 1], to its correction."""

TONE = "match_tone"


def simple_corrections(supervisor: Supervisor, rule: EntropyRule) -> Mapping[str, Front]:
    """`always dncnn`, `always match_tone` and the rule of one line.

    Args:
        supervisor: whose denoiser (the package's if it has none) and clean images count.
        rule: what it does, by the mean entropy of a batch.

    Raises:
        InputError: a supervisor without the controller `calibrated`.
    """
    denoiser = supervisor.denoiser or packaged_denoiser()
    home = supervisor.need_calibrated().appearance
    policy, unused = rule.policy(ACTIONS), np.random.default_rng()

    def match_tone(images: Tensor) -> Tensor:
        numbers = FITTED[TONE].fit(Appearance.of(images), home)
        return apply_fitted(images, TONE, numbers)

    def by_rule(images: Tensor) -> Tensor:
        state = state_features(images).mean(0).numpy().astype(np.float32)
        return apply_action(images, ACTIONS[policy(state, unused)], denoiser)

    return {
        "always dncnn": lambda images: apply_action(images, "dncnn", denoiser),
        f"always {TONE}": match_tone,
        "rule": by_rule,
    }


def controllers(supervisor: Supervisor, seed: int) -> Mapping[str, Front]:
    """The supervisor's controllers by name, each choosing anew on every batch.

    Args:
        supervisor: that holds them.
        seed: of what they draw.
    """

    def correct(name: str) -> Front:
        return lambda images: supervisor.recover(images, seed, name).images

    return {name: correct(name) for name in supervisor.controllers}
