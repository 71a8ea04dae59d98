import warnings
from pathlib import Path

import cv2
import numba
import numpy as np
import pytest
import pywt
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage import data
from skimage.filters.rank import entropy
from skimage.morphology import disk
from skimage.util import img_as_ubyte

from benchmarks.agreement.measuring import shifted, states_of
from benchmarks.agreement.released import read_released
from benchmarks.agreement.setups import imagenet, imagenet_files
from superstar.errors import InputError
from superstar.images import from_uint8
from superstar.measures import FEATURES, state_features

SHARED = Path(__file__).parents[2].parent / "shared"


def reference(images):
    rows = []
    for image in images.permute(0, 2, 3, 1).numpy():
        gray = cv2.cvtColor((image * 255).astype(np.uint8), cv2.COLOR_BGR2GRAY) / 255
        low, (_, _, high) = pywt.dwt2(gray, "bior1.3")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            local = entropy(img_as_ubyte(high), disk(10))
        rows.append((low.mean(), low.std(), local.mean()))
    return np.array(rows)


@pytest.fixture(scope="module")
def photo():
    return from_uint8(data.chelsea()[None, 60:156, 100:228])


@pytest.mark.parametrize("size", [(16, 16), (17, 31), (64, 64), (20, 90), (96, 128)])
def test_equals_opencv_pywavelets_and_scikit_image(photo, size):
    height, width = size
    crop = photo[..., :height, :width]
    generator = torch.Generator().manual_seed(height)
    noise = torch.rand(crop.shape, generator=generator)
    flat = torch.zeros_like(crop)
    half = torch.cat([flat[..., : width // 2], flat[..., width // 2 :] + 1], dim=-1)
    images = torch.cat([crop, noise, 0.8 * crop + 0.2 * noise, crop**3, flat, flat + 1, half])
    np.testing.assert_allclose(state_features(images), reference(images), rtol=0, atol=1e-9)


@given(st.integers(16, 40), st.integers(16, 40), st.integers(2, 256), st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_equals_the_references_whatever_the_size_and_the_levels(height, width, levels, seed):
    rng = np.random.default_rng(seed)
    images = from_uint8(rng.integers(0, levels, (2, height, width, 3), dtype=np.uint8))
    np.testing.assert_allclose(state_features(images), reference(images), rtol=0, atol=1e-9)


def test_red_and_blue_are_swapped_and_values_truncated():
    red, blue = torch.zeros(2, 1, 3, 16, 16)
    red[:, 0], blue[:, 2] = 1, 1
    brightness = state_features(torch.cat([red, blue]))[:, 0]
    np.testing.assert_allclose(brightness, [2 * 29 / 255, 2 * 76 / 255], atol=1e-12)
    almost = torch.full((1, 3, 16, 16), 100.99 / 255)
    assert state_features(almost)[0, 0] == pytest.approx(2 * 100 / 255)


def test_flat_images_have_no_entropy_and_no_deviation():
    features = state_features(torch.ones(1, 3, 32, 48))
    np.testing.assert_allclose(features, [[2, 0, 0]], atol=1e-12)


def test_an_image_has_the_same_features_alone_and_in_company(photo):
    batch = torch.cat([photo, photo.flip(2), photo.flip(3)])
    alone = torch.cat([state_features(image[None]) for image in batch])
    assert torch.equal(state_features(batch), alone)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the released figures and images are absent")
def test_agrees_with_the_released_states():
    """Within 3%, or within three standard errors of our images where that is more."""
    released = read_released(SHARED / "reference", ["imagenet"])
    setup = imagenet(imagenet_files(SHARED / "data" / "imagenet_sample")[::4])
    for surrogate in ("uniform_noise", "gamma_increase", "sigmoid_decrease"):
        state = states_of(setup, shifted(setup, surrogate, severity=5)).mean(0)
        for feature, ours in zip(FEATURES, state, strict=True):
            mean = released.mean("imagenet", surrogate, feature)
            deviation = released.deviation("imagenet", surrogate, feature)
            tolerance = max(0.03 * mean, 3 * deviation / len(setup.originals) ** 0.5)
            assert ours == pytest.approx(mean, abs=tolerance), (surrogate, feature)


def test_refuses_what_is_not_a_batch_of_images():
    with pytest.raises(InputError, match="NaN"):
        state_features(torch.full((1, 3, 16, 16), torch.nan))


def test_features_do_not_depend_on_the_threads(photo):
    batch = torch.cat([photo, photo.flip(2), photo.flip(3)])
    features = state_features(batch)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert torch.equal(state_features(batch), features)
    finally:
        numba.set_num_threads(threads)
