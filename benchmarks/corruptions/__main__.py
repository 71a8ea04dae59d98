"""Compare our benchmark shifts with those of imagecorruptions-imaug on the same images."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.corruptions.comparing import (
    FIXED,
    SEVERITIES,
    SINGLE_BATCHES,
    Equality,
    Likeness,
    Speed,
    equality,
    likeness,
    single_images,
    speed,
)
from benchmarks.corruptions.images import PHOTOS, load_images
from benchmarks.corruptions.peer import Peer, require_peer
from benchmarks.corruptions.report import Measured, compose, misses
from benchmarks.corruptions.sheet import draw_sheet
from benchmarks.corruptions.whole import time_all
from benchmarks.machine import facts
from superstar.corruptions import SHIFTS
from superstar.errors import InputError


def run(
    source: str,
    count: int,
    draws: int,
    single_draws: int,
    whole: int,
    names: Sequence[str],
    console: Console,
) -> Measured:
    """Compare the named shifts.

    Raises:
        InputError: the peer or the images are missing.
    """
    require_peer()
    images = load_images(source, count)
    equal: dict[tuple[str, int], Equality] = {}
    alike: dict[tuple[str, int], Likeness] = {}
    speeds: dict[str, Speed] = {}
    with Peer(images) as peer, console.status("starting") as status:
        for name in names:
            status.update(f"{name}: speed")
            speeds[name] = speed(images, peer, name)
        for name in names:
            for severity in SEVERITIES:
                status.update(f"{name} {severity}")
                if name in FIXED:
                    equal[name, severity] = equality(images, peer, name, severity)
                else:
                    alike[name, severity] = likeness(images, peer, name, severity, range(draws))
        status.update("what misses, on single images")
        single = single_images(images, peer, misses(alike), single_draws, first=draws)
    with console.status(f"all sets of {whole} images"):
        times = time_all(load_images(source, whole), names)
    return Measured(len(images), draws, equal, alike, single_draws, single, speeds, times)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corruptions", description=__doc__)
    parser.add_argument(
        "--images",
        default=PHOTOS,
        metavar="FOLDER",
        help=f"with JPEG files; {PHOTOS}, the default, for windows of the embedded photographs",
    )
    parser.add_argument("--count", type=int, default=50, help="images, at least 2")
    parser.add_argument("--draws", type=int, default=6, help="of random shifts, at least 2")
    parser.add_argument(
        "--single-draws",
        type=int,
        default=100 * SINGLE_BATCHES,
        metavar="DRAWS",
        help="of single images, of what misses in the draws of all of them",
    )
    parser.add_argument("--whole", type=int, default=500, help="images of which all sets are made")
    parser.add_argument("--only", nargs="+", choices=SHIFTS, default=SHIFTS, metavar="NAME")
    parser.add_argument("--output", type=Path, help="file to write beside printing")
    parser.add_argument("--sheet", type=Path, help="picture to write of a photograph, all shifted")
    given = parser.parse_args(arguments)
    if given.count < 2 or given.draws < 2 or given.whole < 1:
        parser.error("at least 2 images, 2 draws and a whole of 1 image are needed")
    if given.single_draws < SINGLE_BATCHES or given.single_draws % SINGLE_BATCHES:
        parser.error(f"--single-draws takes multiples of {SINGLE_BATCHES}")
    try:
        measured = run(
            given.images,
            given.count,
            given.draws,
            given.single_draws,
            given.whole,
            given.only,
            Console(stderr=True),
        )
    except InputError as error:
        sys.exit(f"error: {error}")
    figure = None
    if given.sheet:
        beside = given.output.parent if given.output else Path()
        figure = Path(os.path.relpath(given.sheet, beside)).as_posix()
    page = compose(facts(), given.images, measured, figure)
    print(page, end="")
    if given.sheet:
        draw_sheet(given.sheet)
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
