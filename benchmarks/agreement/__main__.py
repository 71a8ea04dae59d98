"""Compare our state features and distances with the figures that the paper's authors released."""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.agreement.measuring import measure
from benchmarks.agreement.released import read_released
from benchmarks.agreement.report import compose
from benchmarks.agreement.setups import cifar100, imagenet, imagenet_files
from superstar.errors import InputError


def run(
    reference: Path, imagenet_folder: Path | None, cifar100_folder: Path | None, output: Path
) -> None:
    """Measure the data sets that are given and write the page.

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
    page = compose([(setup, measure(setup)) for setup in setups], released)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")


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
