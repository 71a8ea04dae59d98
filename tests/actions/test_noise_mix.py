from dataclasses import replace

import pytest
import torch

from superstar.actions.noise_mix import KINDS, LEAST_NOISE, NoiseMix
from superstar.errors import InputError

MIX = NoiseMix(
    shares=dict.fromkeys(KINDS, 1.0),
    largest_sigma=130,
    lean=1.5,
    photons=(2, 200),
    impulse=0.3,
    speckle=0.5,
    stored=0.5,
    jpeg=0.5,
    jpeg_qualities=(70, 95),
)


def noisy(mix: NoiseMix, count: int = 64) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    clean = torch.rand(count, 3, 1, 1, generator=generator).expand(-1, -1, 32, 32) * 0.8 + 0.1
    return clean, *mix(clean.contiguous(), generator)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "none"])
def test_every_kind_adds_noise_around_the_clean_image(kind):
    clean, images, target, weight = noisy(replace(MIX, shares={kind: 1.0}, jpeg=0))
    assert torch.equal(target, clean)
    rms = 1 / weight - LEAST_NOISE
    assert (rms > 0).all()
    assert (weight > 0).all()
    assert images.isfinite().all()
    if kind != "gaussian":
        assert images.min() >= 0
        assert images.max() <= 1
        assert torch.equal((images * 255).round(), images * 255)


def test_half_of_the_gaussian_noise_is_neither_clipped_nor_rounded():
    _, images, _, _ = noisy(replace(MIX, shares={"gaussian": 1.0}, jpeg=0), 400)
    stored = ((images * 255).round() == images * 255).flatten(1).all(1)
    assert 0.4 < stored.float().mean() < 0.6


def test_nothing_is_to_be_taken_off_clean_images_jpeg_or_not():
    clean, images, target, weight = noisy(replace(MIX, shares={"none": 1.0}))
    assert torch.equal(images, target)
    assert (weight == 1 / torch.tensor(LEAST_NOISE)).all()
    assert (images - clean).abs().max() < 0.1


def test_equal_seeds_give_equal_noise():
    assert all(torch.equal(one, other) for one, other in zip(noisy(MIX), noisy(MIX), strict=True))


def test_refuses_unknown_kinds():
    with pytest.raises(InputError, match="kind of noise"):
        replace(MIX, shares={"salt": 1.0})
    with pytest.raises(InputError, match="share above 0"):
        replace(MIX, shares={"none": 0.0})
