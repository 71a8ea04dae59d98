"""Put the surrogate sets that a run made of CIFAR-100 beside the figures that were released."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.agreement.comparison import Cells, compare_distances, compare_states
from benchmarks.agreement.measuring import Measured, distances_of, points_of, states_of
from benchmarks.agreement.released import SEVERITIES, STATE_SEVERITY, read_released
from benchmarks.agreement.setups import Setup, cifar100_setup
from benchmarks.agreement.tables import counted, listed, markdown, missed
from superstar.corruptions import SURROGATES
from superstar.datasets import ImageSetDataset, PartitionedImageSets
from superstar.errors import InputError

BENCHMARK = "cifar100"


def compare(data: Path, reference: Path) -> tuple[Cells, Cells]:
    """States at severity 5 and distances of a run's surrogates beside the release's.

    A tenth of the images stands on both sides of a distance, as there.

    Args:
        data: the run's folder `data`.
        reference: the folder of the released CSV.

    Raises:
        InputError: no such run, or files that are missing.
    """
    clean = ImageSetDataset(
        filepath=str(data / "03_primary" / BENCHMARK / "clean" / "validation_design.safetensors")
    ).load()
    sets = PartitionedImageSets(path=str(data / "05_model_input" / BENCHMARK / "surrogates")).load()
    setup: Setup = cifar100_setup(clean.images)
    points = points_of(setup, clean.images)
    states, distances = {}, {}
    for surrogate in SURROGATES:
        for severity in SEVERITIES:
            images = sets[f"{surrogate}/{severity}"]().images
            distances[surrogate, severity] = distances_of(setup, points, images)
            if severity == STATE_SEVERITY:
                states[surrogate] = states_of(setup, images)
    measured = Measured(states_of(setup, clean.images), states, {}, distances)
    released = read_released(reference, [BENCHMARK])
    return (
        compare_states(measured, released, BENCHMARK),
        compare_distances(measured, released, BENCHMARK),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agreement.of_run", description=__doc__
    )
    parser.add_argument("data", type=Path, help="the run's folder data/")
    parser.add_argument("reference", type=Path, help="folder of the released CSV")
    given = parser.parse_args(arguments)
    try:
        cells = compare(given.data, given.reference)
    except InputError as error:
        sys.exit(f"error: {error}")
    kinds = ("state features, severity 5", "distances")
    rows = [counted(BENCHMARK, kind, found) for kind, found in zip(kinds, cells, strict=True)]
    print(markdown(pd.DataFrame(rows)))
    for kind, found in zip(kinds, cells, strict=True):
        if off := missed(found):
            print(f"{kind}, not within: {listed(off)}")


if __name__ == "__main__":
    main()
