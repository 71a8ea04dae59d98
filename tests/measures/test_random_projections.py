import json

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.random_projection import SparseRandomProjection

from superstar.measures import Projection

NORMAL = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
ORTHONORMAL = ["dct", "uniform_qr", "haar"]
KINDS = [*ORTHONORMAL, "gaussian", "sparse"]


def projected(kind, pixels, m=40, seed=0):
    """Gray images (N, n) with values in [0, 1] to points (N, m)."""
    count, n = pixels.shape
    projection = Projection.create(kind, n=n, m=m, seed=seed, **NORMAL)
    images = pixels.float().reshape(count, 1, int(n**0.5), -1).expand(-1, 3, -1, -1)
    return projection(images.contiguous()).double().numpy()


def matrix(kind, side=16, m=40, seed=0):
    """The projection's matrix (m, n), column by column from images with one white pixel."""
    return projected(kind, torch.eye(side * side), m, seed).T


def lengths_of_white(kind, draws=60):
    """Share of the length of a constant image that each of several projections keeps."""
    white = torch.ones(1, 256)
    return np.array([np.linalg.norm(projected(kind, white, seed=s)) / 16 for s in range(draws)])


@pytest.mark.parametrize("kind", ORTHONORMAL)
def test_rows_are_orthonormal(kind):
    for side, m in ((16, 40), (32, 500), (16, 256)):
        rows = matrix(kind, side, m)
        np.testing.assert_allclose(rows @ rows.T, np.eye(m), atol=1e-5)


def test_a_change_of_brightness_passes_through_some_and_shrinks_in_others():
    shrunk = (40 / 256) ** 0.5
    np.testing.assert_allclose(lengths_of_white("dct", 3), 1, atol=1e-5)
    np.testing.assert_allclose(lengths_of_white("uniform_qr", 20), 1, atol=0.02)
    assert lengths_of_white("haar").mean() == pytest.approx(shrunk, rel=0.05)
    for kind in ("gaussian", "sparse"):
        assert (lengths_of_white(kind) ** 2).mean() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_differences_without_brightness_shrink_only_if_orthonormal(kind):
    pair = torch.rand(2, 256, generator=torch.Generator().manual_seed(0)).double()
    pair[1] += pair[0].mean() - pair[1].mean()
    pair = pair * 0.5 + 0.2
    length = (pair[0] - pair[1]).square().sum().item()
    kept = [
        np.square(np.subtract(*projected(kind, pair, seed=seed))).sum() / length
        for seed in range(60)
    ]
    expected = 40 / 256 if kind in ORTHONORMAL else 1
    assert np.mean(kept) == pytest.approx(expected, rel=0.1)


def test_haar_is_invariant_to_reflections():
    # Without the signs of R, LAPACK's Q has a first entry that is never positive.
    corner = torch.eye(1, 256)
    first = np.array([projected("haar", corner, m=1, seed=seed).item() for seed in range(200)])
    assert stats.binomtest(int((first > 0).sum()), len(first)).pvalue > 1e-3
    # The square of an entry of a uniform unit vector is Beta(1/2, (n - 1)/2).
    assert stats.kstest(first**2, stats.beta(0.5, 127.5).cdf).pvalue > 1e-3


def test_gaussian_entries_are_normal():
    entries = matrix("gaussian", side=32, m=50).ravel()
    assert stats.kstest(entries * 50**0.5, "norm").pvalue > 1e-3


def test_sparse_entries_are_those_of_scikit_learn():
    ours = matrix("sparse", side=32, m=200)
    peer = SparseRandomProjection(200, random_state=0).fit(np.zeros((1, 1024)))
    theirs = peer.components_.toarray()
    assert peer.density_ == pytest.approx(1 / 32)
    sizes = np.unique(np.abs(theirs))
    np.testing.assert_allclose(np.unique(np.abs(ours)), sizes, rtol=1e-6)
    for rows in (ours, theirs):
        filled = int((rows != 0).sum())
        assert stats.binomtest(filled, rows.size, 1 / 32).pvalue > 1e-3
        assert stats.binomtest(int((rows > 0).sum()), filled).pvalue > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_and_a_specification_survives_json(kind):
    images = torch.rand(3, 3, 16, 20, generator=torch.Generator().manual_seed(0))
    projection = Projection.create(kind, n=320, m=30, seed=7, **NORMAL)
    again = Projection.from_dict(json.loads(json.dumps(projection.to_dict())))
    assert again == projection
    assert torch.equal(again(images), projection(images))
    other = Projection.create(kind, n=320, m=30, seed=8, **NORMAL)
    assert not torch.equal(other(images), projection(images))
    assert projection(images).dtype == torch.float32


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_and_company_change_rounding_at_most(kind, monkeypatch):
    images = torch.rand(9, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    projection = Projection.create(kind, n=256, m=20, **NORMAL)
    whole = projection(images)
    assert torch.equal(projection(images), whole)
    alone = torch.cat([projection(image[None]) for image in images])
    torch.testing.assert_close(alone, whole, atol=1e-5, rtol=1e-5)
    monkeypatch.setattr(type(projection), "chunk_values", 4 * 256)
    torch.testing.assert_close(projection(images), whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 256])
def test_takes_any_dimension_and_flat_images(kind, m):
    flat = torch.stack([torch.zeros(3, 16, 16), torch.ones(3, 16, 16)])
    points = Projection.create(kind, n=256, m=m, **NORMAL)(flat)
    assert points.shape == (2, m)
    assert points.isfinite().all()
    assert (points[0] == 0).all()
