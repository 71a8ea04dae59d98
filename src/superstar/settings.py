"""Kedro settings: hooks and how configuration is read.

Kedro imports this module before any plugin, and for this project alone.
"""

from superstar.configuration import ProjectConfigLoader
from superstar.hooks import (
    InputHook,
    LockHook,
    ProjectHook,
    ProvenanceHook,
    StageHook,
    TrackingHook,
)
from superstar.startup import prepare

prepare()

HOOKS = (
    StageHook(),
    ProvenanceHook(),
    InputHook(),
    LockHook(),
    TrackingHook(),
    ProjectHook(),
)

CONFIG_LOADER_CLASS = ProjectConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft"},
    "config_patterns": {"mlflow": ["mlflow*", "mlflow*/**", "**/mlflow*"]},
}
