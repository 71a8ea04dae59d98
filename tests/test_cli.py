"""Bad input: one clear line, a non-zero exit, nothing written."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from filelock import FileLock
from kedro.framework.cli.utils import find_run_command
from kedro.io import DatasetError

from superstar.__main__ import main
from superstar.cli import known, run
from superstar.errors import InputError


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Every artifact with its size and time of change; locks and digests of files are none."""
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted((root / "data").rglob("*"))
        if path.is_file() and path.suffix != ".lock" and path.parent.name != ".digests"
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
def test_a_mistake_on_the_command_line(module_copy, arguments, message):
    assert message in refused(module_copy, *arguments)


def test_parameters_of_a_file_and_of_the_command_line_are_merged(module_copy, tmp_path):
    file = tmp_path / "run.yml"
    file.write_text("run: {env: test, params: {evaluation: {trials: 0, severities: [1]}}}")
    config = ["--config", str(file)]
    assert "evaluation.trials = 0" in refused(module_copy, *config, "--params", "seed=1")
    # One name of a section leaves its others as the file has them.
    nearer = ["--params", "evaluation.trials=1,evaluation.batch_size=3"]
    assert "evaluation.batch_size (3)" in refused(module_copy, *config, *nearer)


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


def test_too_few_images_for_disjoint_batches(module_copy):
    message = refused(
        module_copy,
        *("--env", "test", "--pipelines", "surrogate_generation"),
        *("--params", "surrogate_generation.policy.training_batches=50"),
    )
    assert "batch_size = 1020: data_preparation.train gives 340 images" in message


def chained(error: BaseException, cause: BaseException | None) -> BaseException:
    error.__cause__ = cause
    return error


def raised_while_handling() -> BaseException:
    try:
        try:
            raise InputError("mend this")
        except InputError:
            raise KeyError("a bug of ours")  # noqa: B904
    except KeyError as error:
        return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("mend this"), "mend this"),
        (chained(DatasetError("cannot load"), InputError("mend this")), "mend this"),
        (chained(DatasetError("cannot save x"), OSError("disk full")), "cannot save x"),
        (DatasetError("no such\ndata set"), "no such data set"),
        (chained(DatasetError("cannot load"), TypeError("a bug of ours")), None),
        (raised_while_handling(), None),
        (ValueError("a bug of ours"), None),
    ],
)
def test_only_what_a_user_can_mend_is_told_in_a_line(error, message):
    assert known(error) == message


@pytest.mark.parametrize("options", [[], ["--trace"]])
def test_a_switch_shows_where_an_error_came_from(options, monkeypatch):
    def refuse(**_):
        raise InputError("mend this")

    monkeypatch.setattr("superstar.cli.kedro_run.callback", refuse)
    monkeypatch.setattr("superstar.cli._check_environment", lambda options: None)
    outcome = CliRunner().invoke(run, options)
    assert outcome.exit_code == 1
    assert isinstance(outcome.exception, InputError if options else SystemExit)
    assert ("error: mend this" in outcome.output) is not bool(options)


def typed(text):
    return run.make_context("run", ["--params", text]).params["params"]


@pytest.mark.parametrize("folder", ["2024", "007", "12:30", "1e3", "yes", "0x10", "1_000", "[a]"])
def test_a_folder_is_what_was_typed(folder):
    given = typed(f"corrupt.input={folder}, corrupt.output = out ,run_name={folder},seed=7")
    assert given["corrupt"] == {"input": folder, "output": "out"}
    assert given["run_name"] == folder
    assert given["seed"] == 7


def test_nothing_and_quoted_texts_are_as_before():
    assert typed("corrupt.input=null,corrupt.output='2024'") == {
        "corrupt": {"input": None, "output": "2024"}
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--runner", "Foo"], "unknown runner 'Foo' (known: SequentialRunner)"),
        (["--async"], "leave it out"),
    ],
)
def test_what_kedro_offers_and_we_do_not(options, message, monkeypatch):
    monkeypatch.setattr("superstar.cli._check_environment", lambda options: None)
    outcome = CliRunner().invoke(run, options)
    assert outcome.exit_code == 1
    assert message in outcome.output


def test_without_configuration_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(run, [])
    assert outcome.exit_code == 1
    assert f"error: there is no configuration at {tmp_path}/conf: go to a clone" in outcome.output
    assert list(tmp_path.iterdir()) == []


def test_outside_the_project_its_commands_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["superstar", "--help"])
    with pytest.raises(SystemExit, match="0"):
        main()
    told = capsys.readouterr().out
    assert "run  " in told
    assert "ui  " in told
    assert find_run_command("superstar") is run


SERVER = """
import socket, subprocess, sys

class Server:
    def __init__(self, command):
        print(command)
        self.socket = socket.create_server(("127.0.0.1", int(command[command.index("--port") + 1])))

    def poll(self):
        return None

    def wait(self):
        return 0

subprocess.Popen = Server
from superstar.__main__ import main
main()
"""
"""Listens in MLflow's place."""


def test_the_address_of_the_runs(module_copy):
    served = module_copy.python(SERVER, "ui", "--port", "5099").stdout
    *_, last = served.splitlines()
    assert "http://127.0.0.1:5099/#/experiments/1/runs?viewStateShareKey=superstar" in last
    assert f"sqlite:///{module_copy.root}/mlflow.db" in served
