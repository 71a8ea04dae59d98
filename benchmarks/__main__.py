"""Time the core of SuperStAR beside named peers and write docs/benchmarks.md."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.cases import CASES
from benchmarks.machine import facts, measure_peaks
from benchmarks.peers import Processes
from benchmarks.report import report
from benchmarks.session import measure_size
from superstar.images import SMALLEST_SIDE


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--images", type=int, default=1000, help="in a batch, at least 8")
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 32], help="sides in pixels")
    parser.add_argument("--repeats", type=int, default=3, help="of calls that are not long")
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES, metavar="NAME")
    parser.add_argument(
        "--output", default="docs/benchmarks.md", help="file to write; empty to print only"
    )
    given = parser.parse_args(arguments)
    if given.images < 8 or given.repeats < 1:
        parser.error("at least 8 images and 1 repeat are needed")
    if min(given.sizes) < SMALLEST_SIDE:
        parser.error(f"images have sides of at least {SMALLEST_SIDE} pixels")
    output = Path(given.output)
    if given.output and (output.is_dir() or not output.parent.is_dir()):
        parser.error(f"--output: {output} cannot be a file")

    console = Console(stderr=True)
    with Processes() as processes, console.status("starting") as status:
        peaks = measure_peaks()
        sizes = [
            measure_size(
                size,
                given.images,
                given.repeats,
                given.only,
                processes,
                lambda what, size=size: status.update(f"{size}x{size} {what}"),
            )
            for size in given.sizes
        ]
    text = report(facts(), peaks, sizes, given.repeats)
    print(text)
    if given.output:
        output.write_text(text)


if __name__ == "__main__":
    main()
