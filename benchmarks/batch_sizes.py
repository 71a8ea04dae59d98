"""What small and mixed batches cost: false alarms, the gain that is kept, harm to clean images."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from kedro.io import DataCatalog
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.finished_run import add_arguments, open_run
from superstar.actions import Plan
from superstar.classifiers import accuracy
from superstar.errors import InputError
from superstar.images import stream
from superstar.measures.bands import band_histograms
from superstar.pipelines.pages import table

SIZES = (1, 10, 25, 50, 100, 250)
DRAWS = 2000
TRIALS = 3
SEVERITIES = (2, 4)
WINDOW = 50
MIXED_SEVERITY = 3
SHIFTS = ("gaussian_noise", "shot_noise", "impulse_noise", "contrast")


def false_alarms(catalog: DataCatalog, draws: int) -> pd.DataFrame:
    """Of batches of clean test images, how many pass the gate, in percent, by their size."""
    gate, ruler = (getattr(catalog.load("supervisor").calibrated, n) for n in ("gate", "ruler"))
    # The clean set of the benchmark went through JPEG where the run's images do.
    histograms = band_histograms(catalog.load("shifted_sets").load("none").batch())
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
    """Gain of `standard` on whole sets, in points, by controller and size of the batch seen.

    Rows are shifts, clean images (`none`) among them, where what is lost is harm.
    """
    whole = _Whole(catalog)
    rows = []
    for shift in ("none", *shifts):
        found: dict[tuple[str, int], list[float]] = {}
        for severity in SEVERITIES if shift != "none" else (None,):
            images, labels = whole.set(shift, severity)
            for size, trial in ((size, trial) for size in sizes for trial in range(TRIALS)):
                rng = stream(0, "batch", shift, severity or 0, size, trial)
                batch = images[rng.permutation(len(images))[:size]]
                for controller, plan in whole.plans(batch, trial):
                    gained = whole.gain(plan, images, labels)
                    found.setdefault((controller, size), []).append(gained)
        rows += [
            {"controller": controller, "shift": shift}
            | {f"batch {size}": np.mean(found[controller, size]) for size in sizes}
            for controller in whole.supervisor.controllers
        ]
    return pd.DataFrame(rows)


def mixed(catalog: DataCatalog, shifts: Sequence[str]) -> pd.DataFrame:
    """Windows of which one half is shifted and the other clean, or shifted otherwise.

    The plan that such a window gets is applied to the whole sets that its halves come from.

    Returns:
        A row a controller and pair of sets: what each gains, in points.
    """
    whole, rows = _Whole(catalog), []
    pairs = [("none", shift) for shift in shifts] + list(combinations(shifts, 2))
    for pair in pairs:
        sets = [whole.set(name, None if name == "none" else MIXED_SEVERITY) for name in pair]
        found: dict[str, list[list[float]]] = {}
        for trial in range(TRIALS):
            rng = stream(0, "mixed", *pair, trial)
            half = WINDOW // 2
            window = torch.cat([images[rng.permutation(len(images))[:half]] for images, _ in sets])
            for controller, plan in whole.plans(window, trial):
                gained = [whole.gain(plan, *each) for each in sets]
                found.setdefault(controller, []).append(gained)
        for controller, gained in found.items():
            first, second = np.mean(gained, axis=0)
            row = {"controller": controller, "first half": pair[0], "second half": pair[1]}
            rows.append({**row, "first gains": first, "second gains": second})
    return pd.DataFrame(rows)


class _Whole:
    """A run's sets, its supervisor, and `standard`."""

    def __init__(self, catalog: DataCatalog) -> None:
        self.supervisor = catalog.load("supervisor")
        self.classifier = catalog.load("classifier_standard")
        self.sets = catalog.load("shifted_sets")

    def set(self, shift: str, severity: int | None) -> tuple[Tensor, NDArray[np.int64]]:
        images = self.sets.load(shift, severity)
        return images.batch(), np.array(images.labels)

    def plans(self, batch: Tensor, seed: int) -> Iterator[tuple[str, Plan]]:
        for controller in self.supervisor.controllers:
            yield controller, self.supervisor.recover(batch, seed, controller).plan

    def gain(self, plan: Plan, images: Tensor, labels: NDArray[np.int64]) -> float:
        if not plan.names:
            return 0.0
        before = accuracy(self.classifier, images, labels)
        return 100 * (accuracy(self.classifier, plan.apply(images), labels) - before)


def draw(found: pd.DataFrame) -> Figure:
    """Gain over the shifts and change on clean images, by the size of the batch that was seen."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    sizes = [int(name.split()[1]) for name in found.columns if name.startswith("batch")]
    parts = (("mean gain over the shifts", "shift != 'none'"), ("clean images", "shift == 'none'"))
    for axis, (title, rows) in zip(figure.subplots(1, 2), parts, strict=True):
        for controller, part in found.query(rows).groupby("controller"):
            means = part[[f"batch {size}" for size in sizes]].mean()
            axis.plot(sizes, means, "o-", label=controller)
        axis.set_xscale("log")
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
        axis.axhline(0, color="0.6", lw=0.8)
        axis.set(title=title, xlabel="images that the plan was chosen on", ylabel="points")
        axis.grid(alpha=0.3)
        axis.legend()
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of a finished run, and draw the second."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch_sizes", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--shifts", nargs="+", default=SHIFTS)
    parser.add_argument("--sizes", nargs="+", type=int, default=(10, 25, 50, 100, 250))
    parser.add_argument("--figure", type=Path, help="where to draw gain against size")
    parser.add_argument("--draws", type=int, default=DRAWS, help="of clean batches of each size")
    given = parser.parse_args(arguments)
    catalog, _ = open_run(given.project, given.env)
    try:
        print(table(false_alarms(catalog, given.draws)), end="\n\n")
        found = gains(catalog, given.shifts, given.sizes)
        print(table(found, digits=1), end="\n\n")
        if given.figure:
            draw(found).savefig(given.figure, dpi=110)
        print(table(mixed(catalog, given.shifts), digits=1))
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
