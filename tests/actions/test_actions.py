import warnings

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage import data
from skimage.restoration import denoise_wavelet, estimate_sigma

from superstar.actions import ACTIONS, DnCNN, apply_action
from superstar.errors import InputError
from superstar.images import from_uint8

SIZES = [(16, 16), (17, 31), (64, 64), (33, 80)]


@pytest.fixture(scope="module")
def photos():
    cat, cup = data.chelsea(), data.coffee()
    return from_uint8(np.stack([cat[100:164, 150:230], cup[100:164, 200:280]]))


@pytest.fixture(scope="module")
def denoiser():
    torch.manual_seed(0)
    return DnCNN(depth=3, width=8)


def with_noise(images, sigma, seed=0):
    noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(seed))
    return (images + sigma * noise).clamp(0, 1)


def flat_images(height, width):
    black = torch.zeros(1, 3, height, width)
    half = black.clone()
    half[..., width // 2 :] = 1
    patch = black.clone() + 0.4
    patch[..., 3:7, 3:7] = torch.tensor([0.1, 0.9, 0.3])[:, None, None]
    return torch.cat([black, black + 1, black + 0.3, half, patch])


def one_by_one(reference, images):
    return np.stack([reference(image) for image in images.permute(0, 2, 3, 1).numpy()])


def actual(images, name):
    return apply_action(images, name).permute(0, 2, 3, 1).numpy()


def scikit_bayes(image):
    return denoise_wavelet(
        image,
        method="BayesShrink",
        mode="soft",
        convert2ycbcr=True,
        rescale_sigma=True,
        channel_axis=-1,
    )


def scikit_visu(image):
    sigma = estimate_sigma(image, average_sigmas=True, channel_axis=-1)
    return denoise_wavelet(
        image,
        sigma=sigma / 2,
        method="VisuShrink",
        mode="soft",
        convert2ycbcr=True,
        rescale_sigma=True,
        channel_axis=-1,
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "reference"), [("wavelet_bayes", scikit_bayes), ("wavelet_visu", scikit_visu)]
)
def test_wavelets_equal_scikit_image(photos, name, reference, size):
    crop = photos[..., : size[0], : size[1]]
    images = torch.cat([with_noise(crop, 0.05), with_noise(crop, 0.3), crop**0.4 * 0.999])
    expected = one_by_one(reference, images).clip(0, 1)
    np.testing.assert_allclose(actual(images, name), expected, rtol=0, atol=1e-5)


@given(st.integers(16, 40), st.integers(16, 40), st.floats(0.01, 0.5), st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_wavelets_equal_scikit_image_whatever_the_size(height, width, sigma, seed):
    ramp = torch.linspace(0.2, 0.8, width).expand(1, 3, height, width).contiguous()
    images = with_noise(ramp, sigma, seed)
    for name, reference in (("wavelet_bayes", scikit_bayes), ("wavelet_visu", scikit_visu)):
        expected = one_by_one(reference, images).clip(0, 1)
        np.testing.assert_allclose(actual(images, name), expected, rtol=0, atol=1e-5)


def test_wavelets_leave_alone_what_scikit_image_turns_into_nan():
    half = flat_images(32, 32)[3:4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert np.isnan(one_by_one(scikit_bayes, half)).any()
    torch.testing.assert_close(apply_action(half, "wavelet_bayes"), half, atol=1e-5, rtol=0)


def bilateral_by_definition(image):
    height, width, _ = image.shape
    padded = np.pad(image.astype(np.float64), ((2, 2), (2, 2), (0, 0)), mode="symmetric")
    total, weights = np.zeros(image.shape), np.zeros((height, width, 1))
    for dy in range(5):
        for dx in range(5):
            other = padded[dy : dy + height, dx : dx + width]
            colour = ((other - image) ** 2).sum(-1, keepdims=True) / image.std() ** 2
            weight = np.exp(-((dy - 2) ** 2 + (dx - 2) ** 2 + colour) / 2)
            total += weight * other
            weights += weight
    return total / weights


@pytest.mark.parametrize("size", SIZES)
def test_bilateral_is_its_definition(photos, size):
    crop = photos[..., : size[0], : size[1]]
    images = torch.cat([crop, with_noise(crop, 0.2), crop * 0.1 + 0.5])
    expected = one_by_one(bilateral_by_definition, images)
    np.testing.assert_allclose(actual(images, "bilateral"), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("name", "grid", "clip"), [("clahe_2_1", 2, 1), ("clahe_2_2", 2, 2)])
def test_clahe_equals_opencv_on_each_image(photos, name, grid, clip):
    def reference(image):
        lab = cv2.cvtColor(np.rint(image * 255).astype(np.uint8), cv2.COLOR_RGB2LAB)
        equaliser = cv2.createCLAHE(clipLimit=clip, tileGridSize=(grid, grid))
        lab[..., 0] = equaliser.apply(lab[..., 0].copy())
        return cv2.cvtColor(lab, cv2.COLOR_LAB2RGB) / 255

    images = photos * 0.3 + 0.3
    np.testing.assert_allclose(actual(images, name), one_by_one(reference, images), atol=1e-6)


def test_the_order_is_that_of_the_released_actor():
    assert ACTIONS == (
        "nop",
        "dncnn",
        "bilateral",
        "wavelet_bayes",
        "wavelet_visu",
        "clahe_2_1",
        "clahe_2_2",
        "clahe_6_1",
    )


@pytest.mark.parametrize("name", ["bilateral", "wavelet_bayes", "wavelet_visu"])
def test_smoothing_actions_take_noise_away(photos, name):
    noisy = with_noise(photos, 0.15)
    before, after = (noisy - photos).square(), (apply_action(noisy, name) - photos).square()
    assert after.mean() < 0.6 * before.mean()


@pytest.mark.parametrize("name", ["clahe_2_1", "clahe_2_2", "clahe_6_1"])
def test_clahe_brings_contrast_back(photos, name):
    faint = photos * 0.2 + 0.4
    assert apply_action(faint, name).std() > 1.15 * faint.std()


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("size", [(16, 16), (17, 31), (50, 20)])
def test_any_size_and_flat_images_give_images(name, size, denoiser, recwarn):
    images = flat_images(*size)
    before = images.clone()
    result = apply_action(images, name, denoiser)
    assert torch.equal(images, before)
    assert result.shape == images.shape
    assert result.dtype == torch.float32
    assert torch.isfinite(result).all()
    assert result.min() >= 0
    assert result.max() <= 1
    assert result.data_ptr() != images.data_ptr()
    assert not recwarn.list


@pytest.mark.parametrize("name", ["nop", "bilateral", "wavelet_bayes", "wavelet_visu"])
def test_flat_images_stay_as_they_are(name):
    images = flat_images(20, 24)[:3]
    torch.testing.assert_close(apply_action(images, name), images, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ACTIONS)
def test_an_image_fares_the_same_alone_and_in_company(name, photos, denoiser):
    images = torch.cat([photos, with_noise(photos, 0.1)])
    alone = torch.cat([apply_action(image[None], name, denoiser) for image in images])
    assert torch.equal(apply_action(images, name, denoiser), alone)


def test_refuses_unknown_names_missing_denoisers_and_other_input(photos):
    with pytest.raises(InputError, match="did you mean 'bilateral'"):
        apply_action(photos, "bilatral")
    with pytest.raises(InputError, match="needs a denoiser: packaged_denoiser"):
        apply_action(photos, "dncnn")
    for name in ACTIONS:
        with pytest.raises(InputError, match="must lie in"):
            apply_action(photos + 1, name, DnCNN(depth=2, width=2))
