"""Networks that others trained are tried before a run."""

from pathlib import Path

import pytest
import torch
import yaml
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node

from superstar.errors import InputError
from superstar.pipelines.pretrained import check_pretrained

CONF = Path(__file__).parents[2] / "conf" / "base"
CODE = """
from torch import nn

def number():
    return 3

def features():
    return nn.AdaptiveAvgPool2d(1)

def network():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
"""


def base(name: str) -> dict:
    return yaml.safe_load((CONF / f"parameters_{name}.yml").read_text())[name]


def check(classifiers: dict, denoiser: str | None, *outputs: str) -> None:
    given = {
        "data_preparation": base("data_preparation"),
        "classifier_training": base("classifier_training") | {"published": classifiers},
        "denoiser_training": base("denoiser_training") | {"source": denoiser or "train"},
    }
    catalog = DataCatalog({f"params:{name}": MemoryDataset(value) for name, value in given.items()})
    pipeline = Pipeline([node(len, "images", name) for name in outputs])
    check_pretrained(pipeline, catalog)


@pytest.fixture(autouse=True)
def others(tmp_path, monkeypatch):
    """Code and files of others."""
    (tmp_path / "code_of_others.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    torch.save({"fc.weight": torch.ones(3, 2)}, "other.pt")


@pytest.mark.parametrize(
    ("classifiers", "denoiser", "output", "message"),
    [
        ({"mine": "code_of_others:number"}, None, "robust_classifiers", "no classifier but int"),
        ({"standard": "code_of_others:features"}, None, "classifier_standard", "makes no logits"),
        (
            {"augmix": {"path": "other.pt", "layout": "augmix"}},
            None,
            "robust_classifiers",
            "does not fit the layout augmix",
        ),
        ({}, "other.pt", "denoiser_network", "holds no DnCNN"),
    ],
)
def test_what_is_no_network_is_refused_before_a_run(classifiers, denoiser, output, message):
    with pytest.raises(InputError, match=message) as error:
        check(classifiers, denoiser, output)
    assert "\n" not in str(error.value)
    # Nothing is loaded for a run that takes none.
    check(classifiers, denoiser, "policy")


def test_sound_networks_pass():
    check({"mine": "code_of_others:network"}, None, "classifier_standard", "denoiser_network")


def test_a_run_asks_first(monkeypatch, tmp_path):
    from superstar.hooks import InputHook

    asked = []
    monkeypatch.setattr(
        "superstar.pipelines.pretrained.check_pretrained", lambda *given: asked.append(given)
    )
    pipeline, catalog = Pipeline([]), DataCatalog()
    told = {"runner": "None", "project_path": tmp_path}
    InputHook().before_pipeline_run(run_params=told, pipeline=pipeline, catalog=catalog)
    assert asked == [(pipeline, catalog)]
