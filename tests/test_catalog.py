"""The catalog: complete, without idle entries, each where its layer says, each tracked."""

from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from kedro_viz.services.layers import sort_layers

from projects import ROOT, load_catalog
from superstar.datasets import ExternalDataset
from superstar.datasets.whole import Whole
from superstar.pipeline_registry import register_pipelines
from superstar.provenance import is_parameter

ENVIRONMENTS = ("local", "test", "full", "c_bar", "cifar100", "imagenet", "denoiser", "custom")
PIPELINES = register_pipelines()
EVERYTHING = sum(PIPELINES.values())

OF_OTHERS = {"clean_train", "clean_validation"}
"""Environment denoiser, in which one stage alone runs, takes these from elsewhere."""

SHOWN_ELSEWHERE = {
    "correction_trials": "06_models",
    "operability_fits": "06_models",
    "operability_labels": "06_models",
    "sensitivity_points": "06_models",
    "surrogate_states": "06_models",
}
"""What models are made from shows beside them: layers in a cycle would show nowhere."""


@pytest.fixture(params=ENVIRONMENTS)
def catalog(request):
    return load_catalog(request.param)


def whole(catalog) -> dict[str, Whole]:
    datasets = {name: catalog.get(name) for name in catalog}
    return {name: each for name, each in datasets.items() if isinstance(each, Whole)}


def layer_of(dataset) -> str | None:
    return (dataset.metadata or {}).get("kedro-viz", {}).get("layer")


def test_every_data_set_of_a_pipeline_is_an_entry_and_every_entry_is_used(catalog):
    used = {name for name in EVERYTHING.datasets() if not is_parameter(name)}
    assert set(catalog) == used


def test_every_entry_lies_in_the_folder_of_its_layer(catalog):
    for name, dataset in whole(catalog).items():
        if dataset.location.is_relative_to(ROOT / "data"):
            folder, benchmark, *_ = dataset.location.relative_to(ROOT / "data").parts
            assert layer_of(dataset) == SHOWN_ELSEWHERE.get(name, folder), name
            assert benchmark == catalog.get("main_table").location.parent.name, name
        else:
            assert name.startswith(("corrupted_", "recovered_")), name


def test_only_inputs_that_a_user_may_leave_out_have_no_layer(catalog):
    bare = {name for name in catalog if layer_of(catalog.get(name)) is None}
    assert bare
    assert all(isinstance(catalog.get(name), ExternalDataset) for name in bare)
    assert not bare & EVERYTHING.all_outputs()


def test_no_entry_lies_in_another(catalog):
    places = sorted(dataset.location for dataset in whole(catalog).values())
    counted = Counter(places)
    for place in places:
        assert counted[place] == 1, place
        assert not set(place.parents) & counted.keys(), place


def test_no_two_are_the_same_artifact_of_a_run(catalog):
    artifacts = Counter(
        f"{dataset.artifacts}/{dataset.location.name}"
        for dataset in whole(catalog).values()
        if "not_tracked" not in dataset.metadata
    )
    assert artifacts.most_common(1)[0][1] == 1


def test_what_a_run_makes_is_tracked_or_says_why_not(catalog):
    for name in EVERYTHING.all_outputs():
        dataset = catalog.get(name)
        if name in OF_OTHERS and isinstance(dataset, ExternalDataset):
            continue
        assert isinstance(dataset, Whole), name
        reason = dataset.metadata.get("not_tracked", "none needed")
        assert isinstance(reason, str), name
        assert len(reason.split()) > 1, name


@pytest.mark.parametrize("name", PIPELINES)
def test_layers_are_in_order_in_every_pipeline(name):
    catalog, pipeline = load_catalog("local"), PIPELINES[name]
    nodes, children = {}, defaultdict(set)
    for node in pipeline.nodes:
        nodes[node.name] = SimpleNamespace(layer=None)
        children[node.name] |= set(node.outputs)
        for source in node.inputs:
            children[source].add(node.name)
    for dataset in pipeline.datasets():
        layer = None if is_parameter(dataset) else layer_of(catalog.get(dataset))
        nodes[dataset] = SimpleNamespace(layer=layer)
    layers = sort_layers(nodes, children)
    assert layers
    assert layers == sorted(layers)


def test_layers_are_the_folders_of_data():
    catalog = load_catalog("local")
    layers = {layer_of(catalog.get(name)) for name in catalog} - {None}
    assert layers <= {path.name for path in Path(ROOT / "data").iterdir() if path.is_dir()}
