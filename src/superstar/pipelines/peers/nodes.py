"""Every peer asked, on one shift at a time and on a stream; tables, a figure and a page."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import nn

from superstar.control import Supervisor
from superstar.control.intervals import Bootstrap
from superstar.control.protocol import Cell, all_cells
from superstar.control.rivals import EntropyRule, fit_entropy_rule
from superstar.datasets import ShiftedSets
from superstar.images import Images, ImageSet, stream
from superstar.parallel import fan_out
from superstar.parameters import (
    BenchmarkGeneration,
    Execution,
    Peers,
    Reporting,
    SurrogateGeneration,
)
from superstar.peers import (
    UNTOUCHED,
    Averaging,
    BatchNormAdaptation,
    Front,
    Maker,
    Memo,
    QuantileAdapter,
    Segment,
    Switching,
    Tent,
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
DENOISED = "always dncnn"


def fit_rule(
    batches: Parts, supervisor: Supervisor, surrogates: dict[str, Any]
) -> dict[str, float]:
    """The threshold of the rule of one line, on the training batches of the policy's surrogates.

    Raises:
        InputError: no noise among these, or nothing else.
    """
    policy = SurrogateGeneration.model_validate(surrogates).policy
    training = policy_batches(batches, "training", policy)
    noisy = [name == NOISE for name in policy.names for _ in range(policy.training_batches)]
    known = supervisor.transitions(training, memory_limit=0)
    return {"entropy_threshold": fit_entropy_rule(known, noisy).threshold}


def ask_on_shifts(
    sets: ShiftedSets,
    reference: ImageSet,
    supervisor: Supervisor,
    classifier: nn.Module,
    rule: dict[str, float],
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """One shift and severity at a time, of the same images in the same order."""
    given, run = Peers.model_validate(parameters), Execution.model_validate(execution)
    cells = all_cells(BenchmarkGeneration.model_validate(benchmark).shifts, given.severities)
    calls = [(cell, partial(sets.load, cell.shift, cell.severity)) for cell in cells]
    shared = (reference, supervisor, classifier, rule, given, run, seed)
    rows = chain.from_iterable(fan_out(_ask_cell, calls, run, "peers", shared=shared))
    return pd.DataFrame(rows).astype({"severity": "Int64"})


def ask_on_stream(
    sets: ShiftedSets,
    reference: ImageSet,
    supervisor: Supervisor,
    classifier: nn.Module,
    rule: dict[str, float],
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """A stream that shifts without notice; a row a segment."""
    given, run = Peers.model_validate(parameters), Execution.model_validate(execution)
    cells = all_cells(BenchmarkGeneration.model_validate(benchmark).shifts, given.severities)
    count = len(sets.load("none"))
    segments = shifting_stream(cells, count, **given.stream.model_dump(), seed=seed)
    fronts = _fronts(supervisor, rule, seed)
    shared = (segments, sets, reference, supervisor, classifier, rule, given, run, seed)
    calls = [(name,) for name in fronts]
    rows = list(chain.from_iterable(fan_out(_ask_stream, calls, run, "stream", shared=shared)))
    rows.append(best_by_labels(rows, given.batch_size))
    starts = np.cumsum([0, *(len(segment.images) for segment in segments)])
    parts = [
        {"segment": place, **segment.cell.keys, **row}
        | {"hits": row["hits"][starts[place] : starts[place + 1]]}
        for row in rows
        for place, segment in enumerate(segments)
    ]
    return pd.DataFrame(parts).astype({"severity": "Int64"})


def summarise(
    on_shifts: pd.DataFrame,
    on_stream: pd.DataFrame,
    parameters: dict[str, Any],
    reporting: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float], str]:
    """Gains with their intervals; peers beside `calibrated`; the same as metrics and as a page."""
    given, shown = Peers.model_validate(parameters), Reporting.model_validate(reporting)
    bootstrap = Bootstrap(shown.bootstrap_resamples, shown.confidence, seed)
    table = summary.gain_table(on_shifts, on_stream, given.batch_size, bootstrap)
    beside = summary.beside_ours(on_shifts, bootstrap)
    page = report.compose(table, beside, on_stream, given)
    return table, beside, summary.metrics(table), page


def draw_peers(table: pd.DataFrame, on_stream: pd.DataFrame, parameters: dict[str, Any]) -> Figure:
    """Mean gains alone and behind the controllers, and accuracy along the stream."""
    return figures.peers_figure(table, on_stream, Peers.model_validate(parameters).batch_size)


def _ask_cell(
    cell: Cell,
    load: Callable[[], Images],
    reference: ImageSet,
    supervisor: Supervisor,
    classifier: nn.Module,
    rule: dict[str, float],
    given: Peers,
    run: Execution,
    seed: int,
) -> list[dict[str, Any]]:
    images = load()
    drawn = stream(seed, "peers").permutation(len(images))[: given.images]
    batches = images.batch(drawn).split(given.batch_size)
    labels = _split(np.asarray(images.labels)[drawn], given.batch_size)
    fronts = _fronts(supervisor.on(run.device), rule, seed)
    peers = _peers(on_device(classifier, run.device), fronts, reference, given, seed)
    rows = go_through(batches, labels, fronts, peers, dict.fromkeys(SLOW, given.every))
    rows.append(best_by_labels(rows, given.batch_size))
    return [{**cell.keys, **row} for row in rows]


def _ask_stream(
    front: str,
    segments: list[Segment],
    sets: ShiftedSets,
    reference: ImageSet,
    supervisor: Supervisor,
    classifier: nn.Module,
    rule: dict[str, float],
    given: Peers,
    run: Execution,
    seed: int,
) -> list[dict[str, Any]]:
    parts = [sets.load(each.cell.shift, each.cell.severity).take(each.images) for each in segments]
    batches = torch.cat([part.batch() for part in parts]).split(given.batch_size)
    labels = _split(np.concatenate([part.labels for part in parts]), given.batch_size)
    fronts = _fronts(supervisor.on(run.device), rule, seed)
    peers = _peers(on_device(classifier, run.device), fronts, reference, given, seed)
    only = {front: fronts[front]}
    return go_through(batches, labels, only, peers, dict.fromkeys(SLOW, given.every))


def _fronts(supervisor: Supervisor, rule: dict[str, float], seed: int) -> dict[str, Front]:
    return {
        UNTOUCHED: lambda images: images,
        **simple_corrections(supervisor, EntropyRule(rule["entropy_threshold"])),
        **controllers(supervisor, seed),
    }


def _peers(
    network: nn.Module,
    fronts: Mapping[str, Front],
    reference: ImageSet,
    given: Peers,
    seed: int,
) -> dict[str, dict[str, Maker]]:
    """Of each front the peers behind it: all of them behind nothing and behind controllers."""
    plain: dict[str, Maker] = {UNTOUCHED: lambda correct: Unadapted(network)}
    quantiles = given.quantiles
    clean = reference.take(slice(quantiles.images)).batch()
    makers: dict[str, Maker] = {
        "batch_statistics": lambda _: BatchNormAdaptation(network, given.batch_statistics.prior),
        "batch_norm": lambda _: BatchNormAdaptation(network, given.batch_norm.prior),
        "tent": lambda _: Tent(network, **given.tent.model_dump()),
        "tent_reset": lambda _: Tent(network, **given.tent_reset.model_dump()),
        "memo": lambda _: Memo(network, **given.memo.model_dump(), seed=seed),
        "averaging": lambda _: Averaging(network, **given.averaging.model_dump(), seed=seed),
        "switching": lambda correct: Switching(network, correct),
        "quantiles": lambda _: QuantileAdapter(network, clean, quantiles.levels),
    }
    behind = plain | {name: makers[name] for name in given.compared}
    alone = dict(behind)
    if "switching" in alone:
        alone["switching"] = lambda _: Switching(network, fronts[DENOISED])
    peers = dict.fromkeys(fronts, plain)
    return peers | dict.fromkeys(summary.CONTROLLERS, behind) | {UNTOUCHED: alone}


def _split(values: np.ndarray, size: int) -> list[np.ndarray]:
    return np.split(values, range(size, len(values), size))
