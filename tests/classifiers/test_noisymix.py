import math

import numpy as np
import pytest
import torch
from classifier_toys import QUICK, tinted, untrained
from torch import nn

from superstar.classifiers import train_noisymix
from superstar.classifiers.noisymix import NOISE_SHARE, Mixing, _changed_input
from superstar.errors import InputError

PARTNERS = torch.tensor([2, 0, 1, 3])


def mixing(share=1.0, additive_noise=0.0, multiplicative_noise=0.0, seed=0):
    return Mixing(0, PARTNERS, share, additive_noise, multiplicative_noise, seed)


def features(*shape, layout=torch.channels_last):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    return values.contiguous(memory_format=layout)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_share_1_without_noise_changes_nothing(dtype):
    given = features(12, 5, 4, 6).to(dtype)
    assert torch.equal(mixing().apply(given), given)


def test_share_0_without_noise_gives_the_partners_in_each_view():
    given = features(12, 5, 4, 4)
    expected = torch.cat([view[PARTNERS] for view in given.chunk(3)])
    assert torch.equal(mixing(share=0.0).apply(given), expected)


def test_mixing_is_linear_in_the_share():
    given = features(8, 3, 4, 4)
    partners = torch.cat([view[PARTNERS] for view in given.chunk(2)])
    mixed = mixing(share=0.3).apply(given)
    torch.testing.assert_close(mixed, 0.3 * given + 0.7 * partners)


def test_noise_has_the_levels_that_are_asked_for():
    ones = torch.ones(4, 16, 32, 32)
    added = mixing(additive_noise=0.2).apply(ones) - 1
    assert added.mean().item() == pytest.approx(0, abs=0.003)
    assert added.std().item() == pytest.approx(0.2, rel=0.02)
    factors = mixing(multiplicative_noise=0.5).apply(ones)
    assert factors.min() >= 0.5
    assert factors.max() <= 1.5
    assert factors.std().item() == pytest.approx(0.5 / math.sqrt(3), rel=0.02)
    torch.testing.assert_close(mixing(multiplicative_noise=0.5).apply(2 * ones), 2 * factors)


def test_noise_is_every_numbers_own_and_repeats():
    zeros = torch.zeros(12, 3, 4, 4)
    noise = mixing(additive_noise=1.0).apply(zeros)
    assert len(noise.unique()) == noise.numel()
    assert torch.equal(mixing(additive_noise=1.0).apply(zeros), noise)
    assert not torch.equal(mixing(additive_noise=1.0, seed=1).apply(zeros), noise)


def test_features_stay_channels_last_and_of_their_dtype():
    given = features(12, 8, 4, 4).to(torch.bfloat16)
    mixed = mixing(0.4, 0.1, 0.1).apply(given)
    assert mixed.dtype == torch.bfloat16
    assert mixed.is_contiguous(memory_format=torch.channels_last)


def test_draws_follow_their_distributions():
    draws = [Mixing.draw(seed, 6, 4, 1.0, 0.5, 0.25) for seed in range(2000)]
    assert np.bincount([draw.point for draw in draws]).tolist() == pytest.approx([500] * 4, abs=80)
    assert np.mean([draw.share for draw in draws]) == pytest.approx(0.5, abs=0.03)
    assert np.std([draw.share for draw in draws]) == pytest.approx(math.sqrt(1 / 12), rel=0.05)
    mean = NOISE_SHARE[0] / sum(NOISE_SHARE)
    assert np.mean([draw.additive_noise for draw in draws]) == pytest.approx(0.5 * mean, rel=0.05)
    levels = [draw.multiplicative_noise for draw in draws]
    assert np.mean(levels) == pytest.approx(0.25 * mean, rel=0.05)
    assert 0 <= min(levels) < max(levels) <= 0.25
    for draw in draws[:20]:
        assert sorted(draw.partners.tolist()) == list(range(6))


def test_points_of_a_network_begin_with_the_normalised_image():
    network = untrained().eval()
    images = tinted(count=4).batch()
    seen = []

    def note(values):
        seen.append(values)
        return values

    plain = network(images)
    for point in network.mixing_points:
        with _changed_input(point, note):
            assert torch.equal(network(images), plain)
    assert len(seen) == 4
    torch.testing.assert_close(seen[0], (images - 0.45) / 0.25)
    assert [values.shape[1] for values in seen] == [3, 4, 4, 8]
    network(images)
    assert len(seen) == 4


@pytest.mark.parametrize("point", range(4))
def test_mixing_whole_images_at_any_point_mixes_their_logits(point):
    network = untrained().eval()
    images = tinted(count=12).batch()
    with _changed_input(network.mixing_points[point], mixing(share=0.0).apply):
        swapped = network(images)
    expected = torch.cat([network(view[PARTNERS]) for view in images.chunk(3)])
    torch.testing.assert_close(swapped, expected)


def test_a_network_without_mixing_points_is_refused():
    network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
    with pytest.raises(InputError, match="cannot mix features of a Sequential"):
        train_noisymix(network, tinted(), QUICK)


@pytest.mark.parametrize(
    "arguments",
    [{"alpha": 0.0}, {"additive_noise": -0.1}, {"multiplicative_noise": math.nan}],
)
def test_settings_out_of_range_are_refused(standard, arguments):
    with pytest.raises(InputError, match="alpha above 0 and noise of 0 or more"):
        train_noisymix(standard[0], tinted(), QUICK, **arguments)
