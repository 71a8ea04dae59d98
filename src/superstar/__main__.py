"""`superstar` or `python -m superstar`: `kedro` inside the project, its commands elsewhere."""

from pathlib import Path

from kedro.framework.cli.cli import main as kedro
from kedro.framework.project import configure_project
from kedro.framework.startup import _get_project_metadata
from kedro.utils import find_kedro_project


def main() -> None:
    """Run a command; elsewhere the working directory takes the project's place."""
    package = "superstar"
    project = find_kedro_project(Path.cwd())
    if project is not None and _get_project_metadata(project).package_name == package:
        kedro()
    else:
        configure_project(package)
        from superstar.cli import cli

        cli(prog_name=package)


if __name__ == "__main__":
    main()
