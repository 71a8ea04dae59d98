"""Two batches after every action, for the figures: what it does to distance and accuracy."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from superstar.classifiers import predict
from superstar.control import Supervisor
from superstar.control.algorithm import Trace, run_algorithm
from superstar.control.controllers import PAPER
from superstar.control.networks import SampledPolicy
from superstar.control.protocol import DIGITS
from superstar.control.transitions import Transitions
from superstar.datasets import ShiftedSets
from superstar.images import Images, stream
from superstar.parameters import Evaluation, Execution, Reporting


def trace_examples(
    results: pd.DataFrame,
    sets: ShiftedSets,
    supervisor: Supervisor,
    standard: nn.Module,
    robust: dict[str, nn.Module],
    reporting: dict[str, Any],
    evaluation: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Stages of two examples of controller `paper`, each on one batch of a shifted set.

    `example` is the longest sequence of `reporting.example_shift` in the results (of equally long
    ones that which gained most) on the batch of its trial. `example_beta` is the first of the
    longest that Algorithm 1 chooses with a β of its own for as many batches as there are trials,
    and the action that failed β in the end.

    Returns:
        A row a stage: `example`, `shift`, `severity`, `beta`, `stage` ("clean", "shifted", then
        the actions), `passed`, `images` (of the batch), `distance` (missing for clean images) and
        `accuracy_<classifier>`, a share of the batch.
    """
    given, run = Reporting.model_validate(reporting), Execution.model_validate(execution)
    tried = Evaluation.model_validate(evaluation)
    supervisor = supervisor.on(run.device)
    clean = sets.load("none", None)

    def draw(shift: str, severity: int, rng: np.random.Generator) -> tuple[Images, Transitions]:
        """A batch, clean and shifted."""
        places = rng.permutation(len(clean))[: tried.batch_size]
        images = sets.load(shift, severity).batch(places)
        return clean.take(places), supervisor.transitions([images], 2 * images.nbytes)

    def accuracies(images: Tensor, labels: Tensor) -> dict[str, float]:
        numbers = {}
        for name, classifier in {"standard": standard, **robust}.items():
            predicted = predict(classifier, images, run.batch_size, run.device, tried.precision)
            numbers[f"accuracy_{name}"] = float((predicted == labels).double().mean())
        return numbers

    shift = given.example_shift
    own_results = results[(results["shift"] == shift) & (results["controller"] == PAPER)]
    severity, trial, kept = _longest(own_results)
    batch = draw(shift, severity, stream(seed, "trial", shift, severity, trial))
    own = _stages(*batch, kept, [], accuracies)
    own = own.assign(example="example", shift=shift, severity=severity, beta=supervisor.beta)

    shift, severity = given.example_beta_shift, given.example_beta_severity
    brakes = replace(supervisor.brakes, beta=given.example_beta)

    def choose(trial: int) -> tuple[Trace, tuple[Images, Transitions]]:
        rng = stream(seed, "example_beta", trial)
        drawn = draw(shift, severity, rng)
        return run_algorithm(drawn[1], 0, SampledPolicy(supervisor.actor), brakes, rng), drawn

    trials = map(choose, range(tried.trials))
    longest, batch = max(trials, key=lambda chosen: len(chosen[0].sequence))
    last = longest.steps[-1]
    failed = [last.action] if last.action is not None and last.reason == "beta" else []
    loose = _stages(*batch, list(longest.sequence), failed, accuracies).assign(
        example="example_beta", shift=shift, severity=severity, beta=given.example_beta
    )
    table = pd.concat([own, loose], ignore_index=True).round({"distance": DIGITS})
    first = ["example", "shift", "severity", "beta", "stage", "passed", "images", "distance"]
    return table[[*first, *table.filter(like="accuracy_")]]


def _longest(trials: pd.DataFrame) -> tuple[int, int, list[str]]:
    """Severity, trial and actions of the longest sequence; the greatest gain decides ties."""
    gain = trials["accuracy_recovered"] - trials["accuracy_shifted"]
    ordered = trials.assign(length=trials["sequence"].map(len), gain=gain)
    row = ordered.nlargest(1, ["length", "gain"]).iloc[0]
    return int(row["severity"]), int(row["trial"]), list(row["sequence"])


def _stages(
    clean: Images,
    transitions: Transitions,
    kept: list[str],
    failed: list[str],
    accuracies: Callable[[Tensor, Tensor], dict[str, float]],
) -> pd.DataFrame:
    labels = torch.from_numpy(np.array(clean.labels))
    rows: list[dict[str, Any]] = [{"stage": "clean"} | accuracies(clean.batch(), labels)]
    actions = [*kept, *failed]
    whole = tuple(transitions.actions.index(action) for action in actions)
    for length, stage in enumerate(["shifted", *actions]):
        prefix = whole[:length]
        after = accuracies(transitions.images(0, prefix), labels)
        rows.append({"stage": stage, "distance": transitions.distance_at(0, prefix)} | after)
    passed = [True] * (len(rows) - len(failed)) + [False] * len(failed)
    return pd.DataFrame(rows).assign(passed=passed, images=len(labels))
