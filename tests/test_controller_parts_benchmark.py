import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import controller_parts
from projects import make_project
from superstar.images import from_uint8


def test_a_finished_run_has_its_tables(finished_run, capsys):
    controller_parts.main(["--project", str(finished_run.root), "--env", "test"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    parts = [row for row in rows if row[0].startswith(("the paper's", "+ ", "oracle"))]
    assert len(parts) == 2 * 7
    for row in parts:
        assert all(-100 <= float(row[place]) <= 100 for place in (1, 2, 4))
    means = [[float(cell) for cell in row[1:]] for row in rows if row[0] == "mean"]
    assert len(means) == 2
    for lost, _, oracle, beyond in means:
        assert lost - oracle == pytest.approx(beyond, abs=0.11)


def test_the_oracle_finds_what_helps_and_stops_there(finished_run):
    supervisor, classifier, clean = _models(finished_run)
    parts = controller_parts.Parts(supervisor, classifier, ["match_tone"], clean)
    parts.right = lambda images, labels: np.repeat(float(images.mean()) > 0.4, len(images))
    dark = clean.clamp(0.05, 1) ** 3
    plan = parts.variants()["oracle of accuracy, extended library"](dark, None)
    assert plan.names == ("match_tone",)
    assert (
        parts.variants()["oracle of accuracy, extended library"](clean / 2 + 0.5, None).names == ()
    )


def test_means_are_over_shifts_and_the_worst_is_one_of_them():
    found = pd.DataFrame(
        {
            "shift": ["none", "fog", "fog", "snow"],
            controller_parts.RIGHT: [80.0, 40.0, 60.0, 70.0],
            "a": [-1.0, 2.0, 4.0, -3.0],
            "b": [0.0] * 4,
        }
    )
    first, second = controller_parts.summarise(found).to_dict("records")
    assert first == {
        "parts": "a",
        "mean gain": 0.0,
        "worst shift": -3.0,
        "which": "snow",
        "clean": -1.0,
    }
    assert second["mean gain"] == 0


def test_what_is_beyond_the_library_is_what_the_oracle_leaves_lost():
    found = pd.DataFrame(
        {
            "shift": ["none", "fog", "snow"],
            controller_parts.RIGHT: [80.0, 50.0, 70.0],
            controller_parts.WHOLE: [0.0, 20.0, -1.0],
            controller_parts.ORACLE: [0.0, 24.0, 2.0],
        }
    )
    fog, snow, mean = controller_parts.beyond(found).to_dict("records")
    assert (fog["lost"], fog["beyond the library"]) == (30.0, 6.0)
    assert (snow["lost"], snow["beyond the library"]) == (10.0, 8.0)
    assert (mean["shift"], mean["calibrated"], mean["oracle"]) == ("mean", 9.5, 13.0)


def test_without_a_run_it_says_so(tmp_path):
    project = make_project(tmp_path / "project")
    with pytest.raises(SystemExit, match="no finished run"):
        controller_parts.main(["--project", str(project.root), "--env", "test"])


def _models(project):
    from safetensors.numpy import load_file

    from superstar.classifiers import load_classifier
    from superstar.control import Supervisor

    clean = load_file(project.data("03_primary/clean/test.safetensors"))["images"][:20]
    return (
        Supervisor.load(project.data("06_models/supervisor")),
        load_classifier(project.data("06_models/classifiers/standard.safetensors")),
        torch.as_tensor(from_uint8(clean)),
    )
