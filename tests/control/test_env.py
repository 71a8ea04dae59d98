import warnings
from functools import partial
from math import log

import gymnasium
import numpy as np
import pytest
import torch
from control_toys import Lazy, World, hundredfold, level, noisy, photographs
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_array_equal

from superstar.actions import ACTIONS, apply_action
from superstar.control import ShiftEnv
from superstar.control.observation import observe
from superstar.errors import InputError
from superstar.measures import Distance, Projection, ssim, wasserstein_distance

TOY_ACTIONS = ("nop", "wavelet_bayes", "wavelet_visu", "clahe_2_1", "clahe_2_2")
NOP, BAYES, VISU, CLAHE, WORSE = range(5)
ONE_BATCH = level(0.8).nbytes


def toy_env(batches=(0.8,), **changes) -> ShiftEnv:
    arguments = {
        "projection": hundredfold,
        "actions": TOY_ACTIONS,
        "ssim_weight": 20.0,
        "ssim_threshold": 0.994,
    }
    return ShiftEnv(
        [level(value) for value in batches],
        torch.zeros(1, 1),
        **(arguments | changes),
    )


def play(env: ShiftEnv, *actions: int, batch: int = 0):
    """The transitions of an episode."""
    state, info = env.reset(options={"batch": batch})
    transitions = [(state.tolist(), info)]
    for action in actions:
        state, reward, terminated, truncated, info = env.step(action)
        transitions.append((state.tolist(), reward, terminated, truncated, info))
    return transitions


def small_env(side: int = 24, count: int = 6, **changes) -> ShiftEnv:
    projection = Projection.create(
        "dct", n=side * side, m=50, seed=0, mean=(0.45,) * 3, std=(0.25,) * 3
    )
    batches = [noisy(photographs(count, side, side, seed), 0.3, seed) for seed in range(3)]
    arguments = {
        "actions": tuple(name for name in ACTIONS if name != "dncnn"),
        "ssim_weight": 20.0,
        "ssim_threshold": 0.994,
    }
    reference = projection(photographs(count, side, side, 99))
    return ShiftEnv(batches, reference, projection, **(arguments | changes))


def test_known_transitions_are_not_computed_again(world: World):
    env = toy_env(projection=world.projection)
    first = play(env, BAYES, VISU)
    assert world.applied == ["wavelet_bayes", "wavelet_visu"]
    assert play(env, BAYES, VISU) == first
    assert len(world.applied) == 2
    assert world.measured == 3  # the initial images and two prefixes

    play(env, BAYES, WORSE)
    assert world.applied[2:] == ["clahe_2_2"]
    assert (env.steps, env.distinct_steps) == (6, 3)
    assert env.hit_rate == pytest.approx(0.5)


def test_order_and_batch_tell_prefixes_apart(world: World):
    env = toy_env((0.8, 0.4))
    play(env, BAYES, WORSE)
    play(env, WORSE, BAYES)
    play(env, BAYES, WORSE, batch=1)
    assert env.distinct_steps == 6


def test_nop_is_left_out_of_the_prefix(world: World):
    env = toy_env()
    plain = play(env, BAYES, WORSE)[-1]
    padded = play(env, NOP, BAYES, NOP, WORSE)[-1]
    assert env.distinct_steps == 2
    assert "nop" not in world.applied
    assert padded == plain
    assert padded[-1]["sequence"] == ("wavelet_bayes", "clahe_2_2")


def test_nop_earns_the_distance_alone_and_uses_up_the_horizon(world: World):
    env = toy_env(horizon=2)
    *_, (_, reward, terminated, truncated, info) = play(env, NOP, NOP)
    assert reward == pytest.approx(-80)
    assert (terminated, truncated) == (False, True)
    assert info["similarity"] == 1


def test_reward_and_info_follow_the_formula(world: World):
    env = toy_env()
    _, reward, terminated, truncated, info = play(env, BAYES)[-1]
    similarity = 1 - 0.8 * 0.03
    assert reward == pytest.approx(-80 * 0.97 + 20 * log(1 - similarity), rel=1e-5)
    assert (terminated, truncated) == (False, False)
    assert info["distance"] == pytest.approx(80 * 0.97, rel=1e-6)
    assert info["initial_distance"] == pytest.approx(80, rel=1e-6)
    assert info["similarity"] == pytest.approx(similarity, rel=1e-6)
    assert info["batch"] == 0


def test_above_the_threshold_similarity_costs_nothing(world: World):
    env = toy_env(ssim_threshold=0.97)
    assert play(env, BAYES)[-1][1] == pytest.approx(-80 * 0.97, rel=1e-6)


def test_reaching_alpha_terminates_and_the_horizon_truncates(world: World):
    env = toy_env()
    assert play(env, CLAHE)[-1][2:4] == (True, False)
    with pytest.raises(ResetNeeded):
        env.step(NOP)
    assert play(env, WORSE, WORSE, WORSE, WORSE, WORSE)[-1][2:4] == (False, True)
    exactly = toy_env(alpha=1.0)
    assert play(exactly, NOP)[-1][2] is True  # the rule is w <= alpha w_0


@pytest.mark.parametrize("kept_batches", [0, 1, 3])
def test_images_stay_within_the_limit_and_are_rebuilt(world: World, kept_batches: int):
    limit = kept_batches * ONE_BATCH
    bounded, free = toy_env((0.8, 0.6), memory_limit=limit), toy_env((0.8, 0.6))
    rng = np.random.default_rng(0)
    for _ in range(40):
        batch = int(rng.integers(2))
        actions = rng.choice([NOP, BAYES, WORSE], size=5)
        bounded.reset(options={"batch": batch})
        for action in actions:
            ended = any(bounded.step(action)[2:4])
            assert bounded._transitions._images.bytes <= limit
            if ended:
                break
        played = actions[: bounded._taken]
        assert play(bounded, *played, batch=batch) == play(free, *played, batch=batch)
    assert bounded.distinct_steps == free.distinct_steps


def test_dropped_images_are_rebuilt_from_the_longest_kept_prefix(world: World):
    env = toy_env(memory_limit=ONE_BATCH)
    play(env, BAYES, CLAHE)  # ends the episode: images of depth 2 are not kept
    world.applied.clear()
    play(env, BAYES, WORSE)
    assert world.applied == ["clahe_2_2"]  # from the images after wavelet_bayes
    play(env, WORSE)  # pushes out those of depth 2
    world.applied.clear()
    play(env, BAYES, WORSE, BAYES)
    assert world.applied == ["wavelet_bayes", "clahe_2_2", "wavelet_bayes"]


def test_an_episode_seen_before_loads_no_images(world: World):
    batches = Lazy([0.8, 0.6])
    env = ShiftEnv(
        batches,
        torch.zeros(1, 1),
        hundredfold,
        actions=TOY_ACTIONS,
        ssim_weight=1,
        ssim_threshold=0.5,
    )
    play(env, BAYES, BAYES)
    assert batches.loads == 1
    play(env, BAYES, batch=1)
    play(env, BAYES, BAYES)
    play(env, BAYES, batch=1)
    assert batches.loads == 2


def test_initial_batches_are_drawn_uniformly_and_by_seed(world: World):
    env = toy_env((0.2, 0.4, 0.6, 0.8))
    drawn = [env.reset(seed=0)[1]["batch"]] + [env.reset()[1]["batch"] for _ in range(399)]
    again = [env.reset(seed=0)[1]["batch"]] + [env.reset()[1]["batch"] for _ in range(399)]
    assert drawn == again
    assert np.bincount(drawn, minlength=4).min() > 70


def test_close_frees_images_and_keeps_knowledge(world: World):
    env = toy_env()
    known = play(env, BAYES, WORSE)
    env.close()
    env.close()
    assert env._transitions._images.bytes == 0
    with pytest.raises(ResetNeeded):
        env.step(NOP)
    world.applied.clear()
    assert play(env, BAYES, WORSE) == known
    assert world.applied == []


def test_gymnasium_finds_nothing_to_complain_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = EnvSpec("Shift-v0", entry_point=small_env, order_enforce=False)
        check_env(gymnasium.make(spec, disable_env_checker=True).unwrapped)


def test_transitions_with_the_real_library():
    env = small_env()
    before = [batch.clone() for batch in env._transitions._batches]
    env.reset(options={"batch": 1})
    env.step(env.actions.index("wavelet_bayes"))
    state, reward, *_, info = env.step(env.actions.index("clahe_2_1"))

    images = apply_action(apply_action(before[1], "wavelet_bayes"), "clahe_2_1")
    distance = wasserstein_distance(
        env._transitions._reference, images, env._transitions._projection
    )
    similarity = ssim(before[1], images, data_range=255.0)
    assert_array_equal(state, observe(images))
    assert info["distance"] == distance
    assert info["similarity"] == similarity
    penalty = log(1 - similarity) if similarity < 0.994 else 0
    assert reward == pytest.approx(-distance + 20 * penalty)
    for batch, copy in zip(env._transitions._batches, before, strict=True):
        assert torch.equal(batch, copy)


@pytest.mark.parametrize(
    "distance",
    ["wasserstein", "sliced_wasserstein", Distance.create("jensen_shannon", bins=4)],
)
def test_every_distance_between_points_serves(distance):
    env = small_env(distance=distance)
    env.reset(options={"batch": 1})
    _, reward, *_, info = env.step(env.actions.index("wavelet_bayes"))
    points = env._transitions._projection(
        apply_action(env._transitions._batches[1], "wavelet_bayes")
    )
    assert info["distance"] == Distance.of(distance)(env._transitions._reference, points)
    plain = small_env().reset(options={"batch": 1})[1]["initial_distance"]
    assert (info["initial_distance"] == plain) == (distance == "wasserstein")
    assert reward <= -info["distance"]


def test_an_ensemble_in_place_of_a_projection_serves_aline_d():
    thresholds = torch.tensor([0.40, 0.45, 0.55])

    def predict(images: torch.Tensor) -> torch.Tensor:
        return (images.mean((1, 2, 3))[:, None] > thresholds).long()

    clean = photographs(60, 16, 16, seed=1)
    labels = (clean.mean((1, 2, 3)) > 0.43).long()[:, None]
    reference = torch.cat([labels, predict(clean)], dim=1)
    env = ShiftEnv(
        [clean, clean * 0.8],
        reference,
        predict,
        distance="aline_d",
        actions=("nop", "wavelet_visu"),
        ssim_weight=0,
        ssim_threshold=0,
    )
    *_, info = env.reset(options={"batch": 0})
    error = (predict(clean)[:, :1] != labels).double().mean().item()
    assert info["distance"] == pytest.approx(error)
    env.reset(options={"batch": 1})
    *_, info = env.step(1)
    assert 0 <= info["distance"] <= 1
    assert info["distance"] != pytest.approx(error)


@pytest.mark.parametrize("regulariser", ["paper", "monotone"])
def test_the_regulariser_is_a_choice(world: World, regulariser):
    similarity = 1 - 0.8 * 0.03
    expected = {"paper": log(1 - similarity), "monotone": log((1 + similarity) / 1.994)}
    env = toy_env(regulariser=regulariser)
    reward = play(env, BAYES)[-1][1]
    assert reward == pytest.approx(-80 * 0.97 + 20 * expected[regulariser], rel=1e-5)
    # The greater change costs the paper's form less, the monotone one more.
    costs = [play(env, action)[-1][1] + play(env, action)[-1][4]["distance"] for action in (1, 2)]
    assert (costs[0] < costs[1]) == (regulariser == "paper")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 0}, "horizon"),
        ({"distance": "waserstein"}, "did you mean 'wasserstein'"),
        ({"distance": None}, "a name or a Distance"),
        ({"regulariser": "monoton"}, "did you mean 'monotone'"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.1}, "alpha"),
        ({"ssim_weight": -1.0}, "weight"),
        ({"ssim_weight": float("nan")}, "weight"),
        ({"ssim_threshold": 1.5}, "threshold"),
        ({"memory_limit": -1}, "memory"),
        ({"actions": ()}, "at least one action"),
        ({"actions": ("nop", "clahe_2_3")}, "clahe_2_2"),
        ({"actions": ("nop", "nop")}, "twice"),
        ({"actions": ("nop", "dncnn")}, "denoiser"),
        ({"batches": ()}, "at least one batch"),
        ({"horizon": 2.5}, "horizon"),
        ({"horizon": float("nan")}, "horizon"),
        ({"memory_limit": float("nan")}, "memory limit"),
    ],
)
def test_bad_arguments_are_refused(changes, message: str):
    with pytest.raises(InputError, match=message):
        toy_env(**changes)


def test_bad_calls_are_refused(world: World):
    env = toy_env()
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(InputError, match=r"a batch must be .*, not 1"):
        env.reset(options={"batch": 1})
    with pytest.raises(InputError, match="option"):
        env.reset(options={"bacth": 0})
    with pytest.raises(InputError, match="options of reset"):
        env.reset(options="batch")
    env.reset()
    for action in (5, -1, 1.0, None, np.array([1])):
        with pytest.raises(InputError, match="an action must be "):
            env.step(action)


def test_actions_as_others_give_them_are_taken(world: World):
    # Stable-baselines3 predicts arrays without dimensions.
    played = []
    for action in (BAYES, np.int64(BAYES), np.array(BAYES)):
        env = toy_env()
        env.reset(options={"batch": 0})
        played.append(env.step(action)[4])
    assert played[0] == played[1] == played[2]


def test_a_view_draws_for_itself(world: World):
    base = toy_env()
    base.reset(seed=3)
    base.action_space.seed(3)
    view = base.view()
    assert view.np_random_seed != 3
    alone = toy_env()
    alone.action_space.seed(3)
    view.action_space.seed(9)
    view.action_space.sample()
    assert [base.action_space.sample() for _ in range(9)] == [
        alone.action_space.sample() for _ in range(9)
    ]


def test_views_with_other_settings_are_as_environments_of_their_own(world: World):
    changes = [
        {"alpha": 0.96},
        {"horizon": 2},
        {"ssim_weight": 3.0},
        {"ssim_threshold": 0.97},
        {"alpha": 0.4, "horizon": 3, "ssim_weight": 0.0},
    ]
    base = toy_env()
    known = play(base, BAYES, VISU, WORSE)
    applied = len(world.applied)
    for change in changes:
        view, alone = base.view(**change), toy_env(**change)
        for actions in ([BAYES], [BAYES, VISU]):
            played = actions[:1] if change.get("alpha") == 0.96 else actions
            del world.applied[applied:]
            seen = play(view, *played)
            assert len(world.applied) == applied  # all was known
            assert seen == play(alone, *played)
    del world.applied[applied:]
    assert play(base, BAYES, VISU, WORSE) == known
    # What ended an episode here goes on in a view where it does not.
    assert play(base, CLAHE)[-1][2] is True
    assert play(base.view(alpha=0.1), CLAHE, BAYES) == play(toy_env(alpha=0.1), CLAHE, BAYES)


@pytest.mark.parametrize(
    "change",
    [{"horizon": 0}, {"alpha": 0.0}, {"ssim_weight": -1.0}, {"ssim_threshold": 2.0}],
)
def test_a_view_refuses_what_the_environment_refuses(change):
    with pytest.raises(InputError, match="must"):
        toy_env().view(**change)


def test_a_batch_that_is_none_of_images_is_named():
    env = partial(ShiftEnv, [torch.zeros(2, 3, 16, 16, dtype=torch.uint8)])(
        torch.zeros(1, 1), hundredfold, actions=("nop",), ssim_weight=1, ssim_threshold=0.5
    )
    with pytest.raises(InputError, match="batch 0"):
        env.reset()


@pytest.mark.parametrize(
    "change", [{"data_range": 0.0}, {"data_range": float("nan")}, {"ssim_weight": float("inf")}]
)
def test_refuses_a_reward_that_is_not_finite(change):
    with pytest.raises(InputError, match="must be"):
        small_env(**change)
