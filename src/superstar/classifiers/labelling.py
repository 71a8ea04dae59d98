"""Labels of the cells of a grid that are best together: exact, by minimum cuts."""

from functools import lru_cache

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

RESOLUTION = 2.0**40
"""Costs become whole multiples of 1 / this, so that flows add up."""

_UNBOUNDED = 2**61


def best_labels(
    costs: NDArray[np.float64], down: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Minimise the costs of all cells' labels and of neighbours that differ.

    The energy of labels l is the sum of costs[cell, l] over the cells, and of weight · (l − l')² /
    (L − 1)² over pairs of neighbours. As the second part is convex in l − l', its minimum is that
    of a cut (Ishikawa, IEEE TPAMI 2003): each cell becomes a chain of L − 1 nodes, cut behind the
    label's own. The maximum flow is found with Dinic's algorithm. Costs are rounded to 2⁻⁴⁰.

    Args:
        costs: of each label in each cell, float64 (N, rows, columns, L), L at least 2, of
            magnitude 1 or so (below 1,000).
        down: weights of a cell and the one below it, at least 0, (N, rows − 1, columns).
        right: weights of a cell and the one to its right, at least 0, (N, rows, columns − 1).

    Returns:
        int64 (N, rows, columns), in 0 to L − 1. Where several labellings are best, the one with
        the lowest labels.
    """
    count, rows, columns, labels = costs.shape
    levels = labels - 1
    # (l − l')² is what each of the (L − 1)² pairs of nodes costs if cut, but for l·(l − L + 1) on
    # either side, as a label is the number of its chain's nodes before the cut.
    own = np.arange(labels) * (np.arange(labels) - levels) / levels**2
    around = np.zeros((count, rows, columns))
    around[:, :-1] += down
    around[:, 1:] += down
    around[:, :, :-1] += right
    around[:, :, 1:] += right
    whole = costs + around[..., None] * own
    whole -= whole.min(axis=-1, keepdims=True)
    bounds = [
        np.rint(part * RESOLUTION).astype(np.int64).reshape(count, -1)
        for part in (whole, down / levels**2, right / levels**2)
    ]
    fixed = np.tile(np.array([0, _UNBOUNDED]), (count, 1))
    capacities = np.concatenate([*bounds, fixed], axis=1)
    chosen = np.empty((count, rows * columns), np.int64)
    first, heads, reverses, places = _graph(rows, columns, levels)
    _cut_all(capacities, first, heads, reverses, places, levels, chosen)
    return chosen.reshape(count, rows, columns)


@lru_cache(maxsize=8)
def _graph(rows: int, columns: int, levels: int) -> tuple[NDArray[np.int64], ...]:
    """The arcs, ordered by tail: where each tail's begin, heads, reverses, capacities' places.

    Node cell · levels + a is the a-th of a cell's chain, then come source and sink. Capacities
    stand in a row: costs of labels, weights down, weights right, zero, unbounded.
    """
    cells = np.arange(rows * columns).reshape(rows, columns)
    source, sink = cells.size * levels, cells.size * levels + 1
    costs, downs = cells.size * (levels + 1), (rows - 1) * columns
    zero = costs + downs + rows * (columns - 1)
    unbounded = zero + 1
    arcs: list[tuple[int, int, int, int]] = []
    for cell in range(cells.size):
        chain = [source, *range(cell * levels, (cell + 1) * levels), sink]
        for label in range(levels + 1):
            inner = 0 < label < levels
            back = unbounded if inner else zero
            arcs.append((chain[label], chain[label + 1], cell * (levels + 1) + label, back))
    pairs = [
        *zip(_row(cells[:-1]), _row(cells[1:]), range(costs, costs + downs), strict=True),
        *zip(_row(cells[:, :-1]), _row(cells[:, 1:]), range(costs + downs, zero), strict=True),
    ]
    for one, other, weight in pairs:
        for a in range(levels):
            for b in range(levels):
                arcs.append((one * levels + a, other * levels + b, weight, weight))
    tails = np.array([end for arc in arcs for end in (arc[0], arc[1])])
    heads = np.array([end for arc in arcs for end in (arc[1], arc[0])])
    places = np.array([place for arc in arcs for place in (arc[2], arc[3])])
    order = np.argsort(tails, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    first = np.searchsorted(tails[order], np.arange(sink + 2))
    return first, heads[order], position[order ^ 1], places[order]


def _row(cells: NDArray[np.int64]) -> list[int]:
    return [int(cell) for cell in cells.flat]


@njit(cache=True, parallel=True)
def _cut_all(
    capacities: NDArray[np.int64],
    first: NDArray[np.int64],
    heads: NDArray[np.int64],
    reverses: NDArray[np.int64],
    places: NDArray[np.int64],
    levels: int,
    chosen: NDArray[np.int64],
) -> None:
    for n in prange(len(capacities)):
        residual = capacities[n][places]
        depth = _cut(residual, first, heads, reverses)
        for cell in range(chosen.shape[1]):
            label = 0
            for a in range(levels):
                label += depth[cell * levels + a] >= 0
            chosen[n, cell] = label


@njit(cache=True)
def _cut(
    residual: NDArray[np.int64],
    first: NDArray[np.int64],
    heads: NDArray[np.int64],
    reverses: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Dinic's maximum flow; what the source still reaches has a depth of 0 or more."""
    nodes = len(first) - 1
    source, sink = nodes - 2, nodes - 1
    depth, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    path = np.empty(nodes, np.int64)
    while _reach(residual, first, heads, depth, queue, source, sink):
        following = first[:-1].copy()
        node, length = source, 0
        while True:
            if node == sink:
                flow = residual[path[0]]
                for step in range(1, length):
                    flow = min(flow, residual[path[step]])
                saturated = length
                for step in range(length - 1, -1, -1):
                    arc = path[step]
                    residual[arc] -= flow
                    residual[reverses[arc]] += flow
                    if residual[arc] == 0:
                        saturated = step
                length = saturated
                node = heads[reverses[path[length]]]
                continue
            advanced = False
            while following[node] < first[node + 1]:
                arc = following[node]
                if residual[arc] > 0 and depth[heads[arc]] == depth[node] + 1:
                    path[length] = arc
                    length += 1
                    node = heads[arc]
                    advanced = True
                    break
                following[node] += 1
            if advanced:
                continue
            if node == source:
                break
            depth[node] = -1
            length -= 1
            node = heads[reverses[path[length]]]
    return depth


@njit(cache=True)
def _reach(
    residual: NDArray[np.int64],
    first: NDArray[np.int64],
    heads: NDArray[np.int64],
    depth: NDArray[np.int64],
    queue: NDArray[np.int64],
    source: int,
    sink: int,
) -> bool:
    """Whether the sink is reached from the source; the depth of what is, -1 elsewhere."""
    depth[:] = -1
    depth[source] = 0
    queue[0] = source
    taken, seen = 0, 1
    while taken < seen:
        node = queue[taken]
        taken += 1
        for arc in range(first[node], first[node + 1]):
            head = heads[arc]
            if residual[arc] > 0 and depth[head] < 0:
                depth[head] = depth[node] + 1
                queue[seen] = head
                seen += 1
    return depth[sink] >= 0
