"""Kedro settings: hooks and how configuration is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kedro.utils import find_kedro_project
from omegaconf.resolvers import oc

from superstar.decoding import user_path
from superstar.hooks import InputHook, LockHook, ProvenanceHook, StageHook


def project_path(relative: str) -> str:
    """A path inside the project, wherever below it the command was given."""
    root = find_kedro_project(Path.cwd()) or Path(__file__).resolve().parents[2]
    return str(Path(root) / relative)


def from_project(given: Any) -> Any:
    """A path that configuration gives: relative ones start at the project.

    Of paths by name, and of a list of paths, each. What is no path stays as it is, so that the
    dataset that takes it can say so.
    """
    if isinstance(given, Mapping):
        return {name: from_project(each) for name, each in given.items()}
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [from_project(each) for each in given]
    return project_path(str(Path(given).expanduser())) if isinstance(given, str) else given


def given_path(path: str | None) -> str:
    """A path that a user gave: `~` is the home, links are followed, where the command ran counts.

    Nothing given is a path too: whether one is needed, the run itself tells.
    """
    return str(user_path("" if path is None else str(path)))


def beside(path: str, ending: str) -> str:
    """A file beside another file or folder: its path, and an ending of its name."""
    return f"{Path(path)}{ending}"


HOOKS = (StageHook(), ProvenanceHook(), InputHook(), LockHook())

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft"},
    "custom_resolvers": {
        "project_path": project_path,
        "from_project": from_project,
        "beside": beside,
        "given_path": given_path,
        "oc.env": oc.env,
    },
}
