"""Every peer asked, on one shift at a time and on a stream; tables, a figure and a page."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor, nn

from superstar.checkpoint import own_checkpoint
from superstar.classifiers import AtPrecision, Precision
from superstar.control import Supervisor
from superstar.control.controllers import CALIBRATED, PAPER
from superstar.control.finished import FinishedRows
from superstar.control.intervals import Bootstrap
from superstar.control.protocol import all_cells
from superstar.control.rivals import EntropyRule, fit_entropy_rule
from superstar.datasets import ShiftedSets
from superstar.errors import check_name
from superstar.images import ImageSet, stream
from superstar.parallel import fan_out
from superstar.parameters import (
    BenchmarkGeneration,
    Execution,
    Peers,
    Reporting,
    SurrogateGeneration,
)
from superstar.peers import (
    PEERS,
    UNTOUCHED,
    Front,
    Maker,
    Segment,
    Unadapted,
    best_by_labels,
    controllers,
    go_through,
    shifting_stream,
    simple_corrections,
)
from superstar.pipelines.peers import figures, report, summary
from superstar.pipelines.sets import Parts, policy_batches
from superstar.weights import on_device

NOISE = "uniform_noise"
SLOW = ("memo", "averaging")
ALONG = "stream"

logger = logging.getLogger(__name__)

Labelled = tuple[Tensor, NDArray[np.int64]]
"""Images, float32 (N, 3, H, W), and their labels."""


@dataclass(frozen=True)
class Asked:
    """All that answers."""

    supervisor: Supervisor
    rule: EntropyRule
    classifiers: dict[str, nn.Module]
    clean: Tensor
    given: Peers
    precision: Precision
    device: str
    seed: int

    def fronts(self) -> dict[str, Front]:
        """What corrects images before a classifier sees them, by name; nothing is the first."""
        supervisor = self.supervisor.on(self.device)
        return {
            UNTOUCHED: lambda images: images,
            **simple_corrections(supervisor, self.rule),
            **controllers(supervisor, self.seed),
        }

    def peers(self, fronts: dict[str, Front]) -> dict[str, dict[str, dict[str, Maker]]]:
        """By front and classifier: all peers behind nothing and behind the controllers."""
        made = {name: self._peers_of(network, fronts) for name, network in self.classifiers.items()}
        return {front: {name: of[front] for name, of in made.items()} for front in fronts}

    def refuse_what_cannot_adapt(self) -> None:
        """Make every peer once, which is where it looks at the network.

        Raises:
            InputError: a network that a peer cannot adapt.
        """
        fronts = self.fronts()
        for peers in self.peers(fronts)[UNTOUCHED].values():
            for make in peers.values():
                make(fronts[UNTOUCHED])

    def _peers_of(
        self, classifier: nn.Module, fronts: dict[str, Front]
    ) -> dict[str, dict[str, Maker]]:
        network = AtPrecision(on_device(classifier, self.device), self.precision)
        plain: dict[str, Maker] = {UNTOUCHED: lambda _: Unadapted(network)}

        def maker(name: str, alone: bool) -> Maker:
            settings = getattr(self.given, name, None)
            others: dict[str, Any] = {"clean": self.clean} if name == "quantiles" else {}
            others |= {"seed": self.seed} if name in SLOW else {}
            others |= settings.model_dump(exclude={"images"}) if settings else {}

            def make(correct: Front) -> Any:
                if name == "switching":
                    return PEERS[name](network, fronts["always dncnn"] if alone else correct)
                return PEERS[name](network, **others)

            return make

        names = self.given.compared
        alone, behind = ({name: maker(name, only) for name in names} for only in (True, False))
        peers = dict.fromkeys(fronts, plain)
        peers[CALIBRATED] = plain | behind
        if self.given.behind_paper:
            peers[PAPER] = plain | behind
        return peers | {UNTOUCHED: plain | alone}


def ask(
    sets: ShiftedSets,
    reference: ImageSet,
    policy_surrogates: Parts,
    supervisor: Supervisor,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    surrogates: dict[str, Any],
    precision: Precision,
    execution: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers on one shift and severity at a time, and on a stream; a row a cell or segment.

    What an interrupted run finished is taken as it is.

    Raises:
        InputError: no classifier of a name that is to answer; a network that a peer cannot adapt;
            a supervisor without `calibrated`; policy's
            surrogates without noise, or of noise alone, which the rule of one line is fitted to.
    """
    given, run = Peers.model_validate(parameters), Execution.model_validate(execution)
    classifiers = {"standard": standard, **robust}
    for name in given.classifiers:
        check_name("classifier (peers.classifiers)", name, classifiers)
    policy = SurrogateGeneration.model_validate(surrogates).policy
    noisy = [name == NOISE for name in policy.names for _ in range(policy.training_batches)]
    training = policy_batches(policy_surrogates, "training", policy)
    rule = fit_entropy_rule(supervisor.transitions(training, memory_limit=0), noisy)
    clean = reference.take(slice(given.quantiles.images)).batch()
    answering = {name: classifiers[name] for name in given.classifiers}
    asked = Asked(supervisor, rule, answering, clean, given, precision, run.device, seed)
    asked.refuse_what_cannot_adapt()
    cells = all_cells(BenchmarkGeneration.model_validate(benchmark).shifts, given.severities)
    count = len(sets.load("none"))
    segments = shifting_stream(cells, count, **given.stream.model_dump(), seed=seed)
    chosen = stream(seed, "peers").permutation(count)[: given.images]
    drawn = {ALONG: segments, **{cell.name: [Segment(cell, chosen)] for cell in cells}}
    finished = FinishedRows(own_checkpoint(), "hits")
    known = {name: rows for name in drawn if (rows := finished.load(name)) is not None}
    missing = [name for name in drawn if name not in known]
    if known and missing:
        logger.info("peers go on: %d of %d are there", len(known), len(drawn))
    calls = [(name, partial(_load, sets, drawn[name])) for name in missing]
    made = fan_out(_ask, calls, run, "peers", shared=(finished, asked), names=missing)
    known |= dict(zip(missing, made, strict=True))
    ends = np.cumsum([len(segment.images) for segment in segments])[:-1]
    on_stream = [
        {**segment.cell.keys, **row, "hits": hits}
        for row in known[ALONG]
        for segment, hits in zip(segments, np.split(row["hits"], ends), strict=True)
    ]
    on_shifts = [{**cell.keys, **row} for cell in cells for row in known[cell.name]]
    return _table(on_shifts), _table(on_stream)


def summarise(
    on_shifts: pd.DataFrame,
    on_stream: pd.DataFrame,
    parameters: dict[str, Any],
    reporting: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float], str, Figure]:
    """Gains with intervals; peers beside `calibrated`; the same as metrics, page and figure.

    Tables and metrics are of all classifiers, page and figure of the first.
    """
    given, how = Peers.model_validate(parameters), Reporting.model_validate(reporting)
    bootstrap = Bootstrap(how.bootstrap_resamples, how.confidence, seed)
    tables, besides = [], []
    for classifier in given.classifiers:
        cells, along = (some[some["classifier"] == classifier] for some in (on_shifts, on_stream))
        tables.append(summary.gain_table(cells, along, given.batch_size, bootstrap))
        besides.append(summary.beside_ours(cells, bootstrap))
        for made in (tables, besides):
            made[-1].insert(0, "classifier", classifier)
    table, beside = pd.concat(tables), pd.concat(besides)
    tested = len(on_shifts["hits"].iloc[0])
    shown = given.classifiers[0]
    table_of_it, beside_of_it, stream_of_it = (
        some[some["classifier"] == shown] for some in (table, beside, on_stream)
    )
    page = report.compose(table_of_it, beside_of_it, stream_of_it, given, tested, table)
    figure = figures.peers_figure(table_of_it, stream_of_it, given.batch_size)
    return table, beside, summary.metrics(table), page, figure


def _load(sets: ShiftedSets, segments: Sequence[Segment]) -> Labelled:
    parts = [sets.load(each.cell.shift, each.cell.severity).take(each.images) for each in segments]
    return torch.cat([part.batch() for part in parts]), np.concatenate([p.labels for p in parts])


def _ask(
    name: str, load: Callable[[], Labelled], finished: FinishedRows, asked: Asked
) -> list[dict[str, Any]]:
    # They may be there if another worker, not this one, died after it was finished.
    if (known := finished.load(name)) is not None:
        return known
    (images, labels), size = load(), asked.given.batch_size
    fronts = asked.fronts()
    slow = dict.fromkeys(SLOW, asked.given.every)
    truth = np.split(labels, range(size, len(labels), size))
    rows = go_through(images.split(size), truth, fronts, asked.peers(fronts), slow)
    for classifier in asked.classifiers:
        of_one = [row for row in rows if row["classifier"] == classifier]
        rows.append(best_by_labels(of_one, size))
    finished.save(name, rows)
    return rows


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows).astype({"severity": "Int64"})
