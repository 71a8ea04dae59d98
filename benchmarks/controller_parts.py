"""Where the gain of the controller `calibrated` comes from: its parts, added one at a time."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from kedro.io import DataCatalog
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from benchmarks.finished_run import add_arguments, open_run
from superstar.actions import Plan
from superstar.classifiers import predict
from superstar.control import Supervisor
from superstar.control.calibrated import Calibrated
from superstar.control.candidates import Fitted, fit_candidates
from superstar.control.trials import LINE_BLUR, name_of, shift_by, surrogate_shifts
from superstar.control.worth import Worth
from superstar.errors import InputError
from superstar.images import stream
from superstar.jpeg import as_it_comes
from superstar.measures import Distance
from superstar.measures.rulers import PointRuler
from superstar.parameters import BenchmarkGeneration
from superstar.pipelines.pages import table

SEVERITIES = (2, 4)
BATCH = 250
DEPTH = 3
RIGHT = "accuracy"
WHOLE, ORACLE = "+ choice by expected gain (calibrated)", "oracle of accuracy, extended library"

Right = Callable[[Tensor], NDArray[np.bool_]]
"""Which of a set's images the classifier gets right."""
Chooser = Callable[[Tensor, NDArray[np.int64]], Plan]
"""A plan for a batch of images, with their labels, which the oracle alone looks at."""
Set = tuple[str, Tensor, NDArray[np.int64]]
"""A shift, images, and labels."""


class Parts:
    """The supervisor's controller with parts left out.

    Args:
        supervisor: which holds both controllers.
        classifier: whose accuracy counts.
        candidates: of the extended library, all that calibration tried.
        clean: images that no margin below was learned from.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        classifier: nn.Module,
        candidates: Sequence[str],
        clean: Tensor,
    ) -> None:
        assert supervisor.calibrated is not None
        self.supervisor, self.classifier, self.clean = supervisor, classifier, clean
        self.whole: Calibrated = supervisor.calibrated
        self.candidates = list(candidates)
        self.own = [name for name in supervisor.actions if name != "nop"]
        distance = Distance.of(supervisor.distance)
        self.paper = PointRuler(distance, supervisor.projection, supervisor.validation_points)

    def variants(self) -> Mapping[str, Chooser]:
        """By name, in the order in which parts join."""
        limits = self.whole.limits
        lax = replace(limits, least_fall=0.0, most_rise=1e9, least_gain=0.0)
        margin = max(self._falls_on_clean(self.candidates))
        alike = {name: Worth(margin, (0.0, 1.0), (1e-6, 1.0)) for name in self.candidates}
        open_gate = replace(self.whole.gate, rate=1 - 1e-9)
        by_fall = {
            name: replace(worth, falls=(0.0, 1.0), gains=(limits.least_gain + 1e-6, 1000.0))
            for name, worth in self.whole.worth.items()
        }
        ruler = replace(self.whole, worth=alike, limits=lax)
        return {
            "the paper's library and distance, greatest fall": self._by_distance(self.own),
            "+ extended library": self._by_distance(self.candidates),
            "+ ruler": partial(self._search, replace(ruler, gate=open_gate)),
            "+ gate": partial(self._search, ruler),
            "+ margins and limits": partial(self._search, replace(self.whole, worth=by_fall)),
            WHOLE: partial(self._search, self.whole),
            ORACLE: self._oracle,
        }

    def right(self, images: Tensor, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which images the classifier gets right."""
        return np.asarray(predict(self.classifier, images, precision="bfloat16").numpy() == labels)

    def _fits(self, images: Tensor, names: Sequence[str]) -> Iterator[tuple[str, Fitted]]:
        return fit_candidates(images, names, self.whole.appearance, self.supervisor.denoiser)

    def _falls_on_clean(self, names: Sequence[str]) -> list[float]:
        ruler, count = self.whole.ruler, len(self.clean)
        before = ruler.read(self.clean)
        fits = self._fits(self.clean, names)
        return [before - float(ruler.aggregate(f.bands(ruler, count))) for _, f in fits]

    def _search(self, controller: Calibrated, images: Tensor, labels: object) -> Plan:
        return controller.choose(images, self.supervisor.denoiser).plan

    def _by_distance(self, names: Sequence[str]) -> Chooser:
        """The greatest fall, then the next, while more than any on clean images."""
        read = self.paper.read
        first = read(self.clean)
        falls = [first - read(fitted.images) for _, fitted in self._fits(self.clean, names)]
        margin = max(0.0, *falls)
        return lambda images, labels: self._greedy(names, images, lambda some: -read(some), margin)

    def _oracle(self, images: Tensor, labels: NDArray[np.int64]) -> Plan:
        return self._greedy(
            self.candidates, images, lambda some: float(self.right(some, labels).mean()), 0.0
        )

    def _greedy(
        self, names: Sequence[str], images: Tensor, good: Callable[[Tensor], float], margin: float
    ) -> Plan:
        steps: list = []
        value = good(images)
        for _ in range(DEPTH):
            tried = [(good(f.images), f) for _, f in self._fits(images, names)]
            best, fitted = max(tried, key=lambda pair: pair[0])
            if best <= value + margin:
                break
            steps += fitted.corrections
            images = Plan(fitted.corrections, self.supervisor.denoiser).apply(images)
            value = best
        return Plan(tuple(steps), self.supervisor.denoiser)


def surrogates(catalog: DataCatalog, strengths: Mapping[str, Sequence[float]]) -> Iterator[Set]:
    """Batches of validation images under surrogates, single and in pairs, drawn anew."""
    design, lines = catalog.load("validation_design"), strengths[LINE_BLUR]
    scale, quality = (catalog.load(f"params:{name}") for name in ("scale", "jpeg_quality"))
    names = [name for name in strengths if name != LINE_BLUR]
    for cell in surrogate_shifts(names, SEVERITIES, SEVERITIES, len(lines)):
        drawn = design.take(stream(1, "parts", name_of(cell)).permutation(len(design))[:BATCH])
        images = shift_by(drawn.batch(), cell, strengths, scale, seed=1)
        yield name_of(cell), as_it_comes(images, quality), drawn.labels


def tests(catalog: DataCatalog) -> Iterator[Set]:
    """The run's shifted test sets."""
    sets = catalog.load("shifted_sets")
    given = BenchmarkGeneration.model_validate(catalog.load("params:benchmark_generation"))
    for shift in ("none", *given.shifts):
        for severity in SEVERITIES if shift != "none" else (None,):
            images = sets.load(shift, severity)
            yield shift, images.batch(), np.asarray(images.labels)


def gains(parts: Parts, sets: Iterator[Set], count: int) -> pd.DataFrame:
    """A row a set: its shift, accuracy, and each variant's gain by a batch of it, in points."""
    rows = []
    variants = parts.variants()
    for shift, images, labels in track(sets, "sets", total=count, console=Console(stderr=True)):
        drawn = np.sort(stream(2, "parts", shift).permutation(len(images))[:BATCH])
        before = parts.right(images, labels).mean()
        row: dict[str, str | float] = {"shift": shift, RIGHT: 100 * float(before)}
        for name, choose in variants.items():
            plan = choose(images[drawn], labels[drawn])
            after = parts.right(plan.apply(images), labels).mean() if plan.names else before
            row[name] = 100 * float(after - before)
        rows.append(row)
    return pd.DataFrame(rows)


def summarise(found: pd.DataFrame) -> pd.DataFrame:
    """A row a variant: mean gain, the worst shift's, and that on clean images, in points."""
    by_shift = found.drop(columns=RIGHT).groupby("shift").mean()
    shifted = by_shift.drop(index="none")
    return pd.DataFrame(
        {
            "parts": name,
            "mean gain": shifted[name].mean(),
            "worst shift": shifted[name].min(),
            "which": shifted[name].idxmin().replace("_", " "),
            "clean": by_shift.loc["none", name],
        }
        for name in shifted
    )


def beyond(found: pd.DataFrame) -> pd.DataFrame:
    """A row a shift: points lost, what `calibrated` and the oracle give back, what neither can."""
    by_shift = found.groupby("shift", sort=False).mean()
    shifted = by_shift.drop(index="none")
    lost = by_shift.loc["none", RIGHT] - shifted[RIGHT]
    rows = pd.DataFrame(
        {
            "shift": shifted.index.str.replace("_", " "),
            "lost": lost,
            "calibrated": shifted[WHOLE],
            "oracle": shifted[ORACLE],
            "beyond the library": lost - shifted[ORACLE],
        }
    )
    mean = rows.mean(numeric_only=True).to_frame().T.assign(shift="mean")
    return pd.concat([rows, mean], ignore_index=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of a finished run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.controller_parts", description=__doc__
    )
    add_arguments(parser)
    given = parser.parse_args(arguments)
    catalog, parameters = open_run(given.project, given.env)
    for name in ("scale", "jpeg_quality", "benchmark_generation"):
        catalog[f"params:{name}"] = parameters[name]
    calibration = parameters["calibration"]
    strengths = {**catalog.load("surrogate_strengths"), LINE_BLUR: calibration["line_blur"]}
    try:
        clean = catalog.load("clean_train").take(slice(BATCH)).batch()
        clean = as_it_comes(clean, parameters["jpeg_quality"])
        supervisor, classifier = catalog.load("supervisor"), catalog.load("classifier_standard")
        parts = Parts(supervisor, classifier, calibration["candidates"], clean)
        for title, sets in (
            ("On surrogates of validation images", list(surrogates(catalog, strengths))),
            ("On test shifts", list(tests(catalog))),
        ):
            found = gains(parts, iter(sets), len(sets))
            print(f"{title}:\n\n{table(summarise(found), digits=1)}\n", flush=True)
            print(f"By shift:\n\n{table(beyond(found), digits=1)}\n", flush=True)
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
