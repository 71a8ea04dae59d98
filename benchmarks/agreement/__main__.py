"""Compare our state features and distances with the figures that the paper's authors released."""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.agreement.comparison import REWEIGHTED, reweight
from benchmarks.agreement.figure import shifts_figure
from benchmarks.agreement.measuring import measure
from benchmarks.agreement.released import WITH_SHIFTS, Released, read_released
from benchmarks.agreement.report import Results, compose
from benchmarks.agreement.setups import Setup, cifar100, imagenet, imagenet_files
from benchmarks.agreement.shifts import (
    check_extrapolation,
    measure_anew,
    measure_shifts,
    unexplained,
)
from benchmarks.agreement.shifts_report import FIGURE
from superstar.errors import InputError


def run(
    reference: Path, imagenet_folder: Path | None, cifar100_folder: Path | None, output: Path
) -> None:
    """Measure the data sets that are given, write the page and, below it, its figure.

    Raises:
        InputError: neither data set is given, or a folder, file or figure is missing.
    """
    folders = {"imagenet": imagenet_folder, "cifar100": cifar100_folder}
    given = [name for name, folder in folders.items() if folder is not None]
    if not given:
        raise InputError("name a data set: --imagenet FOLDER, --cifar100 FOLDER or both")
    if output.is_dir():
        raise InputError(f"{output} is a folder: --output takes the name of a file")
    released = read_released(reference, given)
    setups = []
    if imagenet_folder is not None:
        setups.append(imagenet(imagenet_files(imagenet_folder)))
    if cifar100_folder is not None:
        setups.append(cifar100(cifar100_folder))
    results = [_results(setup, released) for setup in setups]
    page = compose(results, released)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")
    for result in results:
        if result.shifts:
            path = output.parent / FIGURE
            path.parent.mkdir(exist_ok=True)
            shifts_figure(result.shifts, released, result.setup.benchmark).savefig(path, dpi=110)


def _results(setup: Setup, released: Released) -> Results:
    name = setup.benchmark
    measured = measure(setup)
    reweighting = reweight(measured, released, name) if name in REWEIGHTED else None
    weights = None if reweighting is None else reweighting.weights
    shifts = measure_shifts(setup, weights) if name in WITH_SHIFTS else {}
    anew = measure_anew(setup, weights, unexplained(shifts, released, name))
    return Results(setup, measured, reweighting, shifts, anew, check_extrapolation(setup))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    parser.add_argument("--reference", type=Path, required=True, help="folder of the released CSV")
    parser.add_argument("--imagenet", type=Path, help="folder of <wnid>/ folders of images")
    parser.add_argument("--cifar100", type=Path, help="folder of the Hugging Face hub's parquet")
    parser.add_argument("--output", type=Path, default=Path("docs/agreement.md"), help="the page")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        run(given.reference, given.imagenet, given.cifar100, given.output)
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
