"""Measure the cases of one image size."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from benchmarks.cases import CASES, GROWING, STEP_PARTS, Case, Peer, make_cases
from benchmarks.images import make_scene
from benchmarks.measure import Measured, measure, once, read_seconds
from benchmarks.peers import Processes

SHARES = (0.25, 0.5, 1, 2)
"""Sizes of the batch over which growth is measured, in shares of the number of images."""
MORE_POINTS = (4, 8)
"""And those of exact transport beyond these, which needs points only."""


@dataclass(frozen=True)
class Row:
    """A case and its peer.

    Attributes:
        name: of the case.
        ours: what our call cost.
        read: seconds of one read of its input.
        peer_name: empty without a peer.
        peer: what the peer cost, if there is one.
        flops: of the whole call, where they are simple to count.
    """

    name: str
    ours: Measured
    read: float
    peer_name: str = ""
    peer: Measured | None = None
    flops: float | None = None


@dataclass(frozen=True)
class Results:
    """All about one image size.

    Attributes:
        size: side of the images in pixels.
        count: images, or points on either side.
        dimensions: of the points.
        rows: the cases.
        made: by kind of projection, what its first image cost.
        growth: by case, seconds by number of images.
    """

    size: int
    count: int
    dimensions: int
    rows: list[Row]
    made: dict[str, Measured]
    growth: dict[str, dict[int, float]]


def growth_sizes(count: int, name: str) -> list[int]:
    """Numbers of images over which the growth of a case is measured."""
    shares = (*SHARES, *MORE_POINTS) if name == "wasserstein" else SHARES
    return [int(share * count) for share in shares]


def measure_size(
    size: int,
    count: int,
    repeats: int,
    only: Collection[str],
    processes: Processes,
    tell: Callable[[str], None],
) -> Results:
    """Measure the named cases on images of that size.

    Args:
        size: side of the images in pixels.
        count: images.
        repeats: of short calls.
        only: names of cases.
        processes: for the peers.
        tell: hears what is being measured.
    """
    tell("images")
    scene = make_scene(int(max(SHARES) * count), size)
    cases = make_cases(scene, processes, count)
    rows: dict[str, Row] = {}
    made: dict[str, Measured] = {}
    peers: dict[Peer, Measured] = {}
    # Before any peer runs: it may reuse what a case makes.
    for name, case in cases.items():
        if name in only and case.make is not None:
            tell(f"{name}: first image")
            made[name] = once(case.make)
    for name in (name for name in CASES if name in only):
        tell(name)
        case = cases[name]
        ours = measure(case.ours, count, repeats)
        peer = case.peer
        if peer is not None and peer not in peers:
            tell(f"{name}: {peer.name}")
            cost = _peer_cost(peer, cases, peers, count, repeats)
            if cost is not None:
                peers[peer] = cost
        rows[name] = Row(
            name,
            ours,
            read_seconds(case.inputs(count)),
            _peer_name(peer, count),
            peers.get(peer) if peer is not None else None,
            None if case.flops is None else case.flops * count,
        )

    growth: dict[str, dict[int, float]] = {}
    for name in (name for name in GROWING if name in only):
        growth[name] = {}
        for images in growth_sizes(count, name):
            tell(f"{name}: {images} images")
            known = images == count
            cost = rows[name].ours if known else measure(cases[name].ours, images, repeats)
            growth[name][images] = cost.seconds
    return Results(size, count, scene.projection.m, list(rows.values()), made, growth)


def _peer_name(peer: Peer | None, count: int) -> str:
    if peer is None:
        return ""
    if peer.most is not None and peer.most < count:
        return f"{peer.name} ({peer.most} images, scaled up)"
    return peer.name


def _peer_cost(
    peer: Peer, cases: dict[str, Case], known: dict[Peer, Measured], count: int, repeats: int
) -> Measured | None:
    """What the peer costs; None if it is a sum of which parts were not measured."""
    if peer.prepare is not None:
        images = count if peer.most is None else min(count, peer.most)
        cost = measure(peer.prepare, images, repeats)
        if images == count:
            return cost
        return Measured(cost.seconds * count / images, None)
    parts = [known.get(part) for part in (cases[name].peer for name in STEP_PARTS) if part]
    costs = [cost for cost in parts if cost is not None]
    if len(costs) < len(peer.parts):
        return None
    memory = [math.nan if cost.megabytes is None else cost.megabytes for cost in costs]
    return Measured(
        sum(cost.seconds for cost in costs), None if math.isnan(sum(memory)) else max(memory)
    )
