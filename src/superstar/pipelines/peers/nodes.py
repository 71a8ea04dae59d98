"""Every peer asked, on one shift at a time and on a stream; tables, a figure and a page."""

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

from superstar.control import Supervisor
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

Labelled = tuple[Tensor, NDArray[np.int64]]
"""Images, float32 (N, 3, H, W), and their labels."""


@dataclass(frozen=True)
class _Asked:
    """All that answers."""

    supervisor: Supervisor
    rule: EntropyRule
    classifier: nn.Module
    clean: Tensor
    given: Peers
    device: str
    seed: int

    def fronts(self) -> dict[str, Front]:
        supervisor = self.supervisor.on(self.device)
        return {
            UNTOUCHED: lambda images: images,
            **simple_corrections(supervisor, self.rule),
            **controllers(supervisor, self.seed),
        }

    def peers(self, fronts: dict[str, Front]) -> dict[str, dict[str, Maker]]:
        """The peers behind each front: all of them behind nothing and behind the controllers."""
        network = on_device(self.classifier, self.device)
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
        peers |= dict.fromkeys(self.supervisor.controllers, plain | behind)
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
    execution: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers on one shift and severity at a time, and on a stream; a row a cell or segment.

    Raises:
        InputError: no classifier of the name that is to answer; a network that a peer cannot adapt;
            a supervisor without `calibrated`; policy's
            surrogates without noise, or of noise alone, which the rule of one line is fitted to.
    """
    given, run = Peers.model_validate(parameters), Execution.model_validate(execution)
    classifiers = {"standard": standard, **robust}
    check_name("classifier (peers.classifier)", given.classifier, classifiers)
    policy = SurrogateGeneration.model_validate(surrogates).policy
    noisy = [name == NOISE for name in policy.names for _ in range(policy.training_batches)]
    training = policy_batches(policy_surrogates, "training", policy)
    rule = fit_entropy_rule(supervisor.transitions(training, memory_limit=0), noisy)
    clean = reference.take(slice(given.quantiles.images)).batch()
    answering = classifiers[given.classifier]
    asked = _Asked(supervisor, rule, answering, clean, given, run.device, seed)
    cells = all_cells(BenchmarkGeneration.model_validate(benchmark).shifts, given.severities)
    count = len(sets.load("none"))
    segments = shifting_stream(cells, count, **given.stream.model_dump(), seed=seed)
    chosen = stream(seed, "peers").permutation(count)[: given.images]
    drawn = [segments, *([Segment(cell, chosen)] for cell in cells)]
    calls = [(partial(_load, sets, some),) for some in drawn]
    along, *each = fan_out(_ask, calls, run, "peers", shared=(asked,))
    ends = np.cumsum([len(segment.images) for segment in segments])[:-1]
    on_stream = [
        {**segment.cell.keys, **row, "hits": hits}
        for row in along
        for segment, hits in zip(segments, np.split(row["hits"], ends), strict=True)
    ]
    on_shifts = [
        {**cell.keys, **row} for cell, rows in zip(cells, each, strict=True) for row in rows
    ]
    return _table(on_shifts), _table(on_stream)


def summarise(
    on_shifts: pd.DataFrame,
    on_stream: pd.DataFrame,
    parameters: dict[str, Any],
    reporting: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float], str, Figure]:
    """Gains with intervals; peers beside `calibrated`; the same as metrics, page and figure."""
    given, shown = Peers.model_validate(parameters), Reporting.model_validate(reporting)
    bootstrap = Bootstrap(shown.bootstrap_resamples, shown.confidence, seed)
    table = summary.gain_table(on_shifts, on_stream, given.batch_size, bootstrap)
    beside = summary.beside_ours(on_shifts, bootstrap)
    tested = len(on_shifts["hits"].iloc[0])
    page = report.compose(table, beside, on_stream, given, tested)
    figure = figures.peers_figure(table, on_stream, given.batch_size)
    return table, beside, summary.metrics(table), page, figure


def _load(sets: ShiftedSets, segments: Sequence[Segment]) -> Labelled:
    parts = [sets.load(each.cell.shift, each.cell.severity).take(each.images) for each in segments]
    return torch.cat([part.batch() for part in parts]), np.concatenate([p.labels for p in parts])


def _ask(load: Callable[[], Labelled], asked: _Asked) -> list[dict[str, Any]]:
    (images, labels), size = load(), asked.given.batch_size
    fronts = asked.fronts()
    slow = dict.fromkeys(SLOW, asked.given.every)
    truth = np.split(labels, range(size, len(labels), size))
    rows = go_through(images.split(size), truth, fronts, asked.peers(fronts), slow)
    return [*rows, best_by_labels(rows, size)]


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows).astype({"severity": "Int64"})
