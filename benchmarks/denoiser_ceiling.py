"""How much of what a denoiser that is always on gives back the controllers of a run give back."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from kedro.io import DataCatalog
from rich.console import Console
from torch import Tensor, nn

from benchmarks.denoiser import named
from superstar.actions import Denoiser, denoise
from superstar.actions.denoiser import restore
from superstar.classifiers import predict
from superstar.configuration import ProjectConfigLoader
from superstar.control.controllers import CALIBRATED, PAPER
from superstar.control.protocol import Cell
from superstar.control.scoring import parts
from superstar.corruptions import SHIFT_SETS
from superstar.datasets import ShiftedSets
from superstar.errors import InputError
from superstar.images import Images
from superstar.parameters import Parameters
from superstar.pipelines.pages import readable, table
from superstar.settings import CONFIG_LOADER_ARGS

CLASSIFIER = "standard"
SHIFTED, SHARE, WHY = "shifted", "share", "why"
ACTION, WHOLE = "action", "all taken off"
ENOUGH = 80.0
"""Share of the action's gain, in percent, that asks for no reason."""
LEAST_GAIN = 1.0
"""Points that a denoiser must gain in a cell for a share of it to mean anything."""
KEYS = ["shift", "severity", "trial"]

Correction = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Run:
    """What a finished run left, as far as it is read here.

    Attributes:
        sets: shifted test sets.
        classifier: the ordinary one.
        denoiser: behind the action `dncnn`.
        trials: a row a trial of the controller `paper`: `shift`, `severity` (0 for clean images),
            `sequence`, `accuracy_shifted`, `accuracy_recovered`, and its first action: `action`,
            `outcome`; and the accuracy of `calibrated`.
        parameters: of its environment.
    """

    sets: ShiftedSets
    classifier: nn.Module
    denoiser: Denoiser
    trials: pd.DataFrame
    parameters: Parameters

    @property
    def cells(self) -> list[Cell]:
        """Clean images, and every noise at every severity that was evaluated."""
        there = self.trials.groupby("shift")["severity"].unique()
        noises = [noise for noise in SHIFT_SETS["noises"] if noise in there]
        return [Cell("none", None), *(Cell(n, int(s)) for n in noises for s in sorted(there[n]))]

    def of(self, cell: Cell) -> pd.DataFrame:
        """The trials of a cell."""
        rows = self.trials
        return rows[(rows["shift"] == cell.shift) & (rows["severity"] == (cell.severity or 0))]


def read_run(project: Path, environment: str) -> Run:
    """The run of an environment whose data lie in the project.

    Raises:
        InputError: no such environment, or no finished run of it.
    """
    conf = project / "conf"
    if not (conf / environment).is_dir():
        raise InputError(f"{conf} has no environment {environment!r}")
    loader = ProjectConfigLoader(str(conf), env=environment, **CONFIG_LOADER_ARGS)
    catalog = DataCatalog.from_config(loader["catalog"])
    parameters = Parameters.check(loader["parameters"])
    tables = ("evaluation_results", "evaluation_first_actions")
    if not all(catalog.exists(name) for name in tables):
        raise InputError(
            f"there is no finished run of {parameters.benchmark}: kedro run --env {environment}"
        )
    results, first = (catalog.load(name) for name in tables)
    trials = _of(results, PAPER).merge(_of(first, PAPER)[[*KEYS, "action", "outcome"]])
    others = _of(results, CALIBRATED)[[*KEYS, "accuracy_recovered"]]
    return Run(
        catalog.load("shifted_sets"),
        catalog.load("classifier_standard"),
        catalog.load("denoiser"),
        trials.merge(others.rename(columns={"accuracy_recovered": CALIBRATED}), how="left"),
        parameters,
    )


def _of(rows: pd.DataFrame, controller: str) -> pd.DataFrame:
    theirs = rows[(rows["controller"] == controller) & (rows["classifier"] == CLASSIFIER)]
    return theirs.assign(severity=theirs["severity"].fillna(0).astype(int))


def corrections(denoiser: Denoiser, also: Sequence[str], enlarge: int) -> dict[str, Correction]:
    """Denoisers that are always on, by the names of their columns.

    Args:
        denoiser: the run's.
        also: further ones, as NAME=FILE.
        enlarge: of published ones among them.
    """
    others = {name: partial(denoise, model) for name, model in named(also, enlarge).items()}
    return {ACTION: partial(denoise, denoiser), WHOLE: partial(restore, denoiser), **others}


def always_on(
    images: Images, classifier: nn.Module, methods: Mapping[str, Correction], given: Parameters
) -> dict[str, float]:
    """Accuracy in percent on a set as it is and after each correction; the set is streamed."""
    size = given.execution.batch_size
    hits = dict.fromkeys((SHIFTED, *methods), 0)
    for part in parts(len(images), size):
        noisy, labels = images.batch(part), torch.from_numpy(np.array(images.labels[part]))
        for name in hits:
            seen = methods[name](noisy) if name in methods else noisy
            said = predict(classifier, seen, size, precision=given.evaluation.precision)
            hits[name] += int((said == labels).sum())
    return {name: 100 * count / len(images) for name, count in hits.items()}


def cell_row(cell: Cell, accuracies: Mapping[str, float], trials: pd.DataFrame) -> dict[str, Any]:
    """A row of the table: accuracies in percent, how much of the action's gain `paper` reaches in
    percent, and what it did where that is little.
    """
    recovered = 100 * trials["accuracy_recovered"].mean()
    gain = accuracies[ACTION] - accuracies[SHIFTED]
    share = 100 * (recovered - accuracies[SHIFTED]) / gain if gain >= LEAST_GAIN else np.nan
    return {
        "shift": readable(cell.shift),
        "severity": cell.severity or "",
        **accuracies,
        PAPER: recovered,
        CALIBRATED: 100 * trials[CALIBRATED].mean(),
        SHARE: share,
        WHY: what_was_done(trials) if share < ENOUGH else "",
    }


def what_was_done(trials: pd.DataFrame) -> str:
    """First actions and what became of them, with the number of trials, the commonest first."""
    said = Counter(map(_told, trials.itertuples()))
    return ", ".join(f"{text} ({count})" for text, count in said.most_common())


def _told(trial: Any) -> str:
    if trial.outcome == "kept":
        return f"took {' > '.join(trial.sequence)}"
    if trial.outcome == "nop":
        return "wanted nothing"
    by = {"inoperable": "forbidden by the tree", "beta": "stopped by β"}[trial.outcome]
    return f"{trial.action} {by}"


def summary(cells: pd.DataFrame) -> str:
    """The shares of the loss that come back over the noises, in a sentence."""
    clean, noises = cells.iloc[0], cells.iloc[1:]
    shifted = noises[SHIFTED].mean()
    loss = clean[SHIFTED] - shifted
    names = [name for name in cells if name not in ("shift", "severity", SHIFTED, SHARE, WHY)]
    given = {name: noises[name].mean() - shifted for name in names}
    shares = ", ".join(f"{name}: {100 * points / loss:.1f}%" for name, points in given.items())
    counted = noises[SHARE].dropna()
    return (
        f"Over the noises {loss:.1f} points are lost, of which come back by {shares}. `{PAPER}` "
        f"reaches {ENOUGH:.0f}% of the action's gain in {(counted >= ENOUGH).sum()} of "
        f"{len(counted)} cells, and over all {100 * given[PAPER] / given[ACTION]:.1f}%; "
        f"`{CALIBRATED}` over all {100 * given[CALIBRATED] / given[ACTION]:.1f}%."
    )


def compose(benchmark: str, cells: pd.DataFrame) -> str:
    """The page."""
    text = f"""# What a denoiser that is always on would give back: {benchmark}

Written by `python -m benchmarks.denoiser_ceiling` from a run. Accuracy of `{CLASSIFIER}` in \
percent on the shifted test sets as they are, with the denoiser always on, and as the run's \
controllers left them (mean over trials). Action: the denoiser with the gate that the run fitted; \
all taken off: without it. Share: of the action's gain, how much `{PAPER}` reaches, in percent, \
where that gain is at least {LEAST_GAIN:g} point; below {ENOUGH:.0f}% the first actions that the \
policy wanted and what became of them, with the number of trials."""
    return f"{text}\n\n{table(cells, 1, **{SHARE: 0})}\n\n{summary(cells)}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.denoiser_ceiling", description=__doc__
    )
    parser.add_argument("--project", type=Path, default=Path(), help="folder with conf/ and data/")
    parser.add_argument("--env", default="local", help="of the run")
    parser.add_argument(
        "--also",
        nargs="*",
        default=[],
        metavar="NAME=FILE",
        help="denoisers of a run, or published DnCNNs of KAIR or DnCNN-PyTorch",
    )
    parser.add_argument("--output", type=Path, help="file to write beside printing")
    given = parser.parse_args(arguments)
    try:
        run = read_run(given.project, given.env)
        methods = corrections(run.denoiser, given.also, run.parameters.denoiser_training.enlarge)
        rows = []
        with Console(stderr=True).status("") as status:
            for cell in run.cells:
                status.update(cell.name)
                images = run.sets.load(cell.shift, cell.severity)
                reached = always_on(images, run.classifier, methods, run.parameters)
                rows.append(cell_row(cell, reached, run.of(cell)))
    except InputError as error:
        sys.exit(f"error: {error}")
    page = compose(run.parameters.benchmark, pd.DataFrame(rows))
    print(page, end="")
    if given.output:
        given.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
