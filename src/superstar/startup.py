"""What this project sets in its process before any plugin loads."""

import importlib
import logging
import os
import warnings

from superstar.memory import keep_freed_memory


def prepare() -> None:
    """Set up the process: memory of batches kept, third parties quiet."""
    keep_freed_memory()
    quiet()


def quiet() -> None:
    """Keep notices of packages about themselves, and their telemetry, out of a run."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    # kedro_mlflow defines a model class when imported, and mlflow has advice for its author.
    with warnings.catch_warnings(record=True):
        importlib.import_module("kedro_mlflow.framework.cli.cli")
    # Its own level, set on import, would overrule that of conf/logging.yml.
    logging.getLogger("kedro_mlflow").setLevel(logging.WARNING)
