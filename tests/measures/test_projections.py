import json

import numba
import numpy as np
import pytest
import torch

from superstar.errors import InputError
from superstar.measures import Projection

NORMAL = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}


def gray_images(count, side, seed=0):
    gray = torch.rand(count, 1, side, side, generator=torch.Generator().manual_seed(seed))
    return gray.expand(-1, 3, -1, -1).contiguous()


def matrix(projection, side):
    """The projection's matrix (m, n), column by column from images with one white pixel."""
    pixels = torch.eye(side * side).reshape(-1, 1, side, side).expand(-1, 3, -1, -1).contiguous()
    return projection(pixels).T.double()


def test_rows_are_orthonormal_and_one_is_constant():
    rows = matrix(Projection.create("dct", n=256, m=40, **NORMAL), 16)
    torch.testing.assert_close(rows @ rows.T, torch.eye(40).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(rows[0], torch.full((256,), 1 / 16).double(), atol=1e-6, rtol=0)


def test_normalises_before_it_makes_gray():
    images = torch.rand(4, 3, 16, 20, generator=torch.Generator().manual_seed(1))
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    points = Projection.create("dct", n=320, m=320, mean=mean, std=std)(images)
    normalised = (images - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    gray = (normalised * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1).flatten(1)
    torch.testing.assert_close(points[:, 0], gray.sum(1) / 320**0.5, atol=1e-4, rtol=1e-4)
    # All rows kept: an orthogonal map, which keeps every distance.
    torch.testing.assert_close(
        torch.cdist(points, points), torch.cdist(gray, gray), atol=1e-3, rtol=1e-3
    )


def test_a_change_of_brightness_passes_whole_and_other_differences_shrink():
    projection = Projection.create("dct", n=1024, m=64, **NORMAL)
    images = 0.5 * gray_images(50, 32)
    brighter = projection(images + 0.25) - projection(images)
    np.testing.assert_allclose(brighter.norm(dim=1), 0.25 * 32, rtol=1e-4)
    other = 0.5 * gray_images(50, 32, seed=1)
    other += (images.mean((1, 2, 3)) - other.mean((1, 2, 3)))[:, None, None, None]
    projected = (projection(images) - projection(other.clamp(0, 1))).norm(dim=1)
    ratio = projected.mean() / (images - other)[:, 0].flatten(1).norm(dim=1).mean()
    assert ratio == pytest.approx((64 / 1024) ** 0.5, rel=0.05)


def test_no_matrix_is_made():
    side, dimensions = 1024, 250_000  # a matrix would take a terabyte
    projection = Projection.create("dct", n=side**2, m=dimensions, **NORMAL)
    points = projection(gray_images(1, side))
    assert points.shape == (1, dimensions)
    assert points[0, 0] == pytest.approx(side / 2, rel=1e-2)


def test_the_seed_decides():
    images = gray_images(3, 16)
    points = Projection.create("dct", n=256, m=20, seed=7, **NORMAL)(images)
    assert torch.equal(points, Projection.create("dct", n=256, m=20, seed=7, **NORMAL)(images))
    assert not torch.equal(points, Projection.create("dct", n=256, m=20, seed=8, **NORMAL)(images))


def test_a_specification_survives_json():
    projection = Projection.create("dct", n=256, m=20, seed=3, mean=(0.1, 0.2, 0.3), std=[1, 2, 3])
    again = Projection.from_dict(json.loads(json.dumps(projection.to_dict())))
    images = gray_images(2, 16)
    assert again == projection
    assert torch.equal(again(images), projection(images))


def test_chunks_and_company_change_nothing(monkeypatch):
    images = gray_images(9, 16)
    projection = Projection.create("dct", n=256, m=20, **NORMAL)
    whole = projection(images)
    assert torch.equal(whole, torch.cat([projection(image[None]) for image in images]))
    monkeypatch.setattr(Projection, "chunk_values", 4 * 256)
    assert torch.equal(projection(images), whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "dtc"}, "did you mean 'dct'"),
        ({"m": 257}, "between 1 and 256"),
        ({"m": 0}, "between 1 and 256"),
        ({"std": (1, 0, 1)}, "above 0"),
        ({"mean": (0, 0)}, "three values"),
    ],
)
def test_refuses_unusable_specifications(change, message):
    specification = {"kind": "dct", "n": 256, "m": 20, "seed": 0, **NORMAL, **change}
    with pytest.raises(InputError, match=message):
        Projection.from_dict(specification)


def test_refuses_missing_entries_and_images_of_another_size():
    with pytest.raises(InputError, match="not the specification"):
        Projection.from_dict({"kind": "dct", "n": 256})
    with pytest.raises(InputError, match="16x20"):
        Projection.create("dct", n=256, m=20, **NORMAL)(torch.zeros(1, 3, 16, 20))


@pytest.mark.parametrize("side", [128, 224])
def test_an_image_has_the_same_points_alone_and_in_company_for_any_threads(side):
    images = gray_images(5, side)
    projection = Projection.create("dct", n=side**2, m=500, **NORMAL)
    whole = projection(images)
    assert torch.equal(whole[:1], projection(images[:1]))
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert torch.equal(projection(images), whole)
    finally:
        numba.set_num_threads(threads)


@pytest.mark.parametrize("change", [{"seed": -1}, {"m": 5.7}, {"n": True}])
def test_takes_whole_numbers_only(change):
    given = {"n": 256, "m": 20, "seed": 0, **NORMAL, **change}
    with pytest.raises(InputError, match="whole number"):
        Projection.create("dct", **given)
