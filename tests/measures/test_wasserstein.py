from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance as on_the_line

from benchmarks.agreement.measuring import distances_of, points_of, shifted
from benchmarks.agreement.released import read_released
from benchmarks.agreement.setups import cifar100
from superstar.errors import InputError
from superstar.measures import Distance, Projection, points_distance, wasserstein_distance
from superstar.measures.wasserstein import euclidean_distances

SHARED = Path(__file__).parents[2].parent / "shared"


def cloud(count, dimensions, seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(count, dimensions, generator=generator)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_equals_scipy_in_one_dimension(first, second, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(first, 1)), rng.normal(1, 2, size=(second, 1))
    expected = on_the_line(a[:, 0], b[:, 0])
    distance = points_distance(torch.from_numpy(a), torch.from_numpy(b))
    assert distance == pytest.approx(expected, abs=1e-9)


def test_equals_the_best_assignment_of_equal_sets():
    a, b = cloud(60, 40, 0), cloud(60, 40, 1, scale=2.0)
    cost = cdist(a.double(), b.double())
    expected = cost[linear_sum_assignment(cost)].mean()
    assert points_distance(a, b) == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_is_a_metric(seed):
    a, b, c = (cloud(12, 5, seed + k, scale=1 + k) for k in range(3))
    assert points_distance(a, a[torch.randperm(12)]) == 0
    assert points_distance(a, b) == pytest.approx(points_distance(b, a), rel=1e-9)
    assert points_distance(a, c) <= points_distance(a, b) + points_distance(b, c) + 1e-9


def test_a_translation_is_its_length():
    a = cloud(50, 8, 0)
    assert points_distance(a, a + 3) == pytest.approx(3 * 8**0.5, rel=1e-6)


@given(st.integers(-99, 90), st.sampled_from([1, 2]), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_follows_the_unit_of_the_points(exponent, p, seed):
    a, b = cloud(30, 4, seed).double(), cloud(20, 4, seed + 1).double()
    scale = 2.0**exponent
    distance = Distance.create("wasserstein", p=p)
    assert distance(a * scale, b * scale) / scale == pytest.approx(distance(a, b), rel=1e-12)


def test_repeating_a_set_changes_nothing():
    a, b = cloud(20, 6, 0), cloud(15, 6, 1)
    assert points_distance(a, b.repeat(3, 1)) == pytest.approx(points_distance(a, b), rel=1e-9)


def test_ground_costs_are_accurate_near_and_far():
    a = cloud(30, 50, 0, scale=1000.0).double().numpy()
    b = np.concatenate([a[:10], a[10:20] + 1e-6, a[20:] * 2])
    costs = euclidean_distances(torch.from_numpy(a), torch.from_numpy(b))
    np.testing.assert_allclose(costs, cdist(a, b), rtol=1e-9, atol=1e-12)
    assert (np.diag(costs)[:10] == 0).all()


def test_images_and_their_points_are_the_same_reference():
    generator = torch.Generator().manual_seed(0)
    reference, images = torch.rand(2, 12, 3, 16, 16, generator=generator)
    projection = Projection.create("dct", n=256, m=30, mean=(0.5,) * 3, std=(0.25,) * 3)
    distance = wasserstein_distance(reference, images, projection)
    assert distance == wasserstein_distance(projection(reference), images, projection)
    assert wasserstein_distance(images, images, projection) == 0
    assert wasserstein_distance(images, images * 0.2, projection) > distance


def test_projection_never_lengthens_a_distance():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.rand(2, 10, 3, 16, 16, generator=generator)
    normal = {"mean": (0.0,) * 3, "std": (1.0,) * 3}
    distances = [
        wasserstein_distance(a, b**2, Projection.create("dct", n=256, m=m, **normal))
        for m in (8, 64, 256)
    ]
    assert distances[0] < distances[2]
    assert distances[1] < distances[2]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the released figures and images are absent")
def test_agrees_with_the_released_distances():
    released = read_released(SHARED / "reference", ["cifar100"])
    setup = cifar100(SHARED / "data" / "cifar100", draws=2)
    clean = points_of(setup, setup.validation)
    for surrogate in ("uniform_noise", "gamma_increase"):
        for severity in (1, 5):
            ours = distances_of(setup, clean, shifted(setup, surrogate, severity)).mean()
            theirs = released.distance("cifar100", surrogate, severity)
            assert ours == pytest.approx(theirs, rel=0.05), (surrogate, severity)


def test_refuses_nan_and_other_dimensions():
    a = cloud(4, 3, 0)
    spoilt = a.clone()
    spoilt[2, 1] = torch.nan
    with pytest.raises(InputError, match="first in point 2"):
        points_distance(a, spoilt)
    with pytest.raises(InputError, match="different dimensions: 3 and 2"):
        points_distance(a, a[:, :2])
    with pytest.raises(InputError, match="points"):
        points_distance(a, a[:0])


def test_says_so_when_the_solver_stops_early(monkeypatch):
    monkeypatch.setattr("superstar.measures.wasserstein._ITERATIONS", 1)
    with (
        pytest.warns(UserWarning, match="numItermax"),
        pytest.raises(RuntimeError, match="did not converge"),
    ):
        points_distance(cloud(50, 5, 0), cloud(50, 5, 1))
