"""Kedro projects of their own, for the tests that run one."""

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from kedro.io import DataCatalog

from launcher import Launcher
from superstar.configuration import ProjectConfigLoader
from superstar.settings import CONFIG_LOADER_ARGS

ROOT = Path(__file__).parents[1]
SIGNALLED = """
import logging, os, signal

make = logging.getLogRecordFactory()

def watch(*given):
    record = make(*given)
    if {text!r} in record.getMessage():
        os.kill(os.getpid(), {sign})
    return record

logging.setLogRecordFactory(watch)
# A process started in the background of a script ignores Ctrl-C, and its children too.
signal.signal(signal.SIGINT, signal.default_int_handler)
from superstar.__main__ import main
main()
"""


@dataclass(frozen=True)
class Project:
    """A Kedro project of its own: the real configuration, no data, its own MLflow store."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        hidden = {"MLFLOW_TRACKING_URI", "KEDRO_ENV", "COLUMNS"}
        return {name: value for name, value in os.environ.items() if name not in hidden}

    def kedro(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        with tempfile.TemporaryDirectory() as output:
            return _launcher().run(
                list(arguments), cwd or self.root, self.environment, Path(output)
            )

    def python(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run some code with arguments, in the project, to its end."""
        with tempfile.TemporaryDirectory() as output:
            return _launcher().run(list(arguments), self.root, self.environment, Path(output), code)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`kedro run` in environment test."""
        return self.kedro("run", "--env", "test", *arguments)

    def run_until(
        self, text: str, sign: signal.Signals, *arguments: str
    ) -> subprocess.CompletedProcess[str]:
        """A run in environment test that gets a signal when it logs `text`."""
        return self.python(
            SIGNALLED.format(text=text, sign=int(sign)), "run", "--env", "test", *arguments
        )

    def data(self, relative: str) -> Path:
        """A file or folder of the run: `<layer>/<name>`."""
        layer, _, name = relative.partition("/")
        return self.root / "data" / layer / "test" / name

    def table(self) -> bytes:
        return self.data("08_reporting/main_table.csv").read_bytes()


@cache
def _launcher() -> Launcher:
    return Launcher()


def make_project(root: Path) -> Project:
    shutil.copytree(ROOT / "conf", root / "conf")
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "src").mkdir()
    return Project(root)


@cache
def load_catalog(environment: str) -> DataCatalog:
    """The project's own catalog; nothing of it is read."""
    loader = ProjectConfigLoader(str(ROOT / "conf"), env=environment, **CONFIG_LOADER_ARGS)
    return DataCatalog.from_config(loader["catalog"])


def reporting_parameters(**changes: Any) -> dict[str, Any]:
    """Those of the real configuration with some changed."""
    return base_parameters("reporting") | changes


def base_parameters(group: str) -> dict[str, Any]:
    """A group of the real configuration."""
    path = ROOT / "conf" / "base" / f"parameters_{group}.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))[group]
