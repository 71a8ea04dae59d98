"""Measure memory and time of the evaluation against the size of a shifted set."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.large_sets.inputs import clean_images, make_supervisor, write_shifted
from benchmarks.large_sets.measuring import Task, fresh, measure_cell, measure_parts
from benchmarks.large_sets.report import Measured, compose
from benchmarks.machine import facts
from superstar.classifiers import check_named
from superstar.control import Supervisor
from superstar.errors import InputError
from superstar.images import SMALLEST_SIDE


def run(
    images: Path,
    supervisor: Path | None,
    classifier: str,
    sizes: Sequence[int],
    pixels: int,
    batch_size: int,
    parts: int,
    console: Console,
) -> Measured:
    """Measure the cells, then their parts.

    Args:
        images: folder of clean images by class.
        supervisor: folder of a run's, or None to make one.
        classifier: as `load_named` takes it.
        sizes: of the sets, rising.
        pixels: side of the images.
        batch_size: images that the supervisor sees.
        parts: images over which the parts are measured.
        console: shows what is being done.

    Raises:
        InputError: no such images, supervisor or classifier, or a supervisor for other images.
    """
    check_named(classifier)
    if supervisor is not None:
        _check(supervisor, pixels)
    clean = clean_images(images, pixels)
    with TemporaryDirectory() as scratch, console.status("the shifted set") as status:
        shifted = Path(scratch) / "shifted"
        write_shifted(clean, shifted)
        if supervisor is None:
            made = Path(scratch) / "supervisor"
            make_supervisor(clean).save(made)
        task = Task(shifted, supervisor or made, classifier, batch_size)
        costs = []
        for size in sizes:
            status.update(f"{size} images")
            costs.append(fresh(measure_cell, task, size))
        status.update("parts")
        apart = fresh(measure_parts, task, parts)
    return Measured(pixels, len(clean), classifier, supervisor is not None, costs, apart)


def _check(folder: Path, pixels: int) -> None:
    supervisor = Supervisor.load(folder)
    if supervisor.image_size != (pixels, pixels):
        height, width = supervisor.image_size
        raise InputError(f"{folder} takes images of {height}x{width} pixels, not {pixels}x{pixels}")
    if supervisor.denoiser is None:
        raise InputError(f"{folder} has no denoiser, whose work is a part of what is measured")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_sets", description=__doc__)
    parser.add_argument(
        "--images", type=Path, required=True, metavar="FOLDER", help="with <class>/<file>"
    )
    parser.add_argument(
        "--supervisor",
        type=Path,
        metavar="FOLDER",
        help="of a run (data/06_models/imagenet/supervisor); by default one is made",
    )
    parser.add_argument(
        "--classifier", default="efficientnet_lite0", help="as classifier_training.published names"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[500, 2000, 8000], help="of the sets, in images"
    )
    parser.add_argument("--pixels", type=int, default=224, help="side of the images")
    parser.add_argument("--batch", type=int, default=100, help="images that the supervisor sees")
    parser.add_argument("--parts", type=int, default=200, help="images to measure the parts over")
    parser.add_argument("--output", type=Path, help="file to write beside printing")
    given = parser.parse_args(arguments)
    sizes = sorted(set(given.sizes))
    if len(sizes) < 2 or min(*sizes, given.batch, given.parts) < 1:
        parser.error("at least two sizes, a batch of 1 image and parts of 1 image are needed")
    if given.pixels < SMALLEST_SIDE:
        parser.error(f"images have sides of at least {SMALLEST_SIDE} pixels")
    if given.output and (given.output.is_dir() or not given.output.parent.is_dir()):
        parser.error(f"--output: {given.output} cannot be a file")
    try:
        measured = run(
            given.images,
            given.supervisor,
            given.classifier,
            sizes,
            given.pixels,
            given.batch,
            given.parts,
            Console(stderr=True),
        )
    except InputError as error:
        sys.exit(f"error: {error}")
    page = compose(facts(), measured)
    print(page, end="")
    if given.output:
        given.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
