"""What small batches cost the controller `calibrated`: false alarms, and the gain that is kept."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from kedro.io import DataCatalog

from superstar.classifiers import accuracy
from superstar.configuration import ProjectConfigLoader
from superstar.control.supervisor import CALIBRATED
from superstar.errors import InputError
from superstar.images import stream
from superstar.measures.bands import band_histograms
from superstar.pipelines.pages import table
from superstar.settings import CONFIG_LOADER_ARGS

SIZES = (1, 10, 25, 50, 100, 250)
DRAWS = 2000
TRIALS = 3
SEVERITIES = (2, 4)
SHIFTS = ("gaussian_noise", "shot_noise", "impulse_noise", "contrast")


def false_alarms(catalog: DataCatalog, draws: int) -> pd.DataFrame:
    """Of batches of clean test images, how many pass the gate, in percent, by their size."""
    gate, ruler = (getattr(catalog.load("supervisor").calibrated, n) for n in ("gate", "ruler"))
    histograms = band_histograms(catalog.load("clean_test").batch())
    rows = []
    for size in (size for size in SIZES if size <= len(histograms)):
        rng = stream(0, "false alarms", size)
        passed = [
            ruler.reading(histograms[rng.choice(len(histograms), size, False)].mean(0), size)
            > gate.threshold(size)
            for _ in range(draws)
        ]
        rows.append({"batch": size, "rate set": 100 * gate.rate, "passed": 100 * np.mean(passed)})
    return pd.DataFrame(rows)


def gains(catalog: DataCatalog, shifts: Sequence[str], sizes: Sequence[int]) -> pd.DataFrame:
    """Gain of `standard` on whole sets, in points, by the size of the batch that was seen."""
    supervisor, classifier = catalog.load("supervisor"), catalog.load("classifier_standard")
    sets, rows = catalog.load("shifted_sets"), []
    for shift in shifts:
        found: dict[int, list[float]] = {size: [] for size in sizes}
        for severity in SEVERITIES:
            images = sets.load(shift, severity)
            whole, labels = images.batch(), np.array(images.labels)
            before = accuracy(classifier, whole, labels)
            for size, trial in ((size, trial) for size in sizes for trial in range(TRIALS)):
                rng = stream(0, "batch", shift, severity, size, trial)
                drawn = rng.permutation(len(images))[:size]
                plan = supervisor.recover(images.batch(drawn), trial, CALIBRATED).plan
                after = accuracy(classifier, plan.apply(whole), labels)
                found[size].append(100 * (after - before))
        rows.append({"shift": shift, **{f"batch {n}": np.mean(found[n]) for n in sizes}})
    return pd.DataFrame(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables of a finished run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch_sizes", description=__doc__)
    parser.add_argument("--project", type=Path, default=Path.cwd(), help="where the run is")
    parser.add_argument("--env", default="local", help="its environment")
    parser.add_argument("--shifts", nargs="+", default=SHIFTS)
    parser.add_argument("--sizes", nargs="+", type=int, default=(10, 25, 250))
    parser.add_argument("--draws", type=int, default=DRAWS, help="of clean batches of each size")
    given = parser.parse_args(arguments)
    conf = str(given.project.resolve() / "conf")
    loader = ProjectConfigLoader(conf, env=given.env, **CONFIG_LOADER_ARGS)
    catalog = DataCatalog.from_config(loader["catalog"])
    if not catalog.exists("supervisor"):
        raise SystemExit(f"error: there is no finished run of environment {given.env}: make run")
    try:
        print(table(false_alarms(catalog, given.draws)), end="\n\n")
        print(table(gains(catalog, given.shifts, given.sizes), digits=1))
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
