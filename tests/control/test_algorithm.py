from dataclasses import dataclass

import numpy as np
import pytest
import torch
from control_toys import World, hundredfold, level, noisy, photographs
from numpy.testing import assert_allclose
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from superstar.actions import apply_action
from superstar.control.algorithm import Brakes, Trace, run_algorithm
from superstar.control.networks import always
from superstar.control.observation import observe
from superstar.control.transitions import Transitions
from superstar.errors import InputError
from superstar.measures import Distance, Projection, wasserstein_distance

ACTIONS = ("nop", "bilateral", "wavelet_bayes", "wavelet_visu", "clahe_2_1", "clahe_2_2")
OPERABLE = DecisionTreeClassifier().fit(np.zeros((2, 3)), [1, 1])


def scripted(*names: str):
    """A policy that says these names in turn, and notes what it was shown."""
    script = iter(names)

    def policy(state, rng) -> int:
        policy.states.append(float(state[0]))
        return ACTIONS.index(next(script))

    policy.states = []
    return policy


BRAKES = {"tree": OPERABLE, "alpha": 0.9, "beta": 0.995, "horizon": 5}


@dataclass(frozen=True)
class Selection(Trace):
    images: Tensor


def select(policy, images=None, rng=None, **changes) -> Selection:
    brakes = Brakes(**BRAKES | {name: changes.pop(name) for name in BRAKES if name in changes})
    arguments = {
        "batches": [level(0.8) if images is None else images],
        "reference": torch.zeros(1, 1),
        "projection": hundredfold,
        "actions": ACTIONS,
        "memory_limit": 2**20,
    }
    transitions = Transitions(**arguments | changes)
    trace = run_algorithm(transitions, 0, policy, brakes, rng or np.random.default_rng(0))
    return Selection(**vars(trace), images=transitions.images(0, trace.prefix))


def operable_below(bound: float) -> DecisionTreeClassifier:
    levels = np.linspace(0, 1, 101)
    states = np.repeat(levels[:, None], 3, axis=1)
    return DecisionTreeClassifier().fit(states, (levels < bound).astype(int))


def test_the_action_that_reaches_alpha_is_kept(world: World):
    selection = select(scripted("wavelet_bayes", "clahe_2_1"))
    assert selection.sequence == ("wavelet_bayes", "clahe_2_1")
    assert selection.stop_reason == "alpha"
    assert_allclose(selection.distances, [80, 77.6, 38.8], rtol=1e-5)
    assert (selection.distance_initial, selection.distance_final) == (
        selection.distances[0],
        selection.distances[2],
    )
    assert [(step.action, step.decision, step.reason) for step in selection.steps] == [
        ("wavelet_bayes", "kept", "progress"),
        ("clahe_2_1", "kept", "alpha"),
    ]
    assert_allclose(selection.images, 0.8 * 0.97 * 0.5, rtol=1e-5)


def test_alpha_counts_from_the_initial_distance(world: World):
    selection = select(scripted("wavelet_bayes", "wavelet_bayes", "wavelet_bayes", "wavelet_bayes"))
    assert selection.sequence == ("wavelet_bayes",) * 4  # 0.97^4 = 0.885
    assert selection.stop_reason == "alpha"


def test_the_action_that_fails_beta_alone_is_dropped(world: World):
    selection = select(scripted("wavelet_bayes", "bilateral"))
    assert selection.sequence == ("wavelet_bayes",)
    assert selection.stop_reason == "beta"
    assert_allclose(selection.distances, [80, 77.6], rtol=1e-5)
    dropped = selection.steps[-1]
    assert (dropped.action, dropped.decision, dropped.reason) == ("bilateral", "dropped", "beta")
    assert dropped.distance == pytest.approx(77.6 * 0.999, rel=1e-5)
    assert selection.distance_final == pytest.approx(77.6, rel=1e-5)
    assert_allclose(selection.images, 0.8 * 0.97, rtol=1e-5)


def test_a_first_action_that_makes_things_worse_leaves_the_images_alone(world: World):
    images = level(0.8)
    selection = select(scripted("clahe_2_2"), images)
    assert selection.sequence == ()
    assert selection.stop_reason == "beta"
    assert torch.equal(selection.images, images)


def test_beta_outranks_alpha(world: World):
    # 0.91 of w_0, then 0.97 of that: across alpha, but by less than beta asks.
    world.factors |= {"wavelet_visu": 0.91}
    selection = select(scripted("wavelet_visu", "wavelet_bayes"), beta=0.96)
    assert selection.sequence == ("wavelet_visu",)
    assert selection.stop_reason == "beta"
    assert selection.steps[-1].distance <= 0.9 * selection.distance_initial


def test_meeting_beta_exactly_is_no_progress(world: World):
    world.factors["wavelet_bayes"] = 0.5
    selection = select(scripted("wavelet_bayes"), images=level(0.5), beta=0.5, alpha=0.1)
    assert selection.stop_reason == "beta"


def test_nop_stops(world: World):
    selection = select(scripted("wavelet_bayes", "nop"))
    assert selection.sequence == ("wavelet_bayes",)
    assert selection.stop_reason == "nop"
    last = selection.steps[-1]
    assert (last.action, last.decision, last.reason) == ("nop", "dropped", "nop")
    assert last.distance == selection.distance_final
    assert "nop" not in world.applied


def test_the_horizon_stops(world: World):
    selection = select(scripted(*["wavelet_bayes"] * 3), horizon=3)
    assert selection.sequence == ("wavelet_bayes",) * 3
    assert selection.stop_reason == "horizon"
    assert len(selection.steps) == 3


def test_an_inoperable_set_is_left_alone_and_the_policy_not_asked(world: World):
    policy = scripted("clahe_2_1")
    images = level(0.8)
    selection = select(policy, images, tree=operable_below(0.7))
    assert selection.sequence == ()
    assert selection.stop_reason == "inoperable"
    assert not selection.operable
    assert policy.states == []
    assert world.applied == []
    (step,) = selection.steps
    assert (step.operable, step.action, step.decision) == (False, None, "dropped")
    assert torch.equal(selection.images, images)
    assert selection.distance_final == selection.distance_initial


def test_operability_is_asked_of_the_images_before_each_action(world: World):
    # 0.8 is operable; 0.776, after the first action, is not: that action stays.
    levels = np.linspace(0, 1, 101)
    tree = DecisionTreeClassifier().fit(
        np.repeat(levels[:, None], 3, axis=1), (levels > 0.785).astype(int)
    )
    policy = scripted("wavelet_bayes", "clahe_2_1")
    selection = select(policy, tree=tree)
    assert selection.sequence == ("wavelet_bayes",)
    assert selection.stop_reason == "inoperable"
    assert selection.operable
    assert_allclose(policy.states, [0.8], rtol=1e-5)
    assert_allclose([step.state[0] for step in selection.steps], [0.8, 0.776], rtol=1e-5)


def test_the_policy_draws_from_the_stream_given(world: World):
    def coin(state, rng) -> int:
        return int(rng.integers(1, 4))

    picks = [
        select(coin, rng=np.random.default_rng(seed), alpha=0.1, beta=1).sequence
        for seed in (0, 0, 1, 2)
    ]
    assert picks[0] == picks[1]
    assert len(set(picks)) > 1


def test_with_the_real_library_the_sequence_explains_the_images():
    projection = Projection.create(
        "dct", n=24 * 24, m=60, seed=0, mean=(0.45,) * 3, std=(0.25,) * 3
    )
    reference = projection(photographs(12, seed=7))
    images = noisy(photographs(12), 0.3)
    copy = images.clone()
    selection = select(
        always(ACTIONS.index("wavelet_bayes")),
        images,
        reference=reference,
        projection=projection,
        alpha=0.2,
        horizon=3,
    )
    assert torch.equal(images, copy)
    assert len(selection.sequence) >= 1
    replayed = images
    for name in selection.sequence:
        replayed = apply_action(replayed, name)
    assert torch.equal(selection.images, replayed)
    assert selection.distance_final == wasserstein_distance(reference, replayed, projection)
    assert np.diff(selection.distances).max() < 0
    assert_allclose(selection.steps[0].state, observe(images))


def test_without_brakes_nothing_but_the_horizon_stops_the_policy(world: World):
    free = {"tree": None, "alpha": None, "beta": None}
    selection = select(always(ACTIONS.index("clahe_2_2")), images=level(0.5), **free)
    assert selection.sequence == ("clahe_2_2",) * 5
    assert selection.stop_reason == "horizon"
    assert np.diff(selection.distances).min() > 0
    assert select(always(ACTIONS.index("nop")), **free).stop_reason == "nop"


def test_with_beta_above_1_the_distance_may_rise_a_little(world: World):
    worse, worst = "clahe_2_2", "wavelet_bayes"  # 1.1 and 0.97 times the distance
    assert select(scripted(worse, worst, "nop"), level(0.5), beta=1.12).sequence == (worse, worst)
    assert select(scripted(worse), level(0.5), beta=1.09).sequence == ()


def test_another_distance_measures_every_step(world: World):
    # The same sequence of levels, but the second order squares what differs between images.
    images = torch.cat([level(0.2, 1), level(0.8, 1)])
    selection = select(scripted("wavelet_bayes", "nop"), images)
    assert_allclose(selection.distances, [50, 48.5], rtol=1e-5)
    second = Distance.create("wasserstein", p=2)
    selection = select(scripted("wavelet_bayes", "nop"), images, distance=second)
    assert_allclose(selection.distances, np.sqrt((20**2 + 80**2) / 2) * np.array([1, 0.97]), 1e-5)
    # A divergence that is saturated sees no progress.
    selection = select(scripted("wavelet_bayes"), images, distance="total_variation")
    assert selection.sequence == ()
    assert selection.stop_reason == "beta"
    assert selection.distances == (1.0,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 0}, "horizon"),
        ({"distance": "total_variatoin"}, "did you mean 'total_variation'"),
        ({"alpha": 0.0}, "alpha"),
        ({"beta": 0.0}, "beta"),
        ({"beta": float("nan")}, "beta"),
        ({"actions": ("nop", "nothing")}, "unknown action"),
        ({"actions": ("nop", "dncnn")}, "denoiser"),
        ({"images": torch.zeros(0, 3, 16, 16)}, "empty"),
    ],
)
def test_bad_arguments_are_refused(changes, message: str):
    with pytest.raises(InputError, match=message):
        select(scripted("nop"), **changes)
