import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio

from superstar.actions.denoiser_training import DenoiserSchedule, psnr_gains, train_denoiser
from superstar.actions.dncnn import DnCNN
from superstar.errors import InputError
from superstar.images import ImageSet, stream

SHAPE = {"depth": 3, "width": 16, "unshuffle": 1}
QUICK = DenoiserSchedule(epochs=20, batch_size=16, crop=16, threads=1)


def smooth(count=64, size=24, seed=0):
    """Images of gentle gradients, which are easy to tell from noise."""
    random = np.random.default_rng(seed)
    across, down = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, 1, size))
    weights = random.uniform(0, 0.5, (count, 1, 1, 3, 2))
    images = weights[..., 0] * across[None, :, :, None] + weights[..., 1] * down[None, :, :, None]
    return ImageSet((images * 255).astype(np.uint8), np.zeros(count, dtype=np.int64))


@pytest.fixture(scope="module")
def trained():
    return train_denoiser(smooth(), QUICK, **SHAPE)


def test_denoiser_gains_on_images_it_has_not_seen(trained):
    model, history = trained
    assert history[-1] < history[0]
    assert not model.training
    gains = psnr_gains(model, smooth(seed=1).batch())
    assert set(gains) == {15, 25, 50}
    assert gains[25] > 2
    assert gains[50] > 2


def test_training_depends_on_the_seed_alone(trained):
    torch.manual_seed(5)
    again, _ = train_denoiser(smooth(), QUICK, **SHAPE)
    other, _ = train_denoiser(smooth(), replace(QUICK, seed=1), **SHAPE)
    for name, value in trained[0].state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    assert not torch.equal(other.layers[0].weight, again.layers[0].weight)


def test_what_jpeg_makes_of_noise_is_learned_from_jpeg(trained):
    noise_alone, _ = trained
    jpeg = {"jpeg_quality": 60}
    for_jpeg, _ = train_denoiser(smooth(), replace(QUICK, **jpeg), **SHAPE)
    unseen = smooth(seed=1).batch()
    gains = [psnr_gains(model, unseen, [50], **jpeg)[50] for model in (noise_alone, for_jpeg)]
    assert gains[1] > gains[0] + 0.5


def test_largest_sigma_must_be_positive():
    with pytest.raises(InputError, match="largest_sigma"):
        replace(QUICK, largest_sigma=0)


def test_crop_larger_than_the_images_is_refused():
    with pytest.raises(InputError, match=r"a window must be .*, not 25"):
        train_denoiser(smooth(), replace(QUICK, crop=25), **SHAPE)


class Shrink(DnCNN):
    """Stands in for a denoiser: halves the contrast about gray."""

    def fuse(self):
        return self

    def forward(self, images):
        return 0.5 * images + 0.25


def test_gains_agree_with_scikit_image():
    images = smooth(count=4).batch()
    noise = stream(9, "psnr_gains").standard_normal(images.shape, dtype=np.float32)
    noisy = (images + torch.from_numpy(noise) * (50 / 255)).clamp(0, 1)
    expected = [
        peak_signal_noise_ratio(clean.numpy(), 0.5 * bad.numpy() + 0.25, data_range=1)
        - peak_signal_noise_ratio(clean.numpy(), bad.numpy(), data_range=1)
        for clean, bad in zip(images, noisy, strict=True)
    ]
    gains = psnr_gains(Shrink(2, 4, 1), images, sigmas=(50,), seed=9)
    assert gains[50] == pytest.approx(np.mean(expected), abs=0.02)


def test_flat_images_give_finite_gains(trained):
    gains = psnr_gains(trained[0], torch.zeros(2, 3, 16, 16), sigmas=(25,))
    assert math.isfinite(gains[25])


def test_gains_refuse_bad_input(trained):
    with pytest.raises(InputError, match="sigmas"):
        psnr_gains(trained[0], smooth().batch(), sigmas=(0,))
    with pytest.raises(InputError, match="float32"):
        psnr_gains(trained[0], smooth().batch().double())
