"""Many processes of `python -m superstar` that import the large packages once.

Most of what a short command takes is imports. This program does them, then forks a process for
each command that comes in; a child is as new as any, but for those modules.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from superstar.pipeline_registry import BESIDE, PIPELINES

# None of them looks at the working directory or the environment that a command gets.
PACKAGES = (
    "torch",
    "torch._dynamo",
    "torchvision.transforms.v2",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "sklearn.cluster",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.tree",
    "skops.io",
    "numba",
    "ot",
    "skimage",
    "sqlalchemy",
    "alembic",
    "pydantic",
    "omegaconf",
    "matplotlib.pyplot",
    "mlflow.pyfunc",
    "mlflow.store.model_registry.sqlalchemy_store",
    "mlflow.store.tracking.sqlalchemy_store",
    "mlflow.tracking.fluent",
    "dynaconf.loaders.py_loader",
    "gymnasium.wrappers",
    "kedro.config",
    *(f"kedro_datasets.{kind}" for kind in ("json", "matplotlib", "pandas", "pickle", "text")),
    "superstar.datasets",
    "superstar.service",
    *(f"superstar.pipelines.{name}" for name in (*PIPELINES, *BESIDE)),
)

TIMEOUT = 900
"""Seconds after which a command is killed."""


class Launcher:
    """Starts commands; ends with the process that made it."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self,
        arguments: list[str],
        cwd: Path,
        environment: dict[str, str],
        output: Path,
        code: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m superstar`, or some code, to its end.

        What it prints goes through files in `output`.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        files = [str(output / name) for name in ("stdout", "stderr")]
        request = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": environment,
            "files": files,
            "code": code,
        }
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        stdout, stderr = (Path(file).read_text() for file in files)
        return subprocess.CompletedProcess(arguments, status, stdout, stderr)


def _serve() -> None:
    # mlflow looks at this when it is imported; the project sets it for the same reason.
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    for name in PACKAGES:
        importlib.import_module(name)
    gc.freeze()  # Or every child looks for garbage among all of it, many times.
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _become(request: dict[str, Any]) -> None:
    """Do what was asked for, and end."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    files = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for file in request["files"]]
    for old, new in zip((nothing, *files), (0, 1, 2), strict=True):
        os.dup2(old, new)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[1:] = request["arguments"]
    # As `python -m` has it: the working directory in place of this file's.
    sys.path[0] = request["cwd"]
    signal.alarm(TIMEOUT)
    if request["code"] is None:
        runpy.run_module("superstar", run_name="__main__", alter_sys=True)
    else:
        exec(request["code"], {"__name__": "__main__"})
    sys.exit(0)


if __name__ == "__main__":
    _serve()
