import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from superstar.errors import InputError
from superstar.measures import Distance
from superstar.measures.cai_lim import cai_lim_distance


def cloud(count, dimensions, seed):
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(count, dimensions, generator=generator, dtype=torch.float64)
    return points * torch.linspace(0.5, 2, dimensions, dtype=torch.float64)


def rows(m, n, seed):
    generator = torch.Generator().manual_seed(seed)
    square = torch.randn(n, m, generator=generator, dtype=torch.float64)
    return torch.linalg.qr(square)[0].T


@pytest.mark.parametrize("p", [1, 2])
@given(st.integers(1, 25), st.integers(1, 8), st.integers(0, 40), st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_a_projection_and_an_offset_cost_nothing(p, count, m, more, seed):
    a = cloud(count, m + more, seed)
    b = a @ rows(m, m + more, seed).T + 7
    assert cai_lim_distance(a, b, p=p, restarts=0) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("p", [1, 2])
@given(st.integers(2, 15), st.integers(2, 15), st.integers(1, 3), st.integers(0, 1000))
@settings(max_examples=4, deadline=None)
def test_is_at_most_the_distance_of_a_given_projection(p, first, second, m, seed):
    a, b = cloud(first, 5, seed), cloud(second, m, seed + 1)
    given_map = a @ rows(m, 5, seed + 2).T
    bound = Distance.create("wasserstein", p=p)(given_map, b)
    assert 0 <= cai_lim_distance(a, b, p=p, restarts=3) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_offsets_change_nothing_and_lengths_scale(seed):
    a, b = cloud(12, 4, seed), cloud(9, 2, seed + 1)
    plain = cai_lim_distance(a, b, restarts=1)
    assert cai_lim_distance(8 * a - 5, 8 * b + 3, restarts=1) == pytest.approx(8 * plain, rel=1e-6)


def test_a_set_turned_and_shuffled_is_recognised():
    # Axes of different variance and skewed: the principal axes tell how to turn back.
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(60, 3, generator=generator).exp().double() * torch.tensor([1.0, 3.0, 9.0])
    b = (a @ rows(3, 3, 1).T)[torch.randperm(60, generator=generator)]
    assert cai_lim_distance(a, b, restarts=0) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("p", [1, 2])
def test_finds_the_best_angle_in_the_plane(p):
    a, b = cloud(15, 2, 3), cloud(11, 1, 4)
    distance = Distance.create("wasserstein", p=p)
    centred = b - b.mean(0)
    best = min(
        distance((a - a.mean(0)) @ torch.tensor([[np.cos(t)], [np.sin(t)]]) + shift, centred)
        for t in np.linspace(0, 2 * np.pi, 60, endpoint=False)
        for shift in (np.linspace(-0.6, 0.6, 7) if p == 1 else [0.0])
    )
    assert cai_lim_distance(a, b, p=p, restarts=20) <= best * 1.01


def test_many_dimensions_of_few_points_are_left_out():
    a = cloud(6, 3000, 0)
    b = a[:, :4] * 0.01
    # Six points in general position have a map that shrinks them to any small enough set.
    assert cai_lim_distance(a, b, restarts=0) == pytest.approx(0, abs=1e-6)


def test_more_starts_never_raise_it_and_the_seed_decides():
    a, b = cloud(20, 6, 0), cloud(25, 3, 1)
    few, again, many = (cai_lim_distance(a, b, restarts=n, seed=2) for n in (1, 1, 4))
    assert few == again
    assert many <= few


def test_flat_sets_are_measured():
    ones = torch.ones(5, 3)
    assert cai_lim_distance(ones, torch.zeros(4, 2)) == 0
    spread = torch.tensor([[0.0], [2.0]])
    assert cai_lim_distance(ones, spread) == pytest.approx(1)
    assert cai_lim_distance(ones, spread, p=2) == pytest.approx(1)


def test_refuses_bad_arguments():
    a, b = cloud(5, 3, 0), cloud(5, 2, 1)
    with pytest.raises(InputError, match="exchange them"):
        cai_lim_distance(b, a)
    with pytest.raises(InputError, match="not 3"):
        cai_lim_distance(a, b, p=3)
    with pytest.raises(InputError, match=r"restarts .* not -1"):
        cai_lim_distance(a, b, restarts=-1)
    with pytest.raises(InputError, match=r"iterations .* not 0"):
        cai_lim_distance(a, b, iterations=0)
    with pytest.raises(InputError, match="NaN"):
        cai_lim_distance(a * torch.nan, b)
