"""The project's `kedro run`: Kedro's own, with known errors told in one line.

What it adds: an unknown environment or pipeline is refused before anything is written; an
`InputError` anywhere below prints its message alone and exits with status 1; Ctrl-C and a polite
kill say how to go on.
"""

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import settings

from superstar.errors import InputError, unknown_name

ONLY_MISSING = "--only-missing-outputs"


@click.group(name="superstar")
def cli() -> None:
    """Commands of the project."""


def _run(**options: Any) -> Any:
    # What ends jobs on clusters: workers end too, and the run says how to go on.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _merge_parameters(options)
        _check_environment(options)
        _check_pipelines(options)
        return kedro_run.callback(**options)  # type: ignore[misc]
    except KeyboardInterrupt:
        _end_tracking("KILLED")
        _fail(f"interrupted; `{_resume()}` goes on from here", status=130)
    except Exception as error:
        message = _known(error)
        if message is None:
            raise
        _fail(message)


cli.add_command(
    click.Command("run", callback=_run, params=kedro_run.params, help="Run the pipeline.")
)


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
    environment = options.get("env") or os.getenv("KEDRO_ENV")
    if environment is None:
        return
    source = Path(options.get("conf_source") or Path(_project_root()) / settings.CONF_SOURCE)
    known = sorted(p.name for p in source.iterdir() if p.is_dir()) if source.is_dir() else []
    if known and environment not in known:
        raise unknown_name("environment", environment, known)


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


def _known(error: BaseException) -> str | None:
    """The one line to print for an error that is the user's to mend; None for any other."""
    from kedro.config import MissingConfigException
    from kedro.io import DatasetError
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    for link in chain:
        if isinstance(link, InputError):
            return str(link)
    for link in chain:
        if isinstance(
            link, DatasetError | MissingConfigException | OmegaConfBaseException | YAMLError
        ):
            return " ".join(str(link).split())
    # What Kedro itself says of names of nodes, tags and runners, and the store of its errors.
    for link in chain:
        if type(link).__module__.partition(".")[0] in ("mlflow", "sqlalchemy"):
            return f"the MLflow store: {str(link).splitlines()[0]}"
    if _raised_in(error).startswith("kedro."):
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
