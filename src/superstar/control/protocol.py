"""The paper's protocol: a sequence is chosen on a batch, then applied to the whole set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn

from superstar.classifiers import Precision
from superstar.control.algorithm import Step
from superstar.control.controllers import CALIBRATED, PAPER
from superstar.control.first_actions import FirstAction, first_action
from superstar.control.operability import percent_inoperable
from superstar.control.scoring import Hits, parts, score_sequences
from superstar.control.supervisor import Recovery, Supervisor
from superstar.images import Images, stream
from superstar.measures import FEATURES, Distance, state_features
from superstar.measures.rulers import BandRuler
from superstar.weights import on_device

# Digits of a distance beyond these depend on the number of threads.
DIGITS = 9


@dataclass(frozen=True)
class Cell:
    """One shifted set: a shift at a severity (None for the clean set, `none`)."""

    shift: str
    severity: int | None

    @classmethod
    def of(cls, key: str) -> "Cell":
        """The cell that `shift/severity` names."""
        shift, _, severity = key.partition("/")
        return cls(shift, int(severity))

    @property
    def name(self) -> str:
        """In files and messages."""
        return self.shift if self.severity is None else f"{self.shift}-{self.severity}"

    @property
    def keys(self) -> dict[str, Any]:
        """The columns that name the cell in every table."""
        return {"shift": self.shift, "severity": self.severity}


def all_cells(shifts: Sequence[str], severities: Sequence[int]) -> list[Cell]:
    """The clean set, and every shift at every severity."""
    return [Cell("none", None), *(Cell(shift, level) for shift in shifts for level in severities)]


@dataclass(frozen=True)
class Protocol:
    """How a cell is evaluated.

    Attributes:
        controllers: which of the supervisor's; policies from elsewhere are of `paper` alone.
        trials: independent draws of a batch and of the policy.
        batch_size: images that the supervisor sees, or all if there are fewer.
        network_batch: images that go through actions and networks together.
        device: where the networks run.
        precision: in which the classifiers compute.
        seed: of the draws; each cell and trial has a stream of its own.
    """

    controllers: tuple[str, ...]
    trials: int
    batch_size: int
    network_batch: int
    device: str
    precision: Precision
    seed: int


@dataclass(frozen=True)
class CellResult:
    """What a cell yields, as rows of tables.

    Attributes:
        results: one a controller, trial and classifier.
        gains: one a controller and classifier: the mean over trials of right after less right
            before, for each image.
        transfer_results: as `results`, with the `policy`, for policies from other benchmarks.
        transfer_gains: as `gains`, likewise.
        steps: one a step of Algorithm 1, so of controller `paper` alone, as all that follows.
        first_actions: one a trial and classifier: the first action that the policy wanted, what
            became of it, and what it does alone to distance and accuracy.
        inoperable: share of single images that the tree calls inoperable, in percent.
    """

    results: list[dict[str, Any]]
    gains: list[dict[str, Any]]
    transfer_results: list[dict[str, Any]]
    transfer_gains: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    first_actions: list[dict[str, Any]]
    inoperable: dict[str, Any]


def evaluate_cell(
    cell: Cell,
    images: Images,
    supervisor: Supervisor,
    classifiers: Mapping[str, nn.Module],
    protocol: Protocol,
    transferred: Mapping[str, Supervisor] | None = None,
) -> CellResult:
    """Run every trial of a cell and score each distinct sequence once.

    Args:
        cell: which set.
        images: the set.
        supervisor: the benchmark's own.
        classifiers: by name.
        protocol: how.
        transferred: supervisors with policies of other benchmarks, by the benchmark's name; they
            see the same batches.
    """
    supervisor = supervisor.on(protocol.device)
    classifiers = {name: on_device(each, protocol.device) for name, each in classifiers.items()}
    trials = [
        _look(recover_batch(cell, images, supervisor, protocol, trial), supervisor)
        for trial in range(protocol.trials)
    ]
    recoveries = [recovery for recovery, _ in trials]
    wanted = [first for _, first in trials]
    by_controller = {PAPER: recoveries} | {
        name: _recover(cell, images, supervisor, protocol, name)
        for name in protocol.controllers
        if name != PAPER
    }
    elsewhere = {
        name: _recover(cell, images, other.on(protocol.device), protocol)
        for name, other in (transferred or {}).items()
    }
    chosen = chain(*by_controller.values(), *elsewhere.values())
    hits = score_sequences(
        images,
        [*(each.plan.corrections for each in chosen), *(first.sequence for first in wanted)],
        supervisor.denoiser,
        classifiers,
        batch_size=protocol.network_batch,
        device=protocol.device,
        precision=protocol.precision,
    )
    names = {"controller": PAPER, **cell.keys}
    rulers = {PAPER: Distance.of(supervisor.distance).kind, CALIBRATED: BandRuler.name}
    own = [
        ({**names, "controller": name}, {"ruler": rulers[name], "seed": protocol.seed}, those)
        for name, those in by_controller.items()
    ]
    steps = [
        {**names, "trial": trial, "step": number, **_step_columns(step)}
        for trial, recovery in enumerate(recoveries)
        for number, step in enumerate(recovery.steps, start=1)
    ]
    first_actions = [
        {
            **names,
            "trial": trial,
            "classifier": classifier,
            "action": first.action,
            "outcome": first.outcome,
            "distance_initial": round(recovery.distances[0], DIGITS),
            "distance_first": round(first.distance, DIGITS),
            "accuracy_shifted": float(hits[()][classifier].mean()),
            "accuracy_first": float(hits[first.sequence][classifier].mean()),
        }
        for trial, (recovery, first) in enumerate(zip(recoveries, wanted, strict=True))
        for classifier in classifiers
    ]
    # The results' memory is taken first: small blocks kept between large ones that are freed would
    # fragment it, and the process would grow with the set.
    states = torch.empty(len(images), len(FEATURES), dtype=torch.float64)
    for part in parts(len(images), protocol.network_batch):
        states[part] = state_features(images.batch(part))
    inoperable = {**names, "percent_inoperable": percent_inoperable(supervisor.tree, states)}
    return CellResult(
        [{**row, **more} for keys, more, those in own for row in _results(keys, those, hits)],
        [row for keys, _, those in own for row in _gains(keys, those, hits)],
        [
            {**row, "ruler": rulers[PAPER], "seed": protocol.seed}
            for name, others in elsewhere.items()
            for row in _results({"policy": name, **names}, others, hits)
        ],
        [
            row
            for name, others in elsewhere.items()
            for row in _gains({"policy": name, **names}, others, hits)
        ],
        steps,
        first_actions,
        inoperable,
    )


def _recover(
    cell: Cell, images: Images, supervisor: Supervisor, protocol: Protocol, controller: str = PAPER
) -> list[Recovery]:
    return [
        _without_images(recover_batch(cell, images, supervisor, protocol, trial, controller))
        for trial in range(protocol.trials)
    ]


def _look(recovery: Recovery, supervisor: Supervisor) -> tuple[Recovery, FirstAction]:
    return _without_images(recovery), first_action(recovery, supervisor)


def _without_images(recovery: Recovery) -> Recovery:
    """Batches of all trials would take gigabytes while the whole set is scored."""
    return replace(recovery, images=recovery.images.new_empty((0, *recovery.images.shape[1:])))


def _results(
    names: Mapping[str, Any], recoveries: Sequence[Recovery], hits: Hits
) -> list[dict[str, Any]]:
    return [
        {
            **names,
            "trial": trial,
            "classifier": classifier,
            "sequence": list(recovery.actions),
            "stop_reason": recovery.stopped_by,
            "distance_initial": round(recovery.distances[0], DIGITS),
            "distance_final": round(recovery.distances[-1], DIGITS),
            "accuracy_shifted": float(before.mean()),
            "accuracy_recovered": float(hits[recovery.plan.corrections][classifier].mean()),
            "images": len(before),
            "plan": recovery.plan.to_json(),
        }
        for trial, recovery in enumerate(recoveries)
        for classifier, before in hits[()].items()
    ]


def _gains(
    names: Mapping[str, Any], recoveries: Sequence[Recovery], hits: Hits
) -> list[dict[str, Any]]:
    return [
        {
            **names,
            "classifier": classifier,
            "gain": np.mean(
                [
                    hits[recovery.plan.corrections][classifier].astype(np.float32)
                    - before.astype(np.float32)
                    for recovery in recoveries
                ],
                axis=0,
            ),
        }
        for classifier, before in hits[()].items()
    ]


def recover_batch(
    cell: Cell,
    images: Images,
    supervisor: Supervisor,
    protocol: Protocol,
    trial: int,
    controller: str = PAPER,
) -> Recovery:
    """Draw a trial's batch from the set and let the supervisor decide on it.

    The batch that `calibrated` would correct is left out: its plan is applied to the whole set.
    """
    rng = stream(protocol.seed, "trial", cell.shift, cell.severity or 0, trial)
    batch = images.batch(rng.permutation(len(images))[: protocol.batch_size])
    seed = int(rng.integers(2**31))
    if controller == CALIBRATED:
        choice = supervisor.need_calibrated().choose(batch, supervisor.denoiser, seed)
        return Recovery.of(choice, batch[:0])
    return supervisor.recover(batch, seed, controller)


def _step_columns(step: Step) -> dict[str, Any]:
    brightness, std, entropy = (float(value) for value in step.state)
    return {
        "brightness": brightness,
        "std": std,
        "entropy": entropy,
        "operable": step.operable,
        "action": step.action,
        "distance": round(step.distance, DIGITS),
        "decision": step.decision,
        "reason": step.reason,
    }
