"""The points of a sweep: policies trained for them, and what they choose on sets of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from superstar.control.actor_critic import PolicySchedule, train_actor_critic
from superstar.control.algorithm import Trace, run_algorithm
from superstar.control.env import ShiftEnv
from superstar.control.networks import Actor, Policy
from superstar.control.points import Point
from superstar.control.scoring import Actions, score_sequences
from superstar.control.supervisor import Supervisor
from superstar.images import ImageSet, stream
from superstar.weights import on_device


def train_points(points: Sequence[Point], env: ShiftEnv, **training: Any) -> dict[str, Actor]:
    """Policies of points that share a batch size, by `Point.policy`.

    What corrections do to the batches depends on nothing else that is swept, so all trainings
    share one memory: each computes only the sequences that none before it came across.

    Args:
        points: the settings.
        env: with batches of their size.
        training: what `PolicySchedule` takes beside the seed.
    """
    actors: dict[str, Actor] = {}
    for point in points:
        setting = point.setting
        view = env.view(
            horizon=setting.horizon,
            alpha=setting.alpha,
            ssim_weight=setting.ssim_weight,
            ssim_threshold=setting.ssim_threshold,
        )
        schedule = PolicySchedule(seed=setting.seed, **training)
        learned = train_actor_critic(view, schedule, progress=False)
        actors[point.policy] = learned.actor
    return actors


@dataclass(frozen=True)
class Measuring:
    """How a set is measured.

    Attributes:
        trials: how often a point chooses for each set.
        memory_limit: bytes of images to keep.
        network_batch: images that go through networks together.
        device: where these compute.
        seed: of the draws.
    """

    trials: int
    memory_limit: int
    network_batch: int
    device: str
    seed: int


def measure_set(
    keys: Mapping[str, Any],
    images: ImageSet,
    points: Sequence[Point],
    policies: Mapping[str, Policy],
    supervisor: Supervisor,
    classifier: nn.Module,
    how: Measuring,
) -> list[dict[str, Any]]:
    """Rows of one set: one a point and trial.

    In each trial a batch drawn from the set chooses by Algorithm 1; what the chosen sequence does
    for accuracy is measured on the rest of the set. The set is parted into batches, which take
    turns, and the policies, which are sampled, draw anew in each trial. Batches of one size are the
    same for all points, and so are the policies' random numbers. What a sequence does to images is
    computed once, whichever point chooses it.

    Args:
        keys: columns that name the set.
        images: the set, of more images than a batch has.
        points: the settings.
        policies: by `Point.policy`.
        supervisor: whose distance, actions and operability tree count.
        classifier: whose accuracy counts.
        how: how.

    Returns:
        Rows with `point`, `keys`, `batch` (its number), `trial`, `sequence` (list of names),
        `stop_reason`, `distance_gain` (relative fall of the distance of the batch),
        `accuracy_before` (percent, of the rest) and `accuracy_gain` (points, of the rest).
    """
    supervisor = supervisor.on(how.device)
    place = [str(value) for value in keys.values()]
    order = stream(how.seed, "sensitivity", *place).permutation(len(images))
    found: list[tuple[Point, int, int, Trace, NDArray[np.int64]]] = []
    for size in sorted({point.setting.batch_size for point in points}):
        here = [point for point in points if point.setting.batch_size == size]
        batches = len(images) // size
        for batch in range(min(batches, how.trials)):
            own = slice(batch * size, (batch + 1) * size)
            rest = np.delete(order, own)
            transitions = supervisor.transitions([images.batch(order[own])], how.memory_limit)
            for point, trial in product(here, range(batch, how.trials, batches)):
                setting = point.setting
                brakes = replace(
                    supervisor.brakes,
                    alpha=setting.alpha,
                    beta=setting.beta,
                    horizon=setting.horizon,
                )
                draws = stream(how.seed, "sensitivity policy", *place, trial)
                trace = run_algorithm(transitions, 0, policies[point.policy], brakes, draws)
                found.append((point, batch, trial, trace, rest))

    hits = score_sequences(
        images,
        (trace.sequence for *_, trace, _ in found),
        supervisor.denoiser,
        {"": on_device(classifier, how.device)},
        batch_size=how.network_batch,
        device=how.device,
    )

    def accuracy(sequence: Actions, indices: NDArray[np.int64]) -> float:
        return 100 * float(hits[sequence][""][indices].mean())

    return [
        {
            "point": point.name,
            **keys,
            "batch": batch,
            "trial": trial,
            "sequence": list(trace.sequence),
            "stop_reason": trace.stop_reason,
            "distance_gain": 1 - trace.distance_final / trace.distance_initial,
            "accuracy_before": accuracy((), rest),
            "accuracy_gain": accuracy(trace.sequence, rest) - accuracy((), rest),
        }
        for point, batch, trial, trace, rest in found
    ]
