"""A run in MLflow: reachable, told from others at a glance, and closed however it ends."""

import logging
import shlex
import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from filelock import FileLock
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from superstar.errors import InputError
from superstar.pipeline_registry import BESIDE, PIPELINES

logger = logging.getLogger(__name__)

SERVER_SECONDS = 10
"""How long a tracking server may take to answer."""
LONGEST_NAME = 250
DIGITS = 3
PARTS = ("tags", "node_names", "from_nodes", "to_nodes", "from_inputs", "to_outputs", "namespaces")
"""What makes Kedro run some nodes of a pipeline alone."""


class TrackingHook:
    """Opens the store, names the run, sums it up and closes it; kedro-mlflow logs what is in it."""

    def __init__(self) -> None:
        self._context: KedroContext
        self._run_id: str | None = None

    @hook_impl(wrapper=True)
    def after_context_created(self, context: KedroContext) -> Generator[None, Any, Any]:
        """Make sure that the store answers, and let one process at a time set it up."""
        self._end("KILLED")  # No hook hears of it when Ctrl-C ends a run in this process.
        self._context = context
        store = context.config_loader["mlflow"]["server"]["mlflow_tracking_uri"]
        check_server(store)
        with _alone(context.project_path) if store.startswith("sqlite:") else nullcontext():
            return (yield)

    @hook_impl(wrapper=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline
    ) -> Generator[None, Any, Any]:
        """Say what the run is; one that is refused is closed at once."""
        import mlflow

        if mlflow.active_run() is not None:  # The caller's own, which has a name and goes on.
            return (yield)
        try:
            result = yield
            if mlflow.active_run() is not None:
                self._describe(run_params, pipeline)
            return result
        except BaseException:
            self._run_id = _active()
            self._end("FAILED")
            raise
        finally:
            self._run_id = _active()

    @hook_impl(wrapper=True)
    def after_pipeline_run(self) -> Generator[None, Any, Any]:
        """Sum the run up before it closes."""
        import mlflow

        if (run_id := _active()) is not None:
            mlflow.log_metrics(headlines(mlflow.get_run(run_id).data.metrics))
            register_supervisor(run_id, self._context.params["benchmark"])
        result = yield
        self._run_id = None
        return result

    @hook_impl(trylast=True)
    def on_pipeline_error(self) -> None:
        """kedro-mlflow has closed the run."""
        self._run_id = None

    def _describe(self, run_params: Mapping[str, Any], pipeline: Pipeline) -> None:
        import mlflow

        from superstar.control.controllers import CALIBRATED, PAPER

        loader: Any = self._context.config_loader
        given, defaults = _flat(self._context.params), _flat(loader.defaults())
        read = [name for name in given | defaults if _is_read(name, pipeline)]
        changed = {
            name: value
            for name, value in _flat(run_params["runtime_params"]).items()
            if name in read and given.get(name, ...) != defaults.get(name, ...)
        }
        # Kedro shuffles them.
        names = sorted(
            run_params["pipeline_names"] or (), key=("__default__", *PIPELINES, *BESIDE).index
        )
        stages = "+".join(names).replace("__default__", "whole run") or "whole run"
        stages += " (part)" * any(run_params[part] for part in PARTS)
        stages += " (resumed)" * bool(run_params["only_missing_outputs"])
        benchmark = given["benchmark"]
        words = " ".join(f"{_shortest(name, read)}={_text(changed[name])}" for name in changed)
        name = given.get("run_name") or " · ".join(filter(None, (benchmark, stages, words)))
        mlflow.set_tags(
            {
                "mlflow.runName": name[:LONGEST_NAME],
                "mlflow.note.content": _note(changed, defaults),
                "environment": self._context.env or "base",
                "benchmark": benchmark,
                "controller": f"{PAPER}, {CALIBRATED}",
                "changed": words or "nothing",
                "kedro_command": _command(),
                **_origin(self._context.project_path),
            }
        )

    def _end(self, status: str) -> None:
        """Close the run that this process left open, and what is nested in it."""
        if self._run_id is None:
            return
        import mlflow

        while (run := mlflow.active_run()) is not None:
            mlflow.end_run(status)
            if run.info.run_id == self._run_id:
                break
        self._run_id = None


def check_server(store: str) -> None:
    """Refuse a tracking server that does not answer; MLflow itself tries for minutes.

    Raises:
        InputError: nothing answers at that address within `SERVER_SECONDS`.
    """
    if not store.startswith(("http://", "https://")):
        return
    import requests

    try:
        requests.get(store, timeout=SERVER_SECONDS, allow_redirects=False, stream=True).close()
    except requests.exceptions.SSLError:
        return  # It answers; whether it is trusted is for MLflow's own settings to say.
    except requests.RequestException as error:
        raise InputError(
            f"the MLflow server at {urlsplit(store).hostname} does not answer: start it, or unset "
            "MLFLOW_TRACKING_URI, so that runs go to mlflow.db in the project"
        ) from error


def headlines(metrics: Mapping[str, float]) -> dict[str, float]:
    """The few numbers that tell how a run went, from all of its metrics."""
    deltas = {
        tuple(name.split(".")[1:]): value
        for name, value in metrics.items()
        if name.startswith("delta.")
    }
    clean = [value for (shift, _), value in deltas.items() if shift == "none"]
    shifted = [value for (shift, _), value in deltas.items() if shift != "none"]
    found = {
        "worst_delta": min(shifted, default=None),
        "clean_delta": min(clean, default=None),
        "auroc": metrics.get("operability/auroc"),
    }
    return {name: round(value, DIGITS) for name, value in found.items() if value is not None}


def register_supervisor(run_id: str, benchmark: str) -> None:
    """Register the supervisor of a run, if it made one, as the benchmark's newest version."""
    import mlflow
    from mlflow.exceptions import MlflowException

    client = mlflow.MlflowClient()
    name = f"supervisor-{benchmark}"
    outputs = client.get_run(run_id).outputs
    for model in outputs.model_outputs if outputs else ():
        try:
            if not client.search_registered_models(f"name = '{name}'"):
                client.create_registered_model(name)
            source = client.get_logged_model(model.model_id).artifact_location
            client.create_model_version(name, source, run_id, model_id=model.model_id)
        except MlflowException as error:  # Of servers without a registry; the model is there.
            logger.warning("%s is not registered in MLflow: %s", name, str(error).splitlines()[0])


def _active() -> str | None:
    import mlflow

    run = mlflow.active_run()
    return None if run is None else run.info.run_id


@contextmanager
def _alone(project: Path) -> Iterator[None]:
    """One process at a time: two that make the tables of the same store spoil them."""
    path = project / "data" / ".mlflow.lock"
    lock = FileLock(path)
    try:
        path.parent.mkdir(exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise InputError(f"{path} cannot be locked ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their full names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            flat |= {f"{name}.{part}": inner for part, inner in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _is_read(name: str, pipeline: Pipeline) -> bool:
    """Whether some node reads that parameter, or a group that it is in or that is in it."""
    read = [given.removeprefix("params:") for given in pipeline.inputs() if "params:" in given]
    return any(f"{name}.".startswith(f"{r}.") or f"{r}.".startswith(f"{name}.") for r in read)


def _shortest(name: str, names: Iterable[str]) -> str:
    """The shortest end of a parameter's name that is the end of no other's."""
    parts = name.split(".")
    ends = (".".join(parts[start:]) for start in reversed(range(len(parts))))
    others = [f".{other}" for other in names if other != name]
    return next((end for end in ends if not any(o.endswith(f".{end}") for o in others)), name)


def _text(value: Any) -> str:
    text = str(value).replace("'", "").replace(", ", ",")
    return Path(text).name or text if text.startswith(("/", "~")) else text


def _note(changed: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """What MLflow shows above everything else of a run."""
    lines = [f"`{_command()}`"]
    if changed:
        lines += ["", "| parameter | default | this run |", "| --- | --- | --- |"]
        lines += [f"| {n} | {_text(defaults.get(n))} | {_text(changed[n])} |" for n in changed]
    return "\n".join(lines)


def _command() -> str:
    """What was typed."""
    if click.get_current_context(silent=True) is None:
        return "a session in Python"
    return shlex.join(["kedro", *sys.argv[1:]])


def _origin(project: Path) -> dict[str, str]:
    """The commit that the project's files are of, where git knows."""
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        told = subprocess.run(describe, cwd=project, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict.fromkeys(("git_commit", "mlflow.source.git.commit"), told.stdout.strip())
