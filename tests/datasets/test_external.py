"""Data of others, and what runs look at of them."""

import logging

import pytest
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline, node

from superstar.datasets import ExternalDataset
from superstar.hooks import guards


class Told(ExternalDataset):
    """It notes when it is asked what it is."""

    def __init__(self):
        self.metadata = None
        self.asked = 0

    def load(self):
        return "images"

    def check(self):
        pass

    def identity(self, digests):
        self.asked += 1
        return "these"

    def _describe(self):
        return {}


def test_nothing_is_written_there():
    with pytest.raises(DatasetError, match="Told is read only"):
        Told().save("mine")


def test_a_run_looks_at_what_it_needs_alone(tmp_path, monkeypatch, caplog):
    """Looking at all of a large benchmark before a run that has no use for it takes minutes."""
    near, far = Told(), Told()
    first = node(str.upper, "near", "made", name="first")
    default = Pipeline([first, node(str.upper, "far", "others", name="others")])
    monkeypatch.setattr(guards, "pipelines", {"__default__": default})
    manager = _create_hook_manager()
    manager.register(guards.ProvenanceHook())
    with caplog.at_level(logging.WARNING):
        manager.hook.before_pipeline_run(
            run_params={"project_path": str(tmp_path)},
            pipeline=Pipeline([node(str.upper, "made", "used", name="last")]),
            catalog=DataCatalog({"near": near, "far": far}),
        )
    assert (near.asked, far.asked) == (1, 0)
    assert "made with other parameters than this run's configuration: made" in caplog.text
