"""Bad input: one clear line, a non-zero exit, nothing written."""

from pathlib import Path

import pytest
from filelock import FileLock


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Every artifact with its size and time of change; the lock of a run is none."""
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted((root / "data").rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def refused(project, *arguments):
    before = snapshot(project.root)
    outcome = project.kedro("run", *arguments)
    assert outcome.returncode != 0
    assert snapshot(project.root) == before
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, outcome.stderr
    assert "Traceback" not in outcome.stderr
    return errors[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "tset"], "unknown environment 'tset'; did you mean 'test'?"),
        (["--env", "test", "--pipeline", "evaluatoin"], "did you mean 'evaluation'?"),
        (
            ["--env", "test", "--params", "policy_training.episode=3"],
            "did you mean 'policy_training.episodes'?",
        ),
        (["--env", "test", "--params", "benchmark=other"], "conf/<environment>/globals.yml"),
        (["--env", "test", "--nodes", "nope"], "does not contain nodes named ['nope']"),
        (["--env", "test", "--pipelines", ""], "--pipelines names no pipeline"),
    ],
)
def test_a_mistake_on_the_command_line(finished_run, arguments, message):
    assert message in refused(finished_run, *arguments)


def test_parameters_of_a_file_and_of_the_command_line_are_merged(finished_run, tmp_path):
    file = tmp_path / "run.yml"
    file.write_text("run: {env: test, params: {evaluation: {trials: 0, severities: [1]}}}")
    config = ["--config", str(file)]
    assert "evaluation.trials = 0" in refused(finished_run, *config, "--params", "seed=1")
    # One name of a section leaves its others as the file has them.
    nearer = ["--params", "evaluation.trials=1,evaluation.batch_size=3"]
    assert "evaluation.batch_size (3)" in refused(finished_run, *config, *nearer)


def test_a_benchmark_that_another_run_holds(project_copy):
    path = project_copy.root / "data" / ".test.lock"
    with FileLock(path):
        path.write_text("4321")
        message = refused(project_copy, "--env", "test")
    assert "another run of the benchmark test is going on (process 4321, which" in message
    assert str(path) in message


def test_a_missing_artifact(project_copy):
    project_copy.data("07_model_output/evaluation_results.parquet").unlink()
    message = refused(project_copy, "--env", "test", "--pipelines", "reporting")
    assert "evaluation_results" in message
    assert "is missing" in message
    assert "kedro run --pipelines evaluation --env test" in message


def test_a_truncated_artifact(project_copy):
    path = project_copy.data("06_models/classifiers/standard.safetensors")
    path.write_bytes(path.read_bytes()[:100])
    message = refused(project_copy, "--env", "test", "--pipelines", "evaluation")
    assert "is damaged: standard.safetensors has 100 bytes" in message
    assert "kedro run --pipelines classifier_training" in message


def test_an_artifact_damaged_within(project_copy):
    path = project_copy.data("06_models/classifiers/standard.safetensors")
    path.write_bytes(b"\xff" * path.stat().st_size)
    message = refused(project_copy, "--env", "test", "--pipelines", "evaluation")
    assert "standard.safetensors" in message
    assert "its content has changed" in message


def test_too_few_images_for_disjoint_batches(project_copy):
    message = refused(
        project_copy,
        *("--env", "test", "--pipelines", "surrogate_generation"),
        *("--params", "surrogate_generation.policy.training_batches=50"),
    )
    assert "batch_size = 1020: data_preparation.train gives 340 images" in message
