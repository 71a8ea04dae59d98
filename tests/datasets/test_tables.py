import json
import math

import matplotlib.figure
import mlflow
import numpy as np
import pandas as pd
import pytest

from superstar.datasets import (
    CSVDataset,
    CurvesDataset,
    FigureDataset,
    MetricsDataset,
    ParquetDataset,
    SweepDataset,
    TextDataset,
)


@pytest.fixture
def run(tmp_path):
    """An MLflow run in a store of its own."""
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = mlflow.create_experiment("test", artifact_location=str(tmp_path / "artifacts"))
    with mlflow.start_run(experiment_id=experiment) as active:
        yield active.info.run_id
    mlflow.set_tracking_uri(before)


def test_metrics_are_kept_and_logged(tmp_path, run):
    values = {"a": 1.5, "delta.x+y.z": 2.0, "undefined": None, "lost": math.nan}
    dataset = MetricsDataset(filepath=str(tmp_path / "metrics.json"))
    dataset.save(values)
    assert dataset.load()["a"] == 1.5
    assert mlflow.get_run(run).data.metrics == {"a": 1.5, "delta.x and y.z": 2.0}


def test_metrics_need_no_run(tmp_path):
    dataset = MetricsDataset(filepath=str(tmp_path / "metrics.json"))
    dataset.save({"a": 1.0})
    assert dataset.load() == {"a": 1.0}


def test_curves_become_histories(tmp_path, run):
    curve = pd.DataFrame({"epoch": [1, 2, 3], "loss": [3.0, 2.0, 1.0], "name": ["x", "y", "z"]})
    dataset = CurvesDataset(prefix="net", filepath=str(tmp_path / "curve.parquet"))
    dataset.save(curve)
    pd.testing.assert_frame_equal(dataset.load(), curve)
    history = mlflow.MlflowClient().get_metric_history(run, "net/loss")
    assert [(point.step, point.value) for point in history] == [(1, 3.0), (2, 2.0), (3, 1.0)]


def test_every_row_of_a_sweep_becomes_a_nested_run(tmp_path, run):
    sweep = pd.DataFrame(
        {
            "point": ["own", "beta=0.9"],
            "retrained": [False, True],
            "beta": [0.97, 0.9],
            "size": [250, 250],
            "gain": [1.5, -0.5],
            "spread": [math.nan, 0.25],
        }
    )
    dataset = SweepDataset(
        filepath=str(tmp_path / "sweep.csv"),
        name="point",
        parameters=["retrained", "beta", "size"],
    )
    dataset.save(sweep)
    pd.testing.assert_frame_equal(dataset.load(), sweep)
    assert mlflow.active_run().info.run_id == run
    client = mlflow.MlflowClient()
    (experiment,) = [e for e in client.search_experiments() if e.name == "test"]
    nested = {
        child.info.run_name: child
        for child in client.search_runs(
            [experiment.experiment_id], f"tags.`mlflow.parentRunId` = '{run}'"
        )
    }
    assert nested.keys() == {"own", "beta=0.9"}
    assert nested["own"].data.params == {"retrained": "False", "beta": "0.97", "size": "250"}
    assert nested["own"].data.metrics == {"gain": 1.5}
    assert nested["beta=0.9"].data.metrics == {"gain": -0.5, "spread": 0.25}
    assert all(child.info.status == "FINISHED" for child in nested.values())


def test_a_sweep_needs_no_run(tmp_path):
    sweep = pd.DataFrame({"point": ["own"], "beta": [0.9], "gain": [1.0]})
    dataset = SweepDataset(filepath=str(tmp_path / "sweep.csv"), name="point", parameters=["beta"])
    dataset.save(sweep)
    pd.testing.assert_frame_equal(dataset.load(), sweep)


def test_previews_of_tables_read(tmp_path):
    dataset = ParquetDataset(filepath=str(tmp_path / "table.parquet"))
    dataset.save(
        pd.DataFrame(
            {
                "sequence": [["dncnn", "nop"], []],
                "gain": [np.full(1000, 1 / 3, np.float32), np.zeros(1)],
                "severity": pd.array([1, None], dtype="Int64"),
                "distance": [12345.678, math.nan],
                "images": [123456, 2],
            }
        )
    )
    preview = dataset.preview()
    first, second = json.loads(json.dumps(preview["data"]))
    assert first == ["dncnn, nop", ", ".join(["0.3333"] * 8 + ["…"]), 1, 12345.7, 123456]
    assert second == ["", "0.0", "", "", 2]
    assert preview["columns"] == ["sequence", "gain", "severity", "distance", "images"]


def test_previews_of_a_large_table_show_its_beginning(tmp_path):
    dataset = CSVDataset(filepath=str(tmp_path / "table.csv"))
    dataset.save(pd.DataFrame({"row": range(1000)}))
    assert [row for (row,) in dataset.preview()["data"]] == list(range(50))


def test_previews_of_json_are_rounded(tmp_path):
    dataset = MetricsDataset(filepath=str(tmp_path / "metrics.json"))
    dataset.save({"auroc": 2 / 3, "undefined": None})
    assert json.loads(dataset.preview()) == {"auroc": 0.6667, "undefined": None}


def test_previews_of_markdown_are_typeset(tmp_path):
    dataset = TextDataset(filepath=str(tmp_path / "report.md"))
    dataset.save("# Title\n\nOne\nline, <b>no</b> markup of HTML.\n\n```yaml\na: 1\nb: 2\n```\n")
    page = dataset.preview()
    assert "<h1>Title</h1>" in page
    assert "One line" in page
    assert "a: 1\nb: 2" in page
    assert "<b>" not in page


def test_previews_of_other_texts_are_as_they_are(tmp_path):
    dataset = TextDataset(filepath=str(tmp_path / "table.tex"))
    dataset.save("a & b < c\n\\midrule")
    assert dataset.preview() == "<pre>a &amp; b &lt; c\n\\midrule</pre>"


def test_artifacts_are_tracked_unless_the_catalog_says_why_not(tmp_path, run):
    for name, reason in (("shown", {}), ("left_out", {"not_tracked": "large"})):
        dataset = CSVDataset(filepath=str(tmp_path / f"{name}.csv"), metadata=reason)
        dataset.save(pd.DataFrame({"a": [1]}))
        dataset.track()
    artifacts = mlflow.MlflowClient().list_artifacts(run, "tables")
    assert [item.path for item in artifacts] == ["tables/shown.csv"]


def test_tracking_needs_no_run(tmp_path):
    dataset = CSVDataset(filepath=str(tmp_path / "table.csv"))
    dataset.save(pd.DataFrame({"a": [1]}))
    dataset.track()
    assert mlflow.active_run() is None


@pytest.mark.parametrize("kind", [CSVDataset, FigureDataset, MetricsDataset, TextDataset])
def test_previews_show_nothing_of_what_is_not_there(kind, tmp_path, caplog):
    dataset = kind(filepath=str(tmp_path / "artifact"))
    assert dataset.preview() is None
    assert not caplog.records


def test_equal_figures_give_equal_files(tmp_path):
    digests = set()
    for name in ("a", "b"):
        figure = matplotlib.figure.Figure()
        figure.subplots().plot([1, 2, 3])
        dataset = FigureDataset(filepath=str(tmp_path / f"{name}.png"))
        dataset.save(figure)
        digests.add(dataset.location.read_bytes())
    assert len(digests) == 1
