"""Which run goes on from a checkpoint, through Kedro and the hooks of a run."""

import logging

import gymnasium
import numpy as np
import pandas as pd
import pytest
from gymnasium import spaces
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner

from superstar.checkpoint import own_checkpoint, own_part
from superstar.control.actor_critic import PolicySchedule, train_actor_critic
from superstar.datasets import CSVDataset
from superstar.hooks import guards

RESUME = {"only_missing_outputs": True}


class Guess(gymnasium.Env):
    """One step, rewarded by chance."""

    observation_space = spaces.Box(0, 1, (3,), dtype=np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.random(3, dtype=np.float32), {}

    def step(self, action):
        return np.zeros(3, dtype=np.float32), self.np_random.normal(), True, False, {}


class Project:
    """One node that trains for eight episodes with a checkpoint every two."""

    def __init__(self, folder):
        self.folder = folder
        self.checkpoint = folder / "train.unfinished" / "policy.safetensors"
        self.curves, self.seeds = (
            CSVDataset(filepath=str(folder / f"{name}.csv"), save_args={"index": False})
            for name in ("curves", "seeds")
        )
        self.fail_at = None
        self.started = []

    def train(self, seed):
        env = Guess()
        reset, started = env.reset, []

        def count(**arguments):
            started.append(arguments)
            if len(started) - 1 == self.fail_at:
                raise KeyboardInterrupt
            return reset(**arguments)

        env.reset, self.started = count, started
        # The seed of the training itself is fixed: only the fingerprint tells the runs apart.
        schedule = PolicySchedule(8, checkpoint=own_part("policy"), checkpoint_episodes=2)
        curves = train_actor_critic(env, schedule, progress=False).curves
        return curves, pd.DataFrame({"seed": [seed]})

    def run(self, seed=1, fail_at=None, **run_params):
        self.fail_at = fail_at
        pipeline = Pipeline([node(self.train, "params:seed", ["curves", "seeds"], name="train")])
        manager = _create_hook_manager()
        manager.register(guards.ProvenanceHook())
        manager.register(guards.InputHook())
        catalog = DataCatalog(
            {
                "params:seed": MemoryDataset(seed),
                "curves": self.curves,
                "seeds": self.seeds,
            }
        )
        told = {"project_path": str(self.folder), "runner": "SequentialRunner", **run_params}
        manager.hook.before_pipeline_run(run_params=told, pipeline=pipeline, catalog=catalog)
        SequentialRunner().run(pipeline, catalog, manager, **run_params)

    @property
    def episodes(self) -> int:
        """Started by the last run."""
        return len(self.started) - 1


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "pipelines", {"__default__": Pipeline([])})
    return Project(tmp_path)


@pytest.fixture
def interrupted(project):
    with pytest.raises(KeyboardInterrupt):
        project.run(fail_at=6)
    assert project.checkpoint.exists()
    assert not project.curves.exists()
    return project


def test_a_run_that_is_not_interrupted_leaves_no_checkpoint(project):
    project.run()
    assert project.episodes == 8
    assert own_checkpoint() is None
    assert project.curves.exists()
    assert not project.checkpoint.parent.exists()


def test_a_resumed_run_goes_on_from_the_checkpoint(interrupted, caplog):
    with caplog.at_level(logging.INFO, "superstar"):
        interrupted.run(**RESUME)
    assert "policy training goes on from episode 4" in caplog.messages
    assert interrupted.episodes == 4
    resumed = interrupted.curves.load()
    assert not interrupted.checkpoint.parent.exists()
    interrupted.run()
    pd.testing.assert_frame_equal(interrupted.curves.load(), resumed, check_exact=True)


def test_nothing_is_resumed_under_other_parameters(interrupted):
    interrupted.run(seed=2, **RESUME)
    assert interrupted.episodes == 8
    assert not interrupted.checkpoint.parent.exists()


def test_a_plain_run_starts_afresh(interrupted):
    interrupted.run()
    assert interrupted.episodes == 8


def test_what_an_interrupted_fresh_run_did_not_reach_is_made_by_the_next(project):
    project.run()
    with pytest.raises(KeyboardInterrupt):
        project.run(fail_at=6)
    project.run(**RESUME)
    assert project.episodes == 4


def test_a_run_that_ends_between_training_and_saving_trains_no_more(project, monkeypatch):
    def full(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(project.seeds, "_write", full)
        with pytest.raises(KeyboardInterrupt):
            project.run()
    assert project.curves.location.exists()
    project.run(**RESUME)
    assert project.episodes == 0
    assert project.seeds.exists()
    assert not project.checkpoint.parent.exists()


def test_what_follows_a_failed_run_has_no_checkpoint(interrupted):
    assert own_checkpoint() is not None
    guards.ProvenanceHook().on_pipeline_error()
    assert own_checkpoint() is None
    assert interrupted.checkpoint.exists()
