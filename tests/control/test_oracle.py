from itertools import product

import numpy as np
import pytest
import torch
from control_toys import World, hundredfold, level
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from superstar.control.algorithm import Brakes, run_algorithm
from superstar.control.env import ShiftEnv
from superstar.control.networks import uniform
from superstar.control.oracle import best_return, best_sequence
from superstar.control.transitions import Transitions
from superstar.errors import InputError

ACTIONS = ("nop", "bilateral", "wavelet_bayes", "wavelet_visu", "clahe_2_1", "clahe_2_2")
FREE = Brakes(None, None, None, 5)


def toy(value: float = 0.8, **changes) -> Transitions:
    arguments = {"actions": ACTIONS, "memory_limit": 2**20}
    return Transitions([level(value)], torch.zeros(1, 1), hundredfold, **arguments | changes)


def toy_env() -> ShiftEnv:
    return ShiftEnv(
        [level(0.8)],
        torch.zeros(1, 1),
        hundredfold,
        actions=("nop", "wavelet_bayes", "clahe_2_1"),
        horizon=3,
        ssim_weight=1.0,
        ssim_threshold=0.9,
    )


def nearer(transitions: Transitions):
    return lambda prefix: -transitions.outcome(0, prefix).distance


def names(prefix) -> list[str]:
    return [ACTIONS[index] for index in prefix]


def test_without_brakes_the_best_action_is_taken_to_the_horizon(world: World):
    transitions = toy()
    assert (
        names(best_sequence(transitions, 0, nearer(transitions), brakes=FREE)) == ["clahe_2_1"] * 5
    )


def test_alpha_ends_a_sequence_where_it_is_reached(world: World):
    transitions = toy()
    # 0.95² · 0.999² > 0.9, so a strong action may still follow four weak ones.
    brakes = Brakes(0.9, None, None, 5)
    found = best_sequence(transitions, 0, nearer(transitions), brakes=brakes, width=125)
    first = transitions.outcome(0).distance
    assert names(found)[-1] == "clahe_2_1"
    for end in range(1, len(found)):
        assert transitions.outcome(0, found[:end]).distance > 0.9 * first
    assert transitions.outcome(0, found).distance == pytest.approx(
        80 * 0.95**2 * 0.999**2 * 0.5, rel=1e-4
    )


def test_beta_forbids_slow_actions_and_the_tree_all(world: World):
    transitions = toy(actions=("nop", "bilateral", "clahe_2_2"))
    assert best_sequence(transitions, 0, nearer(transitions), brakes=FREE) == (1,) * 5
    strict = Brakes(0.9, 0.995, None, 5)
    assert best_sequence(transitions, 0, nearer(transitions), brakes=strict) == ()
    inoperable = DecisionTreeClassifier().fit(np.zeros((2, 3)), [0, 0])
    closed = Brakes(None, None, inoperable, 5)
    assert best_sequence(toy(), 0, nearer(toy()), brakes=closed) == ()


def test_the_score_decides_not_the_distance(world: World):
    transitions = toy(0.5)
    found = best_sequence(
        transitions, 0, lambda prefix: transitions.outcome(0, prefix).distance, brakes=FREE
    )
    assert set(names(found)) == {"clahe_2_2"}


def test_of_equals_the_shortest_is_taken(world: World):
    assert best_sequence(toy(), 0, lambda _: 0.0, brakes=FREE) == ()
    assert best_sequence(toy(), 0, lambda prefix: float(len(prefix) > 0), brakes=FREE) == (1,)


def test_known_sequences_count_even_if_the_beam_misses_them(world: World):
    hidden = (5, 5, 5, 4, 4)

    def score(prefix) -> float:
        return 1.0 if prefix == hidden else -float(prefix[:1] == (5,))

    arguments = {"brakes": FREE, "exhaustive": 1, "width": 1}
    assert best_sequence(toy(), 0, score, **arguments) == ()
    assert best_sequence(toy(), 0, score, known=[(1,), hidden], **arguments) == hidden


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from([1, 2, 3]))
def test_up_to_the_exhaustive_depth_nothing_is_missed(seed: int, depth: int):
    rng = np.random.default_rng(seed)
    values: dict[tuple[int, ...], float] = {}

    def score(prefix) -> float:
        return values.setdefault(prefix, float(rng.random()))

    brakes = Brakes(None, None, None, depth)
    found = best_sequence(toy(), 0, score, brakes=brakes, exhaustive=depth)
    every = [p for n in range(depth + 1) for p in product(range(1, len(ACTIONS)), repeat=n)]
    assert set(values) == set(every)
    assert values[found] == max(values.values())


@pytest.mark.parametrize("seed", range(8))
def test_no_policy_under_the_same_brakes_comes_nearer(world: World, seed: int):
    transitions = toy()
    brakes = Brakes(0.6, 0.96, None, 5)
    trace = run_algorithm(
        transitions, 0, uniform(len(ACTIONS)), brakes, np.random.default_rng(seed)
    )
    found = best_sequence(transitions, 0, nearer(transitions), brakes=brakes, known=[trace.prefix])
    assert transitions.outcome(0, found).distance <= trace.distance_final


def test_the_beam_computes_no_more_than_it_must(world: World):
    transitions = toy(memory_limit=2**24)
    best_sequence(transitions, 0, nearer(transitions), brakes=FREE)
    five = len(ACTIONS) - 1
    assert transitions.computed == five + five**2 + 3 * 8 * five


@pytest.mark.parametrize(
    "bad", [{"exhaustive": 0}, {"width": 0}, {"width": 1.5}, {"exhaustive": float("nan")}]
)
def test_bad_arguments_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        best_sequence(toy(), 0, lambda _: 0.0, brakes=FREE, **bad)
    with pytest.raises(InputError, match=next(iter(bad))):
        best_return(toy_env(), 0, discount=0.9, **bad)


def test_returns_are_of_whole_episodes(world: World):
    env = toy_env()
    best = best_return(env, 0, discount=0.9, exhaustive=5)
    assert best_return(env, 0, discount=0.9, exhaustive=5, known=[(), (0,)]) == best
    for discount in (-0.1, 2.0, float("nan")):
        with pytest.raises(InputError, match="discount"):
            best_return(env, 0, discount=discount)
