"""The project's `kedro run`: Kedro's own, with known errors told in one line.

What it adds: an unknown environment or pipeline is refused before anything is written; an
`InputError` anywhere below prints its message alone and exits with status 1; Ctrl-C and a polite
kill say how to go on; a parameter that is a text stays as it was typed.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from copy import copy
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.cli.utils import _split_params
from kedro.framework.project import settings
from kedro.framework.session import KedroSession

from superstar.errors import InputError, unknown_name

ONLY_MISSING = "--only-missing-outputs"


@click.group(name="superstar")
def cli() -> None:
    """Commands of the project."""


def _run(trace: bool, **options: Any) -> Any:
    # What ends jobs on clusters: workers end too, and the run says how to go on.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _merge_parameters(options)
        _check_environment(options)
        _check_pipelines(options)
        _check_runner(options)
        return kedro_run.callback(**options)  # type: ignore[misc]
    except KeyboardInterrupt:
        _end_tracking("KILLED")
        _fail(f"interrupted; `{_resume()}` goes on from here", status=130)
    except Exception as error:
        message = known(error)
        if message is None or trace:
            raise
        _fail(message)


def _typed_params(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Parameters as Kedro reads them, but for texts: 2024, 007, 12:30 and 1e3 may be folders."""
    from superstar.parameters import is_text

    read = _split_params(context, option, value)
    if isinstance(value, str):
        for item in value.split(","):
            name, _, text = (part.strip() for part in item.partition("="))
            if is_text(name):
                *groups, last = name.split(".")
                values = reduce(dict.__getitem__, groups, read)
                if not isinstance(values[last], str | None):
                    values[last] = text
    return read


def _run_options() -> list[click.Parameter]:
    """Kedro's, and ours."""
    options = [copy(option) for option in kedro_run.params]
    next(option for option in options if option.name == "params").callback = _typed_params
    help_text = "Show where an error came from, too, if it is the user's to mend."
    return [*options, click.Option(["--trace"], is_flag=True, help=help_text)]


run = click.Command("run", callback=_run, params=_run_options(), help="Run the pipeline.")
cli.add_command(run)


@cli.command()
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=5000, help="Port to listen on.")
def ui(host: str, port: int) -> None:
    """Show the runs in MLflow, and say where."""
    session: Any
    with KedroSession.create(_project_root()) as session:
        context = session.load_context()
    store = context.mlflow.server.mlflow_tracking_uri
    experiment = context.mlflow.tracking.experiment
    number = experiment._experiment.experiment_id
    for name, value in experiment.create_experiment_kwargs.tags.items():  # Of older stores, too.
        context.mlflow.server._mlflow_client.set_experiment_tag(number, name, value)
    server = store if store.startswith("http") else f"http://{host}:{port}"
    runs = f"The runs: {server}/#/experiments/{number}/runs?viewStateShareKey=superstar"
    if server == store:
        click.echo(runs)
        return
    serve = ["ui", "--backend-store-uri", store, "--host", host, "--port", str(port)]
    quiet = ["--uvicorn-opts", "--log-level warning"]
    process = subprocess.Popen([sys.executable, "-m", "mlflow", *serve, *quiet])
    click.echo("MLflow starts ...")
    while process.poll() is None:
        with suppress(OSError), socket.create_connection((host, port), timeout=1):
            click.echo(runs)
            break
        time.sleep(0.5)
    sys.exit(process.wait())


def _resume() -> str:
    """The command that goes on with this run."""
    given = [argument for argument in sys.argv[1:] if argument != ONLY_MISSING]
    return shlex.join(["kedro", *given, ONLY_MISSING])


def _merge_parameters(options: dict[str, Any]) -> None:
    """Those of the command line over those of a file of `--config`; Kedro drops the latter."""
    from omegaconf import OmegaConf

    context = click.get_current_context()
    filed = (context.default_map or {}).get("params")
    if filed and context.get_parameter_source("params") is ParameterSource.COMMANDLINE:
        if not isinstance(filed, dict):
            raise InputError("params in the file of --config must be a mapping, name: value")
        merged = OmegaConf.merge(OmegaConf.create(filed), OmegaConf.create(options["params"]))
        options["params"] = OmegaConf.to_container(merged)


def _check_environment(options: dict[str, Any]) -> None:
    given = options.get("conf_source")
    source = Path(given or _project_root() / settings.CONF_SOURCE)
    if given and not source.is_dir():
        return  # An archive, or an address.
    if not (source / "base").is_dir():
        raise InputError(
            f"there is no configuration at {source}: go to a clone of SuperStAR, or give the "
            "folder conf of one with --conf-source"
        )
    environment = options.get("env") or os.getenv("KEDRO_ENV")
    environments = sorted(path.name for path in source.iterdir() if path.is_dir())
    if environment is not None and environment not in environments:
        raise unknown_name("environment", environment, environments)


def _check_pipelines(options: dict[str, Any]) -> None:
    from superstar.pipeline_registry import BESIDE, PIPELINES

    # `--pipeline` is Kedro's older spelling of `--pipelines`; it stays without its warning.
    if options.get("pipeline") and options.get("pipelines"):
        raise InputError("give --pipeline or --pipelines, not both")
    if options.get("pipeline"):
        options["pipelines"], options["pipeline"] = [options["pipeline"]], None
    source = click.get_current_context().get_parameter_source("pipelines")
    if source is ParameterSource.COMMANDLINE and not options["pipelines"]:
        raise InputError("--pipelines names no pipeline")
    for name in options.get("pipelines") or []:
        if name not in (*PIPELINES, *BESIDE, "__default__"):
            raise unknown_name("pipeline", name, (*PIPELINES, *BESIDE))


def _check_runner(options: dict[str, Any]) -> None:
    from kedro import runner

    name = options.get("runner")
    if name and not hasattr(runner, name.rpartition(".")[2]):
        raise unknown_name("runner", name, ["SequentialRunner"])
    if options.get("is_async"):
        raise InputError("--async would part artifacts from their run in MLflow: leave it out")


def known(error: BaseException) -> str | None:
    """The one line to print for an error that is the user's to mend; None for any other.

    Only what an error was raised `from` counts: an error in the handling of another is its own.
    """
    from kedro.config import MissingConfigException
    from kedro.io import DatasetError
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    for link in chain:
        if isinstance(link, InputError):
            return str(link)
    configuration = (MissingConfigException, OmegaConfBaseException, YAMLError)
    for link in chain:
        if isinstance(link, configuration):
            return " ".join(str(link).split())
    # What a dataset says by itself, or of the file system; what fails inside one is a fault of it.
    if isinstance(error, DatasetError) and isinstance(chain[-1], DatasetError | OSError):
        return " ".join(str(error).split())
    # What Kedro itself says of names of nodes, tags and runners, and the store of its errors.
    for link in chain:
        if type(link).__module__.partition(".")[0] in ("mlflow", "sqlalchemy"):
            return f"the MLflow store: {str(link).splitlines()[0]}"
    if isinstance(error, ValueError) and _raised_in(error).startswith("kedro."):
        return " ".join(str(error).split())
    return None


def _raised_in(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))


def _fail(message: str, status: int = 1) -> None:
    click.echo(f"error: {message}", err=True)
    sys.exit(status)


def _end_tracking(status: str) -> None:
    import mlflow

    if mlflow.active_run() is not None:
        mlflow.end_run(status)


def _project_root() -> Path:
    from kedro.utils import find_kedro_project

    return Path(find_kedro_project(Path.cwd()) or Path.cwd())
