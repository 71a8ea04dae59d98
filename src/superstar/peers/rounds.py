"""Every front before every peer, batch after batch."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from superstar.peers.fronts import Front
from superstar.peers.peer import Peer
from superstar.peers.switching import Switching

UNTOUCHED = "nothing"
"""In place of a front, or of a peer."""

ORACLE = "oracle"
"""The front that served a batch best, known from its labels."""

Maker = Callable[[Front], Peer]
"""A peer from what corrects images for it, which those that choose between the two want."""


def go_through(
    batches: Sequence[Tensor],
    labels: Sequence[NDArray[np.int64]],
    fronts: Mapping[str, Front],
    peers: Mapping[str, Mapping[str, Mapping[str, Maker]]],
    every: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Adapt to each batch, then predict it.

    Args:
        batches: images in the order in which they come, float32 (N, 3, H, W) in [0, 1].
        labels: of each batch, (N,).
        fronts: by name.
        peers: by front, then by classifier, the peers behind it by name.
        every: slow peers are asked for one image in so many.

    Returns:
        A row a front, classifier and peer: their names, `hits`, whether each image's class was
        found, float32 (images,), NaN where it was not asked for; `front_seconds` and `peer_seconds`
        of processor time an image, medians over batches.
    """
    rows = []
    truth = np.concatenate(labels)
    for front, correct in fronts.items():
        corrected, front_seconds = _timed(correct, batches)
        behind = [(of, *peer) for of, some in peers[front].items() for peer in some.items()]
        for classifier, name, make in behind:
            made = dict(zip(map(id, batches), corrected, strict=True))
            peer = make(lambda batch, made=made: made[id(batch)])  # type: ignore[misc]
            inputs = batches if isinstance(peer, Switching) else corrected
            step = every.get(name, 1)
            asked = inputs if step == 1 else [batch[::step] for batch in inputs]
            answers, seconds = _timed(partial(_adapt_and_predict, peer), asked)
            places = np.concatenate([np.arange(len(batch)) % step == 0 for batch in inputs])
            hits = np.full(len(truth), np.nan, np.float32)
            hits[places] = np.concatenate(answers) == truth[places]
            took = {"front_seconds": front_seconds, "peer_seconds": seconds}
            asked_for = {"classifier": classifier, "front": front, "peer": name}
            rows.append({**asked_for, "hits": hits, **took})
    return rows


def best_by_labels(rows: Sequence[Mapping[str, Any]], batch_size: int) -> dict[str, Any]:
    """A row of `ORACLE`: for each batch the answers behind the front that gave most hits.

    Args:
        rows: of `go_through` with one classifier; those without a peer count.
        batch_size: images of each batch; the last may be smaller.
    """
    hits = np.stack([row["hits"] for row in rows if row["peer"] == UNTOUCHED])
    best = hits[0].copy()
    for start in range(0, hits.shape[1], batch_size):
        part = hits[:, start : start + batch_size]
        best[start : start + batch_size] = part[part.sum(1).argmax()]
    unknown = {"front_seconds": np.nan, "peer_seconds": np.nan}
    return {**rows[0], "front": ORACLE, "peer": UNTOUCHED, "hits": best, **unknown}


def _adapt_and_predict(peer: Peer, batch: Tensor) -> NDArray[np.int64]:
    peer.adapt(batch)
    return peer.predict(batch).argmax(1).numpy()


def _timed(function: Callable[[Tensor], Any], batches: Sequence[Tensor]) -> tuple[list[Any], float]:
    """Results, and seconds of processor time an image: the median over batches."""
    results, seconds = [], []
    for batch in batches:
        start = time.process_time()
        results.append(function(batch))
        seconds.append((time.process_time() - start) / len(batch))
    return results, float(np.median(seconds))
