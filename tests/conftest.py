"""A copy of the project, run once in the `test` environment, for the tests that look at a run."""

import shutil
from pathlib import Path

import pytest

from projects import Project, make_project


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One whole run; tests read it and leave it as it is."""
    project = make_project(tmp_path_factory.mktemp("finished") / "project")
    outcome = project.run()
    assert outcome.returncode == 0, outcome.stderr
    return project


@pytest.fixture
def project_copy(finished_run: Project, tmp_path: Path) -> Project:
    """A copy of the finished run, to damage."""
    shutil.copytree(finished_run.root, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")
