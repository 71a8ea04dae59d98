import random
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from control_toys import Signpost, World, hundredfold, level

from superstar.control import ShiftEnv
from superstar.control.a2c import train_a2c
from superstar.control.actor_critic import PolicySchedule, evaluate_policy, train_actor_critic
from superstar.errors import InputError


@pytest.fixture
def _a2c():
    pytest.importorskip("stable_baselines3", reason="the extra a2c is not installed")


@pytest.mark.usefixtures("_a2c")
def test_it_learns_which_action_a_state_wants():
    actor = train_a2c(Signpost(), episodes=700, seed=0)
    for wanted in range(3):
        assert actor.probabilities(np.eye(3, dtype=np.float32)[wanted])[wanted] > 0.8


def global_states():
    legacy = np.random.get_state()[1].tolist()  # noqa: NPY002
    return random.getstate(), legacy, torch.get_rng_state().tolist()


@pytest.mark.usefixtures("_a2c")
def test_equal_seeds_give_equal_networks_and_leave_global_state_alone():
    before = global_states()
    first, second, other = (train_a2c(Signpost(), episodes=20, seed=s) for s in (3, 3, 4))
    assert global_states() == before
    weights, again, others = (dict(actor.named_parameters()) for actor in (first, second, other))
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert not torch.equal(weights["linear1.weight"], others["linear1.weight"])


@pytest.mark.usefixtures("_a2c")
def test_on_one_environment_both_find_the_way(world: World):
    env = ShiftEnv(
        [level(0.8), level(0.6)],
        torch.zeros(1, 1),
        hundredfold,
        actions=("nop", "wavelet_bayes", "clahe_2_1", "clahe_2_2"),
        ssim_weight=0,
        ssim_threshold=0,
    )
    ours = train_actor_critic(env, PolicySchedule(episodes=400, seed=0), progress=False).actor
    theirs = train_a2c(env, episodes=400, seed=0)
    for actor in (ours, theirs):
        table = pd.concat(evaluate_policy(env, actor, [0, 1], seed=seed) for seed in range(10))
        returns = table.groupby("policy")["return"].mean()
        assert returns["actor"] > returns["random"] > returns["nop"]


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(InputError, match=r"pip install -e '\.\[a2c\]'"):
        train_a2c(Signpost(), episodes=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": 0}, "episodes"),
        ({"discount": 1.5}, "discount"),
        ({"reward_scale": 0.0}, "reward scale"),
    ],
)
def test_bad_arguments_are_refused(changes, message: str):
    with pytest.raises(InputError, match=message):
        train_a2c(Signpost(), **({"episodes": 1} | changes))
