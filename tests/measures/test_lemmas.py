"""Lemma 1 of the paper and its corollary, section Dimensionality Reduction."""

import numpy as np
import ot
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from superstar.images import from_uint8
from superstar.measures import Projection, points_distance
from superstar.photos import photo_patches

ROUNDING = 1e-9
seeds = st.integers(0, 2**32 - 1)


def wasserstein(a, b, p):
    """W_p between two sets of points of equal weight, by POT."""
    cost = cdist(a, b) ** p
    return float(ot.emd2([], [], cost)) ** (1 / p)


def clouds(rng, count, n):
    """Point sets of different sizes, places and scales in n dimensions."""
    return [
        rng.normal(rng.normal(size=n), rng.uniform(0.1, 3), size=(rng.integers(1, 13), n))
        for _ in range(count)
    ]


def orthonormal_map(rng, n):
    """x -> V x + b with V in O(m, n), for m from 1 to n and any b."""
    m = int(rng.integers(1, n + 1))
    rows = np.linalg.qr(rng.normal(size=(n, m)))[0].T
    offset = rng.normal(0, 10, size=m)
    return lambda points: points @ rows.T + offset


@pytest.mark.parametrize("p", [1, 2])
@given(seed=seeds, n=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_lemma_1_an_orthonormal_projection_never_lengthens_a_distance(p, seed, n):
    rng = np.random.default_rng(seed)
    mu, nu = clouds(rng, 2, n)
    project = orthonormal_map(rng, n)
    assert wasserstein(project(mu), project(nu), p) <= wasserstein(mu, nu, p) + ROUNDING


@pytest.mark.parametrize("p", [1, 2])
def test_a_projection_that_is_not_orthonormal_may_lengthen_it(p):
    rng = np.random.default_rng(0)
    longer = 0
    for _ in range(50):
        mu, nu = clouds(rng, 2, 6)
        matrix = rng.normal(size=(3, 6)) / 3**0.5
        longer += wasserstein(mu @ matrix.T, nu @ matrix.T, p) > wasserstein(mu, nu, p)
    assert longer > 10


@pytest.mark.parametrize("p", [1, 2])
@given(seed=seeds, n=st.integers(1, 8), kept=st.floats(0.9, 1))
@settings(max_examples=60, deadline=None)
def test_the_corollary_a_small_enough_loss_keeps_the_order(p, seed, n, kept):
    """Whenever W(mu, nu) >= W(rho, zeta) and the first pair loses at most what the second does,
    epsilon = W(rho, zeta) - W(projected rho, zeta), the projected distances keep that order.

    The projection drops coordinates, and mu and nu differ in it by a small share at most, so that
    most draws meet the condition.
    """
    rng = np.random.default_rng(seed)
    mu, rho, zeta = clouds(rng, 3, n + 1)
    step = np.zeros(n + 1)
    step[0], step[-1] = kept, (1 - kept**2) ** 0.5
    nu = mu + step * wasserstein(rho, zeta, p) * rng.uniform(1, 1.5)
    turned = np.linalg.qr(rng.normal(size=(n + 1, n + 1)))[0]
    mu, nu, rho, zeta = (points @ turned for points in (mu, nu, rho, zeta))
    rows = turned[: int(rng.integers(1, n + 1))]
    far, near = wasserstein(mu, nu, p), wasserstein(rho, zeta, p)
    far_projected = wasserstein(mu @ rows.T, nu @ rows.T, p)
    near_projected = wasserstein(rho @ rows.T, zeta @ rows.T, p)
    assume(far >= near and far - far_projected <= near - near_projected)
    assert far_projected >= near_projected - ROUNDING


def test_the_corollary_needs_its_condition():
    # The farther pair differs in what the projection drops, so it comes out the nearer one.
    mu, nu = np.zeros((1, 2)), np.array([[0.0, 2.0]])
    rho, zeta = np.zeros((1, 2)), np.array([[1.0, 0.0]])
    rows = np.array([[1.0, 0.0]])
    assert wasserstein(mu, nu, 1) > wasserstein(rho, zeta, 1)
    assert wasserstein(mu @ rows.T, nu @ rows.T, 1) < wasserstein(rho @ rows.T, zeta @ rows.T, 1)


@pytest.fixture(scope="module")
def photos():
    patches = photo_patches(size=16, counts={"validation": 120})["validation"]
    return from_uint8(patches.images)


@pytest.mark.parametrize("kind", ["dct", "uniform_qr", "haar"])
def test_lemma_1_on_images(photos, kind):
    mean, std = (0.45, 0.4, 0.5), (0.25, 0.2, 0.3)
    weights = torch.tensor([0.299, 0.587, 0.114])[:, None, None]
    scale, shift = torch.tensor(std)[:, None, None], torch.tensor(mean)[:, None, None]
    clean, others = photos[:60], photos[60:]
    for images in (others, others**2, others.flip(3) * 0.5):
        gray = [(weights * (x - shift) / scale).sum(1).flatten(1) for x in (clean, images)]
        for m in (1, 20, 256):
            project = Projection.create(kind, n=256, m=m, seed=3, mean=mean, std=std)
            points = project(clean), project(images)
            limit = 1 + 1e-5
            assert points_distance(*points) <= points_distance(*gray) * limit
            assert wasserstein(*points, p=2) <= wasserstein(*gray, p=2) * limit
