import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superstar.control.clustering import cluster_states, elbow
from superstar.errors import InputError


def blobs(*centres, count=30, spread=0.02, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(centre, spread, (count, 3)) for centre in centres])


@pytest.mark.parametrize(
    ("inertias", "expected"),
    [
        ([100, 20, 15, 12, 10], 2),
        ([100, 60, 20, 18, 16, 14], 3),
        ([50, 40, 30, 20, 10], 1),
        ([7.0], 1),
        ([5, 0], 1),
    ],
)
def test_the_elbow_is_where_the_curve_bends(inertias, expected):
    assert elbow(inertias) == expected


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=10, unique=True),
    st.floats(0.5, 8),
    st.floats(-50, 50),
)
def test_the_scale_of_the_inertia_has_no_bearing_on_the_elbow(values, factor, offset):
    curve = np.sort(np.array(values, float))[::-1]
    gaps = np.sort(np.linspace(curve[0], curve[-1], len(curve)) - curve)
    if gaps[-1] - gaps[-2] > 1e-6:
        assert elbow(factor * curve + offset) == elbow(curve)


@pytest.mark.parametrize("order", [[0, 1], [2, 0, 1], [1, 2, 0]])
def test_blobs_are_found_and_numbered_by_entropy(order):
    centres = np.array([[1.5, 0.2, 1.0], [1.0, 3.0, 2.5], [0.5, 0.3, 4.0]])
    counts = np.array([10, 40, 20])
    parts = [blobs(centres[which], count=counts[which], seed=which) for which in order]
    found = cluster_states(np.concatenate(parts))
    assert found.k == len(order)
    np.testing.assert_array_equal(found.labels, np.repeat(order, counts[order]))
    np.testing.assert_allclose(found.centres, centres[sorted(order)], atol=0.05)


def test_inertias_are_what_they_are_called():
    states = blobs([0.5, 0.2, 1.0], [1.5, 0.3, 4.0], spread=0.3).astype(np.float32)
    found = cluster_states(states, most=6)
    assert len(found.inertias) == 6
    assert (np.diff(found.inertias) < 0).all()
    assert found.inertias[0] == pytest.approx(len(states) * states.var(axis=0).sum(), rel=1e-5)
    within = ((states - found.centres[found.labels]) ** 2).sum()
    assert found.inertias[found.k - 1] == pytest.approx(within, rel=1e-5)
    for cluster, centre in enumerate(found.centres):
        np.testing.assert_allclose(states[found.labels == cluster].mean(0), centre, atol=1e-5)


def test_few_different_states_allow_few_clusters():
    found = cluster_states(np.repeat([[1.0, 0.2, 3.0]], 5, axis=0))
    assert found.k == 1
    assert found.inertias.tolist() == [0.0]
    assert len(cluster_states([[1.0, 0.2, 3.0], [0.5, 0.2, 3.0]] * 3).inertias) == 2


def test_the_same_seed_gives_the_same_clusters():
    states = np.random.default_rng(0).random((80, 3))
    first, again = cluster_states(states, seed=4), cluster_states(states, seed=4)
    np.testing.assert_array_equal(first.labels, again.labels)


@pytest.mark.parametrize(
    ("states", "options", "message"),
    [
        (np.zeros((4, 2)), {}, "states must have shape"),
        (np.full((4, 3), np.nan), {}, "NaN"),
        (np.zeros((4, 3)), {"most": 0}, "at least 1, not 0"),
    ],
)
def test_bad_input_is_named(states, options, message):
    with pytest.raises(InputError, match=message):
        cluster_states(states, **options)


def test_an_elbow_needs_a_curve():
    with pytest.raises(InputError, match="at least one number of clusters"):
        elbow([])
