import numpy as np
import pytest
import torch
from pytorch_msssim import ssim as pytorch_msssim
from skimage import data
from skimage.metrics import structural_similarity

from superstar.errors import InputError
from superstar.images import from_uint8
from superstar.measures import ssim


def reference(a, b, data_range):
    means = []
    for first, second in zip(a.double().numpy(), b.double().numpy(), strict=True):
        _, values = structural_similarity(
            first,
            second,
            channel_axis=0,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=data_range,
            full=True,
        )
        means.append(values[:, 5:-5, 5:-5].mean())
    return np.mean(means)


@pytest.fixture(scope="module")
def photos():
    cat = data.chelsea()
    return from_uint8(np.stack([cat[100:148, 100:180], cat[150:198, 200:280]]))


@pytest.mark.parametrize("data_range", [1.0, 255.0])
@pytest.mark.parametrize("size", [(16, 16), (17, 40), (48, 80)])
def test_equals_scikit_image(photos, data_range, size):
    images = photos[..., : size[0], : size[1]]
    noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    for other in (
        (images + 0.05 * noise).clamp(0, 1),
        (images + 0.5 * noise).clamp(0, 1),
        images**0.3,
        1 - images,
        torch.zeros_like(images),
    ):
        expected = reference(images, other, data_range)
        assert ssim(images, other, data_range) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize("data_range", [1.0, 255.0])
def test_equals_what_the_papers_authors_call(photos, data_range):
    noise = torch.randn(photos.shape, generator=torch.Generator().manual_seed(0))
    for other in ((photos + 0.1 * noise).clamp(0, 1), photos**0.3, 1 - photos):
        expected = float(pytorch_msssim(photos, other, data_range=data_range, win_size=11))
        assert ssim(photos, other, data_range) == pytest.approx(expected, abs=1e-4)


def test_with_the_papers_range_the_shortfall_keeps_its_precision(photos):
    """The reward takes log(1 - ssim) near 1."""
    other = photos**0.9
    expected = 1 - reference(photos, other, 255.0)
    assert expected < 1e-3
    assert 1 - ssim(photos, other, data_range=255) == pytest.approx(expected, rel=1e-4)


def test_is_one_for_equal_batches_and_symmetric(photos):
    other = photos.flip(3)
    assert ssim(photos, photos) == 1
    assert ssim(photos, photos, data_range=255) == 1
    assert ssim(photos, other) == pytest.approx(ssim(other, photos), abs=1e-6)
    assert ssim(photos, other) < 0.9


def test_flat_images_compare_by_luminance_alone():
    dark, light = torch.full((1, 3, 16, 16), 0.3), torch.full((1, 3, 16, 16), 0.7)
    expected = (2 * 0.3 * 0.7 + 1e-4) / (0.3**2 + 0.7**2 + 1e-4)
    assert ssim(dark, light) == pytest.approx(expected, abs=1e-5)


def test_is_the_mean_over_the_batch(photos):
    other = photos**2
    pairs = [ssim(photos[i : i + 1], other[i : i + 1]) for i in range(2)]
    assert ssim(photos, other) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_refuses_what_cannot_be_compared(photos):
    with pytest.raises(InputError, match="like with like"):
        ssim(photos, photos[:1])
    with pytest.raises(InputError, match="data_range"):
        ssim(photos, photos, data_range=0)


@pytest.mark.parametrize("data_range", [1.0, 1e-1, 1e-3, 1e-6])
def test_stays_within_its_bounds_where_rounding_decides(data_range):
    edge = torch.zeros(1, 3, 64, 64)
    edge[..., 32:] = 1
    flat = torch.full_like(edge, float(np.nextafter(np.float32(0.5), np.float32(1))))
    for pair in ((edge, flat), (flat, edge), (edge, 1 - edge)):
        assert -1 <= ssim(*pair, data_range=data_range) <= 1
