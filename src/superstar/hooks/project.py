"""A session belongs to its project, wherever the process stands."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import yaml
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import LOGGING, configure_logging


class ProjectHook:
    """Binds configuration and logging to the session's project."""

    @hook_impl(wrapper=True, tryfirst=True)
    def after_context_created(self, context: KedroContext) -> Generator[None, Any, Any]:
        """Kedro itself looks for conf/logging.yml in the working directory alone."""
        loader: Any = context.config_loader
        loader.project = context.project_path
        path = Path(loader.conf_source, "logging.yml")
        if "KEDRO_LOGGING_CONFIG" not in os.environ and path.is_file():
            wanted = yaml.safe_load(path.read_text(encoding="utf-8"))
            if LOGGING.data != wanted:
                configure_logging(wanted)
        return (yield)
