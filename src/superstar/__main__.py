"""`superstar` or `python -m superstar`: `kedro` inside the project, its commands elsewhere."""

import sys
from pathlib import Path


def main() -> None:
    """Run a command; elsewhere the working directory takes the project's place."""
    try:
        from kedro.framework.cli.cli import main as kedro
    except ModuleNotFoundError as error:
        if error.name != "kedro":
            raise
        sys.exit("error: the commands need Kedro and MLflow: pip install 'superstar[pipelines]'")
    from kedro.framework.project import configure_project
    from kedro.framework.startup import _get_project_metadata
    from kedro.utils import find_kedro_project

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
