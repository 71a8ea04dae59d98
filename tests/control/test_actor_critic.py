import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from control_toys import Signpost, World, hundredfold, level
from gymnasium import spaces
from numpy.testing import assert_allclose
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from superstar.actions import ACTIONS
from superstar.checkpoint import Checkpoint, digest
from superstar.control import ShiftEnv, actor_critic
from superstar.control.actor_critic import PolicySchedule, evaluate_policy, train_actor_critic
from superstar.control.networks import (
    Actor,
    Critic,
    SampledPolicy,
    always,
    load_actor,
    load_critic,
    save_actor,
    save_critic,
    uniform,
)
from superstar.errors import InputError


def same(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_networks_have_the_papers_shape():
    shapes = {name: tuple(weight.shape) for name, weight in Actor(8).state_dict().items()}
    assert shapes == {
        "linear1.weight": (128, 3),
        "linear1.bias": (128,),
        "linear2.weight": (256, 128),
        "linear2.bias": (256,),
        "linear3.weight": (8, 256),
        "linear3.bias": (8,),
    }
    assert Critic()(torch.zeros(5, 3)).shape == (5,)


def test_probabilities_are_the_softmax_of_the_logits():
    torch.manual_seed(0)
    actor = Actor(4)
    state = np.array([1.0, 0.4, 3.0], dtype=np.float32)
    probabilities = actor.probabilities(state)
    assert probabilities.sum() == pytest.approx(1)
    assert_allclose(probabilities, torch.softmax(actor(torch.tensor(state)), 0).detach(), rtol=1e-5)
    rng = np.random.default_rng(0)
    drawn = [SampledPolicy(actor)(state, rng) for _ in range(4000)]
    assert_allclose(np.bincount(drawn, minlength=4) / 4000, probabilities, atol=0.03)


def test_baseline_policies():
    rng = np.random.default_rng(0)
    state = np.zeros(3, dtype=np.float32)
    drawn = np.bincount([uniform(4)(state, rng) for _ in range(2000)], minlength=4)
    assert drawn.min() > 420
    assert {always(2)(state, rng) for _ in range(10)} == {2}


def learned(env, **given):
    return train_actor_critic(env, PolicySchedule(**given), progress=False)


def test_it_learns_which_action_a_state_wants():
    result = learned(Signpost(), episodes=700, learning_rate=1e-3, seed=0)
    for wanted in range(3):
        probabilities = result.actor.probabilities(np.eye(3, dtype=np.float32)[wanted])
        assert probabilities[wanted] > 0.8
    curves = result.curves
    assert curves["reward"].tail(100).mean() > curves["reward"].head(100).mean() + 10
    assert curves["entropy"].iloc[0] == pytest.approx(np.log(3), abs=0.05)
    assert curves["entropy"].tail(100).mean() < 0.5
    values = result.critic(torch.eye(3)).detach() / 0.01
    assert_allclose(values, -84, atol=12)  # 10% exploration, and what is left of chance


def test_equal_seeds_give_equal_networks_and_leave_global_state_alone():
    threads = torch.get_num_threads()
    before = torch.get_rng_state()
    first, second, other = (learned(Signpost(), episodes=20, seed=seed) for seed in (3, 3, 4))
    assert same(first.actor, second.actor)
    assert same(first.critic, second.critic)
    pd.testing.assert_frame_equal(first.curves, second.curves)
    assert not same(first.actor, other.actor)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_reward_scale_changes_the_critics_units_not_the_curves():
    plain, scaled = (learned(Signpost(), episodes=1, reward_scale=scale) for scale in (1.0, 0.01))
    pd.testing.assert_frame_equal(plain.curves, scaled.curves)
    # Adam's first step has the same size whatever the scale of the gradient.
    for a, b in zip(plain.actor.parameters(), scaled.actor.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def two_batches(**changes) -> ShiftEnv:
    settings = {"ssim_weight": 20.0, "ssim_threshold": 0.994}
    return ShiftEnv(
        [level(0.8), level(0.6)],
        torch.zeros(1, 1),
        hundredfold,
        actions=("nop", "wavelet_bayes", "clahe_2_1"),
        **(settings | changes),
    )


def test_curves_tell_the_story_of_each_episode(world: World):
    actions = ("nop", "wavelet_bayes", "clahe_2_1")
    env = two_batches()
    curves = learned(env, episodes=30, seed=1).curves
    assert list(curves["episode"]) == list(range(30))
    assert (curves[list(actions)].sum(axis=1) == curves["length"]).all()
    assert_allclose(curves["exploration"], [0.9 ** (0.07 * (e + 1)) for e in range(30)])
    assert curves["distinct_steps"].is_monotonic_increasing
    assert curves["distinct_steps"].iloc[-1] == env.distinct_steps
    assert env.steps == curves["length"].sum()
    ended = curves["clahe_2_1"] > 0
    assert (curves.loc[ended, "distance_ratio"] <= 0.5 + 1e-6).all()
    alone = curves[(curves["length"] == 1) & ended]
    assert len(alone) > 0
    assert (alone["reward"] == alone["return"]).all()
    # The reward is minus the distance reached, and a similarity term that only lowers it.
    assert (curves["reward"] <= -curves["distance"]).all()
    assert set((curves["distance"] / curves["distance_ratio"]).round(3)) == {80, 60}


def test_the_curve_of_rewards_averages_over_two_hundred_episodes():
    curves = learned(Signpost(), episodes=230).curves
    reward = curves["reward"].to_numpy()
    for last in (0, 99, 199, 229):
        window = reward[max(0, last - 199) : last + 1]
        assert curves["reward_window"][last] == pytest.approx(window.mean(), rel=1e-9)
    assert curves["distance"].isna().all()
    assert curves["distinct_steps"].isna().all()


def killed_at(env: ShiftEnv | Signpost, episode: int):
    """The environment, which ends the process at the start of an episode."""
    reset, left = env.reset, [episode + 1]  # the seed's reset comes first

    def until(**arguments):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return reset(**arguments)

    env.reset = until
    return env


@pytest.mark.parametrize("episode", [3, 10, 14, 19])
@pytest.mark.parametrize("make", [Signpost, two_batches])
def test_a_killed_training_goes_on_to_the_same_end(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, make, episode: int
):
    def train(env, checkpoint=None):
        return learned(
            env,
            episodes=20,
            seed=7,
            checkpoint=checkpoint,
            checkpoint_episodes=5,
        )

    straight = train(make())
    checkpoint = Checkpoint(tmp_path / "policy.safetensors")
    with pytest.raises(KeyboardInterrupt):
        train(killed_at(make(), episode), checkpoint)
    assert checkpoint.path.is_file() == (episode >= 5)
    with caplog.at_level(logging.INFO, "superstar"):
        resumed = train(make(), checkpoint)
    assert same(straight.actor, resumed.actor)
    assert same(straight.critic, resumed.critic)
    pd.testing.assert_frame_equal(straight.curves, resumed.curves, check_exact=True)
    told = f"policy training goes on from episode {episode // 5 * 5}" in caplog.messages
    assert told == (episode >= 5)


def test_a_finished_training_is_not_repeated(world: World, tmp_path: Path):
    checkpoint = Checkpoint(tmp_path / "policy.safetensors")
    arguments = {"episodes": 7, "checkpoint": checkpoint}
    first = learned(two_batches(), **arguments)
    env = two_batches()
    again = learned(env, **arguments)
    assert env.steps == 0
    assert same(first.actor, again.actor)
    pd.testing.assert_frame_equal(first.curves, again.curves, check_exact=True)


@pytest.mark.parametrize(
    "change",
    [
        {"episodes": 9},
        {"learning_rate": 2e-4},
        {"discount": 0.8},
        {"exploration_base": 0.8},
        {"exploration_rate": 0.08},
        {"exploration_floor": 0.2},
        {"reward_scale": 0.02},
        {"seed": 1},
    ],
)
def test_a_checkpoint_of_other_arguments_is_replaced(tmp_path: Path, change):
    given = {"episodes": 8}
    plain = learned(Signpost(), **(given | change))
    checkpoint = Checkpoint(tmp_path / "policy.safetensors")
    learned(Signpost(), **given, checkpoint=checkpoint)
    before = checkpoint.path.read_bytes()
    other = learned(Signpost(), **(given | change), checkpoint=checkpoint)
    assert same(plain.actor, other.actor)
    pd.testing.assert_frame_equal(plain.curves, other.curves, check_exact=True)
    assert checkpoint.path.read_bytes() != before


def test_a_checkpoint_of_another_version_is_replaced(tmp_path: Path, caplog):
    given = {"episodes": 8}
    plain = learned(Signpost(), **given)
    checkpoint = Checkpoint(tmp_path / "policy.safetensors")
    learned(Signpost(), **given, checkpoint=checkpoint)
    with safe_open(checkpoint.path, framework="pt") as file:
        header = file.metadata()
    tensors = load_file(checkpoint.path)
    values = json.loads(header["values"])
    del values["known"]
    for damaged in (
        (tensors, header | {"values": json.dumps(values)}),
        ({f"x{name}": tensor for name, tensor in tensors.items()}, header),
    ):
        contents, told = damaged
        told |= {"digest": digest(contents, told["values"])}
        save_file(contents, checkpoint.path, metadata=told)
        other = learned(Signpost(), **given, checkpoint=checkpoint)
        assert same(plain.actor, other.actor)
        assert "another version" in caplog.text
        caplog.clear()
    checkpoint.remove()
    checkpoint.path.mkdir()
    with pytest.raises(InputError, match="is a folder"):
        learned(Signpost(), **given, checkpoint=checkpoint)


@pytest.mark.parametrize("change", [{"learning_rate": 1e30}, {"reward_scale": 1e38}])
def test_training_that_diverges_says_so(change):
    with pytest.raises(InputError, match="its training has diverged"):
        learned(Signpost(), episodes=20, exploration_floor=0.0, **change)


def test_exploration_stops_at_its_floor():
    curves = learned(Signpost(), episodes=5, exploration_base=0.5, exploration_rate=2).curves
    assert_allclose(curves["exploration"], [0.25, 0.1, 0.1, 0.1, 0.1])


def test_evaluation_beside_policies_that_learned_nothing(world: World):
    env = ShiftEnv(
        [level(0.8), level(0.6), level(0.4)],
        torch.zeros(1, 1),
        hundredfold,
        actions=("nop", "wavelet_bayes", "clahe_2_1"),
        ssim_weight=0,
        ssim_threshold=0,
    )
    actor = Actor(3)
    with torch.no_grad():
        actor.linear3.weight.zero_()
        actor.linear3.bias.copy_(torch.tensor([0.0, 0.0, 50.0]))
    table = evaluate_policy(env, actor, [0, 2], seed=5)
    assert sorted(zip(table["policy"], table["batch"], strict=True)) == [
        (policy, batch) for policy in ("actor", "nop", "random") for batch in (0, 2)
    ]
    learned = table[table["policy"] == "actor"].set_index("batch")
    assert_allclose(learned.loc[[0, 2], "return"], [-40, -20], rtol=1e-6)
    assert list(learned["sequence"]) == [["clahe_2_1"], ["clahe_2_1"]]
    assert_allclose(learned["distance_ratio"], 0.5, rtol=1e-6)
    idle = table[table["policy"] == "nop"].set_index("batch")
    assert idle.loc[0, "return"] == pytest.approx(-80 * (1 - 0.9**5) / 0.1, rel=1e-6)
    assert (idle["distance_ratio"] == 1).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actor_critic, "TOGETHER", 1)
        pd.testing.assert_frame_equal(table, evaluate_policy(env, actor, [0, 2], seed=5))
    with pytest.raises(InputError, match="actor has 2"):
        evaluate_policy(env, Actor(2), [0])


def test_an_actor_survives_the_disk(tmp_path):
    actor = Actor(3)
    path = tmp_path / "actor.safetensors"
    save_actor(actor, path, ("nop", "bilateral", "clahe_2_1"))
    loaded, actions = load_actor(path)
    assert actions == ("nop", "bilateral", "clahe_2_1")
    assert same(actor, loaded)
    assert "linear1.weight" in load_file(path)
    with pytest.raises(InputError, match="2 action names"):
        save_actor(actor, path, ("nop", "bilateral"))


def test_files_that_are_no_actor_are_refused(tmp_path):
    whole, bad = tmp_path / "actor.safetensors", tmp_path / "bad.safetensors"
    save_actor(Actor(2), whole, ("nop", "bilateral"))
    with pytest.raises(InputError, match="no actor at"):
        load_actor(bad)
    content = whole.read_bytes()
    for length in (0, 5, 100, len(content) - 1):
        bad.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"bad\.safetensors"):
            load_actor(bad)
    save_file({"linear1.weight": torch.zeros(2, 2)}, bad)
    with pytest.raises(InputError, match="holds no actor"):
        load_actor(bad)
    for metadata in (
        {},
        {"spec": "["},
        {"spec": "{}"},
        {"spec": '{"actions": 5}'},
        {"spec": '{"actions": ["nop"]}'},
    ):
        save_file(load_file(whole), bad, metadata={"format": "superstar-actor"} | metadata)
        with pytest.raises(InputError, match="announces"):
            load_actor(bad)


def test_released_networks_are_read(tmp_path):
    """State dicts as the authors save them, the actor's outputs in the order of their actions."""
    actor, critic, states = Actor(8), Critic(), np.random.default_rng(0).random((5, 3), np.float32)
    torch.save(actor.state_dict(), tmp_path / "actor_network.pth.tar")
    torch.save(critic.state_dict(), tmp_path / "critic_network.pth.tar")
    drawn = torch.get_rng_state()
    loaded, actions = load_actor(tmp_path / "actor_network.pth.tar")
    assert actions == ACTIONS
    assert_allclose(loaded.probabilities(states), actor.probabilities(states), rtol=0, atol=0)
    assert same(load_critic(tmp_path / "critic_network.pth.tar"), critic)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    save_actor(loaded, tmp_path / "own.safetensors", actions)
    assert same(load_actor(tmp_path / "own.safetensors")[0], actor)


def test_files_that_are_no_released_networks_are_refused(tmp_path):
    path = tmp_path / "network.pth.tar"
    with pytest.raises(InputError, match="no checkpoint at"):
        load_actor(path)
    whole = Actor(8).state_dict()
    for load, content, message in (
        (load_actor, whole | {"linear1.weight": torch.ones(128, 4)}, r"\(128, 4\) instead of"),
        (load_actor, whole | {"linear4.bias": torch.ones(2)}, r"linear4.bias is \(2,\) instead"),
        (load_actor, {"linear1.bias": torch.ones(128)}, "linear1.weight is missing instead of"),
        (load_actor, whole | {"linear3.bias": torch.full((8,), torch.nan)}, "NaN"),
        (load_critic, whole, r"no critic .* linear3.weight is \(8, 256\) instead of \(1, 256\)"),
    ):
        torch.save(content, path)
        with pytest.raises(InputError, match=message) as caught:
            load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="truncated or not"):
        load_critic(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": 0}, "episodes"),
        ({"checkpoint_episodes": 0}, "checkpoint"),
        ({"discount": 1.5}, "discount"),
        ({"learning_rate": 0.0}, "learning rate"),
        ({"reward_scale": 0.0}, "reward scale"),
        ({"exploration_base": 0.0}, "exploration"),
        ({"exploration_rate": -1.0}, "exploration"),
        ({"exploration_floor": 2.0}, "exploration"),
    ],
)
def test_bad_arguments_are_refused(changes, message: str):
    with pytest.raises(InputError, match=message):
        learned(Signpost(), **({"episodes": 1} | changes))


def test_other_kinds_of_environments_are_refused():
    env = Signpost()
    env.action_space = spaces.Box(0, 1, (2,))
    with pytest.raises(InputError, match="action space"):
        learned(env, episodes=1)
    env = Signpost()
    env.observation_space = spaces.Box(0, 1, (4,))
    with pytest.raises(InputError, match="observations"):
        learned(env, episodes=1)


def test_a_critic_survives_a_file(tmp_path):
    critic = Critic()
    save_critic(critic, tmp_path / "critic.safetensors")
    states = torch.rand(5, 3)
    loaded = load_critic(tmp_path / "critic.safetensors")
    assert all(map(torch.equal, loaded.state_dict().values(), critic.state_dict().values()))
    torch.testing.assert_close(loaded(states), critic(states))
    save_actor(Actor(2), tmp_path / "actor.safetensors", ("nop", "dncnn"))
    with pytest.raises(InputError, match="holds no critic"):
        load_critic(tmp_path / "actor.safetensors")
