import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from superstar.classifiers.labelling import best_labels


def total(labels, costs, down, right):
    """The energies of labellings (..., rows, columns), as `best_labels` states them."""
    rows, columns, count = costs.shape
    own = costs[np.arange(rows)[:, None], np.arange(columns), labels].sum((-2, -1))
    steps = down * np.diff(labels, axis=-2) ** 2, right * np.diff(labels, axis=-1) ** 2
    return own + sum(part.sum((-2, -1)) for part in steps) / (count - 1) ** 2


def draw(rows, columns, labels, seed, stiffness=1.0, count=1):
    random = np.random.default_rng(seed)
    return (
        random.normal(size=(count, rows, columns, labels)),
        stiffness * random.random((count, rows - 1, columns)),
        stiffness * random.random((count, rows, columns - 1)),
    )


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(3, 3, 2), (3, 3, 3), (4, 3, 2), (2, 4, 3), (2, 3, 4), (1, 5, 3), (1, 1, 2)]),
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.5, 2.0, 8.0]),
)
def test_no_other_labelling_is_better(shape, seed, stiffness):
    rows, columns, labels = shape
    costs, down, right = draw(rows, columns, labels, seed, stiffness)
    found = best_labels(costs, down, right)[0]
    every = np.array(list(itertools.product(range(labels), repeat=rows * columns)))
    energies = total(every.reshape(-1, rows, columns), costs[0], down[0], right[0])
    assert total(found, costs[0], down[0], right[0]) == pytest.approx(energies.min(), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_large_grid_agrees_with_scipys_maximum_flow(seed):
    side, scale = 16, 10_000
    costs, down, right = draw(side, side, 2, seed, 1.5)
    whole = [np.rint(part * scale).astype(np.int32)[0] for part in (costs, down, right)]
    found = best_labels(*(part[None] / scale for part in whole))[0]
    cells = np.arange(side**2).reshape(side, side)
    source, sink = side**2, side**2 + 1
    excess = (whole[0][..., 0] - whole[0][..., 1]).ravel()
    arcs = [
        (np.full(side**2, source), cells.ravel(), np.maximum(excess, 0)),
        (cells.ravel(), np.full(side**2, sink), np.maximum(-excess, 0)),
    ]
    for one, other, weight in (
        (cells[:-1], cells[1:], whole[1]),
        (cells[:, :-1], cells[:, 1:], whole[2]),
    ):
        arcs += [(one.ravel(), other.ravel(), weight.ravel())]
        arcs += [(other.ravel(), one.ravel(), weight.ravel())]
    tails, heads, capacities = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
    graph = csr_array((capacities, (tails, heads)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink).flow_value
    lowest = whole[0].min(axis=-1).sum() + flow
    assert total(found, *whole) == lowest


def test_without_neighbours_each_cell_takes_its_cheapest_label():
    costs, down, right = draw(6, 5, 4, seed=0, stiffness=0.0, count=3)
    np.testing.assert_array_equal(best_labels(costs, down, right), costs.argmin(-1))


def test_stiff_neighbours_all_agree():
    costs, down, right = draw(6, 5, 3, seed=0, count=4)
    found = best_labels(costs, down + 100, right + 100)
    cheapest = costs.sum((1, 2)).argmin(-1)
    np.testing.assert_array_equal(found, np.broadcast_to(cheapest[:, None, None], found.shape))


def test_grids_do_not_bear_on_one_another():
    costs, down, right = draw(8, 8, 3, seed=1, count=5)
    together = best_labels(costs, down, right)
    alone = [best_labels(costs[n : n + 1], down[n : n + 1], right[n : n + 1]) for n in range(5)]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_of_equal_labellings_the_lowest_is_taken():
    found = best_labels(np.zeros((1, 3, 3, 3)), np.ones((1, 2, 3)), np.ones((1, 3, 2)))
    assert (found == 0).all()
