"""The registry: every pipeline runs alone from what the others left."""

import pytest

from projects import load_catalog
from superstar.datasets.whole import Whole
from superstar.pipeline_registry import BESIDE, PIPELINES, register_pipelines
from superstar.provenance import is_parameter

REGISTRY = register_pipelines()


def read(pipeline: str) -> set[str]:
    """Data sets that it reads and does not make."""
    return {name for name in REGISTRY[pipeline].inputs() if not is_parameter(name)}


def left_before(pipeline: str) -> set[str]:
    """Data sets that the stages before it leave."""
    before = PIPELINES[: PIPELINES.index(pipeline)] if pipeline in PIPELINES else PIPELINES
    return {name for stage in before for name in REGISTRY[stage].all_outputs()}


@pytest.mark.parametrize("environment", ["local", "imagenet"])
@pytest.mark.parametrize("pipeline", PIPELINES + BESIDE)
def test_a_pipeline_runs_alone_from_what_others_left(pipeline, environment):
    catalog = load_catalog(environment)
    kept = {name for name in read(pipeline) if isinstance(catalog.get(name), Whole)}
    # What no run makes is the user's, a mere log or a checkpoint: none is missed at first.
    assert kept == read(pipeline) & left_before(pipeline)
    made_by_none = read(pipeline) - kept
    assert not made_by_none & {n for each in REGISTRY.values() for n in each.all_outputs()}


def test_every_pipeline_is_a_namespace_of_its_name():
    for name in PIPELINES + BESIDE:
        assert {node.namespace for node in REGISTRY[name].nodes} == {name}
        assert not any("." in each for each in read(name) | REGISTRY[name].all_outputs())
    stages = [node.namespace for node in REGISTRY["__default__"].nodes]
    assert set(stages) == set(PIPELINES)


def test_no_two_pipelines_make_the_same():
    made = [n for name in PIPELINES + BESIDE for n in REGISTRY[name].all_outputs()]
    assert len(made) == len(set(made))
