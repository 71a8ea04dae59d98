import pandas as pd
import yaml

from projects import ROOT
from superstar.parameters import ClassifierTraining, DenoiserTraining
from superstar.pipelines.reporting import origin

TRAINING = {"epochs": 3, "batch_size": 8, "learning_rate": 0.1, "weight_decay": 0.0, "shift": 0}


def test_it_tells_which_classifiers_were_trained_and_from_what(tmp_path):
    checkpoint = tmp_path / "theirs.pt"
    checkpoint.touch()
    given = ClassifierTraining.model_validate(
        {
            "architecture": {"kind": "small_resnet", "width": 8},
            "standard": {**TRAINING, "label_smoothing": 0.0},
            "augmix": {**TRAINING, "epochs": 2, "consistency": 1.0, "severity": 3},
            "noisymix": None,
            "puzzlemix": None,
            "published": {
                "theirs": {"path": str(checkpoint), "layout": "augmix"},
                "named": "torch.nn:Identity",
            },
        }
    )
    accuracies = {"standard": 61.0, "augmix": 60.0, "theirs": 70.0, "named": 71.0}
    metrics = {f"clean_accuracy.{name}": value for name, value in accuracies.items()}
    metrics["mean_delta.standard"] = 3.0
    table = origin.classifiers_table(given, 4000, metrics).set_index("classifier")
    assert table["clean_accuracy"].to_dict() == accuracies
    assert table["made"].to_dict() == {
        "standard": "trained here on 4,000 images from random weights, epochs: 3",
        "augmix": "trained here on 4,000 images from the weights of standard, epochs: 2",
        "theirs": "not trained here: augmix: theirs.pt",
        "named": "not trained here: torch.nn:Identity",
    }
    everything = origin.classifiers_table(given, None, metrics)
    assert "on all training images" in everything.loc[0, "made"]


def test_it_tells_where_the_denoiser_comes_from(tmp_path):
    base = ROOT / "conf" / "base" / "parameters_denoiser_training.yml"
    given = yaml.safe_load(base.read_text())["denoiser_training"]
    (tmp_path / "theirs.pth").touch()
    for source, words in (
        ("packaged", "the package's own"),
        ("train", "a DnCNN trained here on the clean training images, epochs: 24"),
        (str(tmp_path / "theirs.pth"), "that of `theirs.pth`"),
    ):
        assert origin.denoiser(DenoiserTraining.model_validate(given | {"source": source})) == words


def test_it_tells_how_long_the_run_took():
    times = pd.DataFrame(
        [("b", "b1", 70.0, 0.5), ("a", "a1", 30.0, 3.0), ("b", "b2", 20.0, 0.7)],
        columns=["stage", "node", "seconds", "peak_memory_gb"],
    )
    assert origin.whole_run(times) == "2 minutes and at most 3.0 GB"
    assert origin.whole_run(times[:0]) == "no time known"


def test_the_configuration_reads_back_in_its_order():
    parameters = {"seed": 3, "evaluation": {"severities": [1, 5], "precision": "bfloat16"}}
    text = origin.as_yaml(parameters)
    assert yaml.safe_load(text) == parameters
    assert text.index("seed") < text.index("evaluation")


def test_it_tells_how_much_was_evaluated():
    rows = [
        {"controller": "paper", "shift": shift, "severity": severity, "trial": trial, "images": n}
        for shift, severity, n in (("none", None, 1200), ("fog", 1, 1200), ("fog", 5, 800))
        for trial in (0, 1, 2)
    ]
    results = pd.DataFrame(rows).astype({"severity": "Int64"})
    found = origin.extent(results, batch_size=1000, validation=2500)
    assert found == {
        "images": "800 to 1,200",
        "shifts": "1",
        "severities": "1, 5",
        "cells": "3",
        "trials": "3",
        "batch": "800 to 1,000",
        "validation": "2,500",
    }
    equal = origin.extent(results[results["images"] == 1200], batch_size=250, validation=1000)
    assert (equal["images"], equal["batch"]) == ("1,200", "250")
