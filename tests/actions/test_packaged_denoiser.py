"""The denoiser that the package brings along."""

import hashlib
from importlib.resources import files

import pytest
import torch

from superstar.actions import UNet, apply_action, denoise, packaged_denoiser, read_denoiser
from superstar.actions.denoiser import PACKAGED_SHA256
from superstar.images import from_uint8, to_uint8
from superstar.jpeg import through_jpeg
from superstar.photos import photo_patches

FILE = files("superstar.actions") / "weights" / "denoiser.safetensors"
LARGEST = 5_000_000
"""Bytes that the file may have."""


@pytest.fixture(scope="module")
def clean() -> torch.Tensor:
    """Patches of photographs that it has not seen, 64 pixels wide."""
    sets = photo_patches(size=64, counts={"train": 34, "validation": 34, "test": 34}, seed=0)
    return sets["test"].batch()[:16]


def noisy(clean: torch.Tensor, sigma: float) -> torch.Tensor:
    noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    return from_uint8(to_uint8(clean + noise * (sigma / 255)))


def psnr(images: torch.Tensor, clean: torch.Tensor) -> torch.Tensor:
    return -10 * (images - clean).square().mean((1, 2, 3)).log10()


def test_the_file_is_the_one_that_was_measured():
    content = FILE.read_bytes()
    assert len(content) <= LARGEST
    assert hashlib.sha256(content).hexdigest() == PACKAGED_SHA256


def test_is_a_denoiser_like_any_other():
    denoiser = packaged_denoiser()
    assert isinstance(denoiser, UNet)
    assert not denoiser.training
    assert all(weight.dtype == torch.float32 for weight in denoiser.parameters())
    assert isinstance(read_denoiser(str(FILE)), UNet)


@pytest.mark.parametrize("quality", [None, 85])
@pytest.mark.parametrize("sigma", [15, 25, 50, 100])
def test_takes_noise_off(clean, sigma, quality):
    images = noisy(clean, sigma)
    if quality is not None:
        images = through_jpeg(images, quality)
    restored = denoise(packaged_denoiser(), images)
    with torch.inference_mode():
        wholly = packaged_denoiser()(images).clamp(0, 1)
    assert (psnr(restored, clean) - psnr(images, clean)).mean() > 0.2
    assert (psnr(wholly, clean) - psnr(images, clean)).mean() > 3


def test_clean_images_come_back_as_they_are(clean):
    for images in (clean, through_jpeg(clean, 85)):
        restored = apply_action(images, "dncnn", packaged_denoiser())
        # Of fine textures, which may be noise for all that can be told, one may be touched.
        touched = (restored != images).flatten(1).any(1)
        assert touched.sum() <= 1
        assert psnr(restored[touched], images[touched]).gt(40).all()


@pytest.mark.parametrize("size", [(16, 16), (32, 32), (64, 64), (224, 224), (45, 67), (640, 480)])
def test_flat_and_gray_images_of_every_size_have_no_seams(size):
    gray = torch.full((1, 3, *size), 0.5)
    gray[:, :, size[0] // 2 :] = 0.25
    assert torch.equal(denoise(packaged_denoiser(), gray), gray)
    with torch.inference_mode():
        restored = packaged_denoiser()(noisy(gray, 25))
    assert restored.isfinite().all()
    errors = (restored - gray).square().mean((0, 1))
    assert errors.mean().sqrt() < 0.5 * 25 / 255
    # Borders and the seams of padding are no worse than what lies within.
    assert errors[-8:].mean().sqrt() < 25 / 255
    assert errors[:, -8:].mean().sqrt() < 25 / 255


def test_neither_order_nor_company_changes_an_image(clean):
    images = noisy(clean, 25)
    whole = denoise(packaged_denoiser(), images)
    assert torch.equal(denoise(packaged_denoiser(), images.flip(0)).flip(0), whole)
    assert torch.equal(denoise(packaged_denoiser(), images), whole)
