"""One shifted set under every policy and under the oracles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from superstar.classifiers import predict
from superstar.control.algorithm import Brakes, run_algorithm
from superstar.control.networks import Policy
from superstar.control.oracle import Score, best_sequence
from superstar.control.scoring import score_sequences
from superstar.control.supervisor import Supervisor
from superstar.control.transitions import Prefix
from superstar.images import Images, stream
from superstar.weights import on_device

BRAKED, FREE = "paper", "unbraked"
"""Controllers: the paper's, and the same without operability tree and β, as in training."""
LEARNED, ORACLE = "learned", "oracle"
BY_DISTANCE, BY_ACCURACY = "oracle (distance)", "oracle (accuracy)"


@dataclass(frozen=True)
class Search:
    """How a set is searched.

    Attributes:
        batch_size: images that choose; the rest of the set scores what they chose.
        exhaustive: length up to which all sequences are looked at.
        width: of the beam beyond that.
        memory_limit: bytes of images to keep.
        network_batch: images that go through networks together.
        device: where these compute.
        seed: of the draws.
    """

    batch_size: int
    exhaustive: int
    width: int
    memory_limit: int
    network_batch: int
    device: str
    seed: int


def compare(
    keys: Mapping[str, Any],
    images: Images,
    supervisor: Supervisor,
    policies: Mapping[str, Sequence[Policy]],
    classifier: nn.Module,
    search: Search,
) -> list[dict[str, Any]]:
    """Rows of one set: one a controller, policy and seed, and one a controller and oracle.

    All choose by the same images, drawn from the set: policies and the oracle of distance by these
    images' distance, the oracle of accuracy by how often the classifier is right on them. What
    the chosen sequences do for accuracy is measured on the rest of the set.

    Args:
        keys: columns that name the set.
        images: the set, of more images than a batch has.
        supervisor: whose distance, actions and brakes count.
        policies: by name, one a seed.
        classifier: whose accuracy counts.
        search: how.

    Returns:
        Rows with `keys`, `controller`, `policy`, `seed`, `sequence` (list of names),
        `distance_before` and `distance_gain` (relative fall) of the batch, `accuracy_before`
        (percent, of the rest), `accuracy_gain_chosen` (points, of the batch), `accuracy_gain`
        (points, of the rest) and `changes` (int8 (N,): 1 where the classifier becomes right, -1
        where it becomes wrong, 0 in the batch).
    """
    supervisor, classifier = supervisor.on(search.device), on_device(classifier, search.device)
    place = [str(value) for value in keys.values()]
    rng = stream(search.seed, "oracle", *place)
    order = rng.permutation(len(images))
    chosen, rest = order[: search.batch_size], order[search.batch_size :]
    labels = torch.from_numpy(np.array(images.labels[chosen]))
    transitions = supervisor.transitions([images.batch(chosen)], search.memory_limit)

    @cache
    def accuracy(prefix: Prefix) -> float:
        said = predict(
            classifier, transitions.images(0, prefix), search.network_batch, search.device
        )
        return 100 * float((said == labels).double().mean())

    def distance_gain(prefix: Prefix) -> float:
        return 1 - transitions.distance_at(0, prefix) / transitions.distance_at(0)

    brakes = {  # in this order: what each allows the next one allows, too
        BRAKED: supervisor.brakes,
        FREE: Brakes(supervisor.alpha, None, None, supervisor.horizon),
    }
    found: list[tuple[str, str, int, Prefix]] = []
    for controller, stops in brakes.items():
        for name, seeds in policies.items():
            for seed, policy in enumerate(seeds):
                draws = stream(search.seed, "oracle policy", *place, controller, name, seed)
                trace = run_algorithm(transitions, 0, policy, stops, draws)
                found.append((controller, name, seed, trace.prefix))
        scores: dict[str, Score] = {BY_DISTANCE: distance_gain, BY_ACCURACY: accuracy}
        # What the brakes allow is allowed without them, and comes first.
        known = [prefix for _, _, _, prefix in found]
        # What one oracle comes across is open to the other.
        for _ in range(2):
            known += [
                best_sequence(
                    transitions,
                    0,
                    score,
                    brakes=stops,
                    exhaustive=search.exhaustive,
                    width=search.width,
                    known=known,
                )
                for score in scores.values()
            ]
        found += [
            (controller, name, 0, prefix) for name, prefix in zip(scores, known[-2:], strict=True)
        ]

    named = {prefix: tuple(supervisor.actions[i] for i in prefix) for *_, prefix in found}
    hits = score_sequences(
        images.take(rest),
        named.values(),
        supervisor.denoiser,
        {"": classifier},
        batch_size=search.network_batch,
        device=search.device,
    )
    before = hits[()][""]

    def changes(prefix: Prefix) -> NDArray[np.int8]:
        values = np.zeros(len(images), np.int8)
        values[rest] = hits[named[prefix]][""].astype(np.int8) - before
        return values

    return [
        {
            **keys,
            "controller": controller,
            "policy": name,
            "seed": seed,
            "sequence": list(named[prefix]),
            "distance_before": transitions.distance_at(0),
            "distance_gain": distance_gain(prefix),
            "accuracy_before": 100 * float(before.mean()),
            "accuracy_gain_chosen": accuracy(prefix) - accuracy(()),
            "accuracy_gain": 100 * float(changes(prefix).sum()) / len(rest),
            "changes": changes(prefix),
        }
        for controller, name, seed, prefix in found
    ]
