import numpy as np
import pytest
import torch
from control_toys import World, hundredfold, level, noisy, photographs

from superstar.control.rivals import EntropyRule, best_single_action, fit_entropy_rule
from superstar.control.transitions import Transitions
from superstar.errors import InputError
from superstar.measures import Projection

ACTIONS = ("nop", "bilateral", "wavelet_bayes", "wavelet_visu", "clahe_2_1", "clahe_2_2")


def test_the_best_single_action_lowers_the_distance_most(world: World):
    batches = [level(0.8), level(0.4)]
    toy = Transitions(batches, torch.zeros(1, 1), hundredfold, actions=ACTIONS, memory_limit=0)
    assert best_single_action(toy) == "clahe_2_1"
    idle = Transitions(batches, torch.zeros(1, 1), hundredfold, actions=["nop"], memory_limit=0)
    with pytest.raises(InputError, match="no action but"):
        best_single_action(idle)


def real() -> Transitions:
    clean = photographs(6)
    projection = Projection.create("dct", n=24 * 24, m=40, seed=0, mean=(0.5,) * 3, std=(0.25,) * 3)
    batches = [noisy(clean), clean**0.4, noisy(clean, seed=1), clean**0.5]
    return Transitions(
        batches, projection(photographs(6, seed=9)), projection, actions=ACTIONS, memory_limit=0
    )


def test_the_rule_tells_noise_from_light():
    transitions = real()
    noisy_ones = [True, False, True, False]
    rule = fit_entropy_rule(transitions, noisy_ones)
    act = EntropyRule(rule.threshold, "wavelet_bayes", "clahe_2_1").policy(ACTIONS)
    rng = np.random.default_rng(0)
    said = [ACTIONS[act(transitions.outcome(batch).state, rng)] for batch in range(4)]
    assert said == ["wavelet_bayes", "clahe_2_1"] * 2
    assert (rule.above, rule.below) == ("dncnn", "clahe_2_1")


@pytest.mark.parametrize("kinds", [[True] * 4, [False] * 4, [True, False]])
def test_the_rule_needs_both_kinds(kinds):
    with pytest.raises(InputError, match="with noise and batches without"):
        fit_entropy_rule(real(), kinds)
