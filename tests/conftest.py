"""A copy of the project, run once in the `test` environment, for the tests that look at a run."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from projects import Project, make_project

THREADS = torch.get_num_threads()


def pytest_collection_finish() -> None:
    """Leave all that was imported out of every search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _as_many_threads_as_before() -> Iterator[None]:
    """Numba's first parallel loop gives PyTorch a thread for each core, which then wait busily."""
    yield
    if torch.get_num_threads() != THREADS:
        torch.set_num_threads(THREADS)


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One whole run for all of pytest's workers; tests read it and start nothing in it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    project = Project(shared / "finished")
    with FileLock(shared / "finished.lock"):
        if not project.root.exists():
            outcome = make_project(project.root).run()
            assert outcome.returncode == 0, outcome.stderr
    assert project.data("08_reporting/report.md").exists(), "the run for all workers failed"
    return project


def _copy(project: Project, folder: Path) -> Project:
    shutil.copytree(project.root, folder / "project", symlinks=True)
    return Project(folder / "project")


@pytest.fixture
def project_copy(finished_run: Project, tmp_path: Path) -> Project:
    """A copy of the finished run, to damage."""
    return _copy(finished_run, tmp_path)


@pytest.fixture(scope="module")
def module_copy(finished_run: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the finished run for commands that change nothing in it."""
    return _copy(finished_run, tmp_path_factory.mktemp("copy"))
