"""`python -m superstar` is `kedro` inside the project."""

from kedro.framework.cli.cli import main

if __name__ == "__main__":
    main()
