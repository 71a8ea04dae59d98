from types import SimpleNamespace

import numpy as np
import pytest
import torch

from superstar.actions import Correction, Plan, apply_action
from superstar.control.algorithm import Step
from superstar.control.first_actions import first_action
from superstar.control.supervisor import Recovery
from superstar.control.transitions import Transitions
from superstar.measures import points_distance

ACTIONS = ("nop", "clahe_2_1", "wavelet_visu")
STATE = np.array([1.0, 0.3, 2.0], np.float32)


@pytest.fixture(scope="module")
def images():
    generator = torch.Generator().manual_seed(0)
    return 0.3 + 0.2 * torch.rand((6, 3, 24, 24), generator=generator)


class World:
    """A supervisor whose policy holds one action most probable."""

    actions = ACTIONS
    denoiser = None

    def __init__(self, likeliest):
        chances = np.full(3, 0.2)
        chances[likeliest] = 0.6
        self.actor = SimpleNamespace(probabilities=lambda state: chances)
        self.validation_points = torch.rand((5, 4), generator=torch.Generator().manual_seed(1))

    def projection(self, images):
        return images.mean((1, 3))[:, :4].double()

    def transitions(self, batches, memory_limit):
        points = self.validation_points
        return Transitions(
            batches, points, self.projection, actions=ACTIONS, memory_limit=memory_limit
        )


def recovery(images, step):
    operable = step.operable
    return Recovery(images, Plan(), (10.0,), operable, step.reason, (step,))


@pytest.mark.parametrize(
    ("action", "decision", "reason", "outcome"),
    [
        ("clahe_2_1", "kept", "alpha", "kept"),
        ("clahe_2_1", "kept", "progress", "kept"),
        ("wavelet_visu", "dropped", "beta", "beta"),
        ("nop", "dropped", "nop", "nop"),
    ],
)
def test_the_policy_was_asked(images, action, decision, reason, outcome):
    step = Step(STATE, True, action, 8.5, decision, reason)
    first = first_action(recovery(images, step), World(likeliest=0))
    assert (first.action, first.distance, first.outcome) == (action, 8.5, outcome)
    assert first.sequence == (() if action == "nop" else (Correction(action),))


def test_what_the_tree_forbade_is_tried_out(images):
    step = Step(STATE, False, None, 10.0, "dropped", "inoperable")
    world = World(likeliest=1)
    first = first_action(recovery(images, step), world)
    assert (first.action, first.outcome) == ("clahe_2_1", "inoperable")
    points = world.projection(apply_action(images, "clahe_2_1"))
    assert first.distance == pytest.approx(points_distance(world.validation_points, points))


def test_a_policy_that_wants_nothing_moves_nothing(images):
    step = Step(STATE, False, None, 10.0, "dropped", "inoperable")
    first = first_action(recovery(images, step), World(likeliest=0))
    assert (first.sequence, first.distance, first.outcome) == ((), 10.0, "inoperable")
