"""What a finished run left, for the benchmarks that look into one."""

import argparse
from pathlib import Path
from typing import Any

from kedro.io import DataCatalog

from superstar.configuration import ProjectConfigLoader
from superstar.settings import CONFIG_LOADER_ARGS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--project` and `--env`, which say where the run is."""
    parser.add_argument("--project", type=Path, default=Path.cwd(), help="where the run is")
    parser.add_argument("--env", default="local", help="its environment")


def open_run(project: Path, environment: str) -> tuple[DataCatalog, dict[str, Any]]:
    """Its catalog and parameters.

    Raises:
        SystemExit: no supervisor is there.
    """
    conf = str(project.resolve() / "conf")
    loader = ProjectConfigLoader(conf, env=environment, **CONFIG_LOADER_ARGS)
    catalog = DataCatalog.from_config(loader["catalog"])
    if not catalog.exists("supervisor"):
        raise SystemExit(f"error: there is no finished run of environment {environment}: make run")
    return catalog, loader["parameters"]
