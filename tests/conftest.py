"""A copy of the project, run once in the `test` environment, for the tests that look at a run."""

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from projects import Project, make_project


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
