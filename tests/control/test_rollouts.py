import numpy as np
import pytest
import torch
from control_toys import World, hundredfold, level

from superstar.control import ShiftEnv
from superstar.control.networks import Actor, SampledPolicy, always, uniform
from superstar.control.rollouts import Episode, discounted_returns, rollouts
from superstar.errors import InputError
from superstar.images import stream
from superstar.training import global_seed

ACTIONS = ("nop", "wavelet_bayes", "wavelet_visu", "clahe_2_1", "clahe_2_2")
LEVELS = (0.8, 0.6, 0.4, 0.3, 0.2)


def make_env(**changes) -> ShiftEnv:
    settings = {"ssim_weight": 20.0, "ssim_threshold": 0.994}
    return ShiftEnv(
        [level(value) for value in LEVELS],
        torch.zeros(1, 1),
        hundredfold,
        actions=ACTIONS,
        **(settings | changes),
    )


def make_actor(seed: int = 0) -> Actor:
    with global_seed(seed):
        return Actor(len(ACTIONS))


def streams(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [stream(seed, i) for i in range(count)]


def story(episode: Episode):
    return episode.actions, episode.rewards, np.stack(episode.states).tolist(), episode.info


@pytest.mark.parametrize("policy", [SampledPolicy(make_actor()), uniform(len(ACTIONS)), always(1)])
def test_in_step_every_episode_goes_as_it_does_alone(world: World, policy):
    env = make_env()
    batches = [0, 1, 2, 3, 4, 0, 0, 2]
    for seed in range(10):
        together = rollouts(env, policy, batches, streams(len(batches), seed))
        for batch, episode, own in zip(batches, together, streams(8, seed), strict=True):
            (alone,) = rollouts(env, policy, [batch], [own])
            assert story(alone) == story(episode)
            assert alone.info["batch"] == batch


def test_the_network_is_asked_once_a_step(world: World, monkeypatch: pytest.MonkeyPatch):
    asked = []
    probabilities = Actor.probabilities

    def count(actor, states):
        asked.append(len(states))
        return probabilities(actor, states)

    monkeypatch.setattr(Actor, "probabilities", count)
    played = rollouts(make_env(), SampledPolicy(make_actor()), range(5), streams(5))
    lengths = [len(episode.actions) for episode in played]
    assert len(set(lengths)) > 1
    assert asked == [sum(length > step for length in lengths) for step in range(max(lengths))]


def test_a_state_among_others_has_the_probabilities_it_has_alone():
    actor = make_actor()
    states = np.random.default_rng(0).uniform(-1, 9, (50, 3)).astype(np.float32)
    together = actor.probabilities(states)
    assert together.shape == (50, len(ACTIONS))
    alone = np.stack([actor.probabilities(state) for state in states])
    np.testing.assert_allclose(together, alone, rtol=1e-13)


def test_episodes_share_what_is_known(world: World):
    env = make_env()
    rollouts(env, always(1), [0, 0, 0, 1], streams(4))
    known = env.distinct_steps
    # 0.97 a step: within four steps at 0.9 of the distance.
    assert known == 2 * 4
    rollouts(env, always(1), [1, 0], streams(2))
    assert env.distinct_steps == known
    assert env.steps == 0


def test_no_batch_no_episode(world: World):
    assert rollouts(make_env(), always(1), [], []) == []


def test_bad_arguments_are_refused(world: World):
    with pytest.raises(InputError, match="2 episodes need as many streams, not 1"):
        rollouts(make_env(), always(1), [0, 1], streams(1))
    with pytest.raises(InputError, match=r"a batch must be .*, not 5"):
        rollouts(make_env(), always(1), [0, 5], streams(2))


def test_returns_are_discounted_sums():
    assert discounted_returns([-1.0, -2.0, -4.0], 0.5) == [-3.0, -4.0, -4.0]
    assert discounted_returns([-1.0, -2.0], 0.0) == [-1.0, -2.0]


def test_a_distance_of_nothing_to_nothing_is_the_whole():
    assert Episode(info={"distance": 0.0, "initial_distance": 0.0}).distance_ratio == 1
    assert Episode(info={"distance": 3.0, "initial_distance": 4.0}).distance_ratio == 0.75
    assert np.isnan(Episode().distance_ratio)
