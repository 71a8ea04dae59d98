"""A whole run in environment test, and what it leaves."""

import json
import re
import shutil
import signal

import mlflow
import numpy as np
import pandas as pd
import pytest

from projects import load_catalog
from superstar.actions import ACTIONS, DnCNN, UNet, load_denoiser
from superstar.control import Supervisor
from superstar.images import from_uint8
from superstar.pipeline_registry import PIPELINES, register_pipelines

RESULT_COLUMNS = [
    "controller",
    "shift",
    "severity",
    "trial",
    "classifier",
    "sequence",
    "stop_reason",
    "distance_initial",
    "distance_final",
    "accuracy_shifted",
    "accuracy_recovered",
    "images",
    "plan",
    "ruler",
    "seed",
]


@pytest.fixture(scope="module")
def results(finished_run):
    return pd.read_parquet(finished_run.data("07_model_output/evaluation_results.parquet"))


def test_results_have_a_row_a_cell_trial_and_classifier(results):
    assert results.columns.tolist() == RESULT_COLUMNS
    # Two controllers, two shifts at two severities and the clean set, two trials, two classifiers.
    assert len(results) == 2 * (2 * 2 + 1) * 2 * 2
    keys = ["controller", "shift", "severity", "trial", "classifier"]
    assert not results.duplicated(keys).any()
    assert results.loc[results["shift"] == "none", "severity"].isna().all()
    accuracies = results[["accuracy_shifted", "accuracy_recovered"]].to_numpy()
    assert ((accuracies >= 0) & (accuracies <= 1)).all()


def test_without_an_action_nothing_changes(results):
    idle = results[results["sequence"].map(len) == 0]
    assert len(idle) > 0
    assert idle["accuracy_shifted"].equals(idle["accuracy_recovered"])
    assert idle["distance_initial"].equals(idle["distance_final"])


def test_every_sequence_brought_the_images_nearer(results):
    acted = results[results["sequence"].map(len) > 0]
    assert (acted["distance_final"] < acted["distance_initial"]).all()


def test_the_table_follows_from_the_results(finished_run, results):
    table = pd.read_csv(finished_run.data("08_reporting/main_table.csv"))
    keys = ["controller", "shift", "classifier"]
    means = results.groupby(keys)[["accuracy_shifted", "accuracy_recovered"]]
    expected = 100 * means.mean()
    indexed = table.set_index(keys)
    np.testing.assert_allclose(
        indexed.loc[expected.index, ["shifted", "recovered"]], expected, atol=1e-9
    )
    np.testing.assert_allclose(table["delta"], table["recovered"] - table["shifted"])


def test_first_actions_agree_with_the_trials(finished_run, results):
    first = pd.read_parquet(finished_run.data("07_model_output/evaluation_first_actions.parquet"))
    keys = ["controller", "shift", "severity", "trial", "classifier"]
    both = first.merge(results, on=keys, suffixes=("", "_result"))
    assert len(both) == len(first) == (results["controller"] == "paper").sum()
    assert (both["outcome"] == "kept").equals(both["sequence"].map(len) > 0)
    alone = both[both["sequence"].map(len) == 1]
    assert len(alone) > 0
    assert alone["accuracy_first"].equals(alone["accuracy_recovered"])
    assert both["distance_initial"].equals(both["distance_initial_result"])
    assert both["accuracy_shifted"].equals(both["accuracy_shifted_result"])
    idle = both[both["sequence"].map(len) == 0]
    assert idle["outcome"].equals(idle["stop_reason"])


def test_every_shift_and_surrogate_is_clustered(finished_run):
    table = pd.read_csv(finished_run.data("08_reporting/clusters.csv"))
    assert set(table["shift"]) >= {"uniform_noise", "median_blur", "gaussian_noise", "contrast"}
    samples = pd.read_parquet(finished_run.data("08_reporting/state_samples.parquet"))
    assert (samples.groupby("shift").size() == 20).all()


def test_the_report_tells_how_long_every_stage_took(finished_run):
    times = pd.read_csv(finished_run.data("08_reporting/stage_times.csv"))
    assert set(times["stage"]) == set(PIPELINES)
    assert times["node"].is_unique
    assert (times[["seconds", "peak_memory_gb"]] > 0).all(axis=None)
    page = finished_run.data("08_reporting/report.md").read_text()
    assert re.search(r"The run took \d+ minutes and at most \d\.\d GB \(cpu\)", page)
    assert "classifier_training:" in page
    assert "The denoiser behind `dncnn`: the package's own." in page
    assert "\n- 68 test images under " in page
    assert "A controller sees 20 of the images" in page
    assert "(../../../docs/departures.md)" in page


def test_figures_are_pictures(finished_run):
    figures = sorted(finished_run.data("08_reporting/figures").glob("*.png"))
    assert len(figures) == 13
    assert all(figure.read_bytes()[:4] == b"\x89PNG" for figure in figures)


def test_the_supervisor_loads_from_its_folder(finished_run):
    supervisor = Supervisor.load(finished_run.data("06_models/supervisor"))
    clean = np.load(finished_run.data("05_model_input/shifted_sets/none.npy"))
    recovery = supervisor.recover(from_uint8(clean[:20]))
    assert recovery.images.shape == (20, 3, 32, 32)
    assert recovery.actions == ()


def test_mlflow_holds_parameters_metrics_and_artifacts(finished_run, monkeypatch):
    client = mlflow.MlflowClient(f"sqlite:///{finished_run.root / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name == "superstar"]
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["policy_training.episodes"] == "8"
    table = pd.read_csv(finished_run.data("08_reporting/main_table.csv"))
    for row in table.itertuples():
        name = f"delta.{row.shift}.{row.classifier}"
        name = name if row.controller == "paper" else f"{row.controller}/{name}"
        assert run.data.metrics[name] == pytest.approx(row.delta)
    assert run.data.metrics["stage_seconds.policy_training"] > 0
    assert run.data.metrics["peak_memory_gb"] > 0
    assert {"worst_delta", "clean_delta", "auroc", "run_seconds"} <= run.data.metrics.keys()
    assert run.info.run_name == "test · whole run"
    assert run.data.tags["kedro_command"] == "kedro run --env test"
    folders = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert folders >= {"tables", "figures", "models", "metrics"}
    tracked = {i.path for folder in folders for i in client.list_artifacts(run.info.run_id, folder)}
    for name in register_pipelines()["__default__"].all_outputs():
        dataset = load_catalog("test").get(name)
        place = f"{dataset.artifacts}/{dataset.location.name}"
        artifact = "not_tracked" not in dataset.metadata and name != "supervisor"
        assert (place in tracked) == artifact, name


def test_mlflow_holds_the_curves_of_policy_training(finished_run):
    client = mlflow.MlflowClient(f"sqlite:///{finished_run.root / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name == "superstar"]
    (run,) = client.search_runs([experiment.experiment_id])
    curves = pd.read_parquet(finished_run.data("07_model_output/curves/policy.parquet"))
    for column in ("reward", "reward_window", "distance", "distance_ratio", "entropy", *ACTIONS):
        history = client.get_metric_history(run.info.run_id, f"policy/{column}")
        assert [point.step for point in history] == list(range(8))
        assert [point.value for point in history] == pytest.approx(curves[column].tolist())


def test_a_denoiser_of_the_runs_own_is_one_parameter_away(project_copy):
    path = project_copy.data("06_models/denoiser_network.safetensors")
    assert isinstance(load_denoiser(path), UNet)
    train = ("--params", "denoiser_training.source=train")
    outcome = project_copy.run("--pipelines", "denoiser_training", *train)
    assert outcome.returncode == 0, outcome.stderr
    assert isinstance(load_denoiser(path), DnCNN)
    losses = pd.read_parquet(project_copy.data("07_model_output/curves/denoiser.parquet"))["loss"]
    assert len(losses) == 6
    client = mlflow.MlflowClient(f"sqlite:///{project_copy.root / 'mlflow.db'}")
    run, *_ = client.search_runs(["1"])
    history = client.get_metric_history(run.info.run_id, "denoiser/loss")
    assert [point.value for point in history] == pytest.approx(losses.tolist())


def test_nothing_is_left_to_do(module_copy):
    before = module_copy.table()
    outcome = module_copy.run("--only-missing-outputs")
    assert outcome.returncode == 0
    assert "nothing to do" in outcome.stderr
    assert module_copy.table() == before


def test_each_pipeline_in_turn_and_two_workers_give_the_same_table(project_copy):
    from superstar.pipeline_registry import PIPELINES

    before = project_copy.table()
    shutil.rmtree(project_copy.root / "data")
    # One process for all ten spares the time of importing everything ten times.
    script = f"""
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from superstar.errors import InputError
refused = {{"corrupt": {{"input": "nowhere", "output": "out"}}}}
root = bootstrap_project({str(project_copy.root)!r}).project_path
try:
    with KedroSession.create(root, env="test", runtime_params=refused) as session:
        session.run(pipeline_names=["corrupt"])
except InputError:
    pass
for name in {PIPELINES!r}:
    workers = {{"execution": {{"workers": 2}}}}
    with KedroSession.create(root, env="test", runtime_params=workers) as session:
        session.run(pipeline_names=[name])
"""
    outcome = project_copy.python(script)
    assert outcome.returncode == 0, outcome.stderr
    assert project_copy.table() == before
    client = mlflow.MlflowClient(f"sqlite:///{project_copy.root / 'mlflow.db'}")
    *runs, _ = client.search_runs(["1"])
    # Each has a run of its own, the refused one has none.
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert [run.data.tags["pipeline_names"] for run in runs] == [
        f"['{name}']" for name in reversed(PIPELINES)
    ]


def test_a_killed_run_resumes_to_the_same_table(project_copy):
    before = project_copy.table()
    shutil.rmtree(project_copy.root / "data")
    killed = project_copy.run_until("evaluate ...", signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    assert project_copy.data("06_models/supervisor").is_dir()
    assert not project_copy.data("07_model_output/evaluation_results.parquet").exists()
    outcome = project_copy.run("--only-missing-outputs")
    assert outcome.returncode == 0, outcome.stderr
    assert "evaluate done" in outcome.stderr
    assert "train_denoiser" not in outcome.stderr
    assert "train_policy" not in outcome.stderr
    assert project_copy.table() == before


# A process that kills itself right after its second checkpoint: in the middle, every time.
KILLED_IN_TRAINING = """
import os, signal
from superstar.checkpoint import Checkpoint

save = Checkpoint.save
saved = []

def save_twice(*arguments):
    save(*arguments)
    saved.append(arguments)
    if len(saved) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.save = save_twice
from kedro.framework.cli.cli import main
main()
"""


def test_a_policy_training_killed_half_way_resumes_to_the_same_policy(project_copy):
    paths = [
        project_copy.data(f"0{layer}")
        for layer in (
            "6_models/actor.safetensors",
            "6_models/critic.safetensors",
            "7_model_output/curves/policy.parquet",
            "7_model_output/policy_episodes.parquet",
            "7_model_output/metrics/policy.json",
        )
    ]
    straight = [path.read_bytes() for path in paths]
    checkpoint = project_copy.data("06_models/train_policy.unfinished/policy.safetensors")
    assert not checkpoint.exists()
    paths[0].unlink()
    options = ["--pipelines", "policy_training", "--only-missing-outputs"]
    # How often it saves has no bearing on the result, so the next run may do without that.
    every = ["--params", "policy_training.checkpoint_episodes=3"]
    killed = project_copy.python(KILLED_IN_TRAINING, "run", "--env", "test", *options, *every)
    assert killed.returncode == -signal.SIGKILL
    assert checkpoint.is_file()
    assert not paths[0].exists()
    outcome = project_copy.run(*options)
    assert outcome.returncode == 0, outcome.stderr
    assert "policy training goes on from episode 6" in outcome.stderr
    assert "calibrate_thresholds" not in outcome.stderr
    assert [path.read_bytes() for path in paths] == straight
    assert not checkpoint.parent.exists()


def test_a_classifier_training_killed_half_way_resumes_to_the_same_classifier(project_copy):
    classifier = project_copy.data("06_models/classifiers/standard.safetensors")
    robust = project_copy.data("06_models/robust_classifiers/augmix.safetensors")
    curve = project_copy.data("07_model_output/curves/classifier_standard.parquet")
    paths = [classifier, robust, curve]
    straight = [path.read_bytes() for path in paths]
    checkpoint = project_copy.data(
        "06_models/classifiers/train_standard_classifier.unfinished/standard.safetensors"
    )
    classifier.unlink()
    options = ["--pipelines", "classifier_training", "--only-missing-outputs"]
    killed = project_copy.python(KILLED_IN_TRAINING, "run", "--env", "test", *options)
    assert killed.returncode == -signal.SIGKILL
    assert checkpoint.is_file()
    outcome = project_copy.run(*options)
    assert outcome.returncode == 0, outcome.stderr
    assert "classifier standard goes on from epoch 3" in outcome.stderr
    assert [path.read_bytes() for path in paths] == straight
    assert not checkpoint.parent.exists()


def test_an_evaluation_killed_half_way_goes_on_with_what_is_missing(project_copy):
    names = ("results", "gains", "steps", "first_actions")
    paths = [project_copy.data(f"07_model_output/evaluation_{name}.parquet") for name in names]
    straight = [path.read_bytes() for path in paths]
    cells = project_copy.data("07_model_output/evaluate.unfinished")
    assert not cells.exists()
    paths[0].unlink()
    options = ["--pipelines", "evaluation", "--only-missing-outputs"]
    killed = project_copy.python(KILLED_IN_TRAINING, "run", "--env", "test", *options)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(cells.iterdir())) == 2
    outcome = project_copy.run(*options)
    assert outcome.returncode == 0, outcome.stderr
    assert "evaluation goes on: 2 of 5 cells are there" in outcome.stderr
    assert [path.read_bytes() for path in paths] == straight
    assert not cells.exists()


def test_a_cluster_that_is_not_there_is_told_before_any_work(project_copy):
    where = "execution.backend=dask,execution.address=tcp://127.0.0.1:9"
    outcome = project_copy.run("--params", where)
    assert outcome.returncode == 1
    assert "error: no Dask scheduler answers at execution.address" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "prepare_clean_sets" not in outcome.stderr


def test_resuming_with_other_parameters_mixes_nothing(project_copy):
    outcome = project_copy.run("--only-missing-outputs", "--params", "evaluation.trials=1")
    assert outcome.returncode == 0, outcome.stderr
    assert "evaluate done" in outcome.stderr
    assert "make_tables done" in outcome.stderr
    assert "train_policy" not in outcome.stderr
    results = pd.read_parquet(project_copy.data("07_model_output/evaluation_results.parquet"))
    assert results["trial"].eq(0).all()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on(project_copy, how):
    outcome = project_copy.run_until("train_standard_classifier ...", how)
    assert outcome.returncode == 130
    assert "`kedro run --env test --only-missing-outputs` goes on from here" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_run_from_a_subfolder_writes_into_the_project(project_copy):
    below = project_copy.root / "conf" / "base"
    made = project_copy.data("04_feature/severity_calibration.csv")
    made.unlink()
    stage = ("--pipelines", "severity_calibration")
    outcome = project_copy.kedro("run", "--env", "test", *stage, cwd=below)
    assert outcome.returncode == 0, outcome.stderr
    assert made.is_file()
    assert not (below / "mlruns").exists()
    assert not (below / "mlflow.db").exists()


def test_metrics_files_hold_numbers(finished_run):
    files = [
        *finished_run.data("07_model_output/metrics").glob("[!.]*.json"),
        *finished_run.data("08_reporting/metrics").glob("[!.]*.json"),
    ]
    assert len(files) == 5
    for path in files:
        values = json.loads(path.read_text())
        assert values
        assert all(value is None or np.isfinite(value) for value in values.values())
