import pandas as pd
import yaml

from superstar.parameters import ClassifierTraining
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
    table = origin.classifiers_table(given, 4000, accuracies).set_index("classifier")
    assert table["clean_accuracy"].to_dict() == accuracies
    assert table["made"].to_dict() == {
        "standard": "trained here on 4,000 images from random weights, epochs: 3",
        "augmix": "trained here on 4,000 images from the weights of standard, epochs: 2",
        "theirs": f"published, augmix: {checkpoint}",
        "named": "published, torch.nn:Identity",
    }
    everything = origin.classifiers_table(given, None, accuracies)
    assert "on all training images" in everything.loc[0, "made"]


def test_stages_keep_their_order_and_add_up():
    times = pd.DataFrame(
        [("b", "b1", 2.0, 0.5), ("a", "a1", 1.0, 3.0), ("b", "b2", 4.0, 0.7)],
        columns=["stage", "node", "seconds", "peak_memory_gb"],
    )
    assert origin.stages_table(times).to_numpy().tolist() == [
        ["b", 6.0, 0.7],
        ["a", 1.0, 3.0],
        ["whole run", 7.0, 3.0],
    ]
    assert origin.stages_table(times[:0]).empty


def test_the_configuration_reads_back_in_its_order():
    parameters = {"seed": 3, "evaluation": {"severities": [1, 5], "precision": "bfloat16"}}
    text = origin.configuration(parameters)
    assert yaml.safe_load(text) == parameters
    assert text.index("seed") < text.index("evaluation")


def test_it_tells_how_much_was_evaluated():
    rows = [
        {"controller": "paper", "shift": shift, "severity": severity, "trial": trial, "images": n}
        for shift, severity, n in (("none", None, 1200), ("fog", 1, 1200), ("fog", 5, 800))
        for trial in (0, 1, 2)
    ]
    results = pd.DataFrame(rows).astype({"severity": "Int64"})
    text = origin.extent(results, batch_size=1000, validation=2500)
    assert "Test set: 800 to 1,200 images" in text
    assert "1 shifts at severities 1, 5 and the clean set: 3 cells, 3 trials each" in text
    assert "a batch of 800 to 1,000 images" in text
    assert "the 2,500 of V" in text
    alike = origin.extent(results[results["images"] == 1200], batch_size=250, validation=1000)
    assert "Test set: 1,200 images" in alike
    assert "a batch of 250 images" in alike


def test_it_tells_what_came_from_elsewhere():
    tables = pd.DataFrame({"file": ["imagenet_c.csv", "imagenet_c.csv", "imagenet_cp.csv"]})
    labels = pd.DataFrame({"file": ["labels.csv"] * 3})
    assert origin.sources(["photos", "released"], labels, tables, pd.DataFrame()) == [
        "Policies from elsewhere: `photos`, `released`.",
        "Accuracies and distances of others behind the operability labels: `labels.csv`.",
        "Reference: `imagenet_c.csv`, `imagenet_cp.csv`.",
    ]
    assert origin.sources([], pd.DataFrame(), pd.DataFrame(), pd.DataFrame()) == []
