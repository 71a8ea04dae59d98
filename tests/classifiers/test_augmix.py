import math

import numpy as np
import pytest
import torch
from classifier_toys import QUICK, tinted
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from superstar.classifiers import train_augmix, train_noisymix
from superstar.classifiers.augmix import (
    AUGMIX_GROUP,
    augment_and_mix,
    jensen_shannon,
    three_views,
)
from superstar.errors import InputError


@pytest.mark.parametrize("train", [train_augmix, train_noisymix])
@pytest.mark.parametrize("severity", [0, 11])
def test_severity_out_of_range_is_refused(standard, train, severity):
    with pytest.raises(InputError, match="severity"):
        train(standard[0], tinted(), QUICK, severity=severity)


def test_fine_tuning_starts_from_what_standard_knows(standard):
    _, history = train_augmix(standard[0], tinted(), QUICK)
    assert history[0] < math.log(3)


def test_augment_and_mix_gives_8_bit_images_that_differ_between_groups():
    images = tinted(count=2 * AUGMIX_GROUP + 3, size=24).batch()
    before = images.clone()
    mixed = augment_and_mix(images, severity=3, seed=5)
    assert torch.equal(images, before)
    assert mixed.shape == images.shape
    assert mixed.min() >= 0
    assert mixed.max() <= 1
    torch.testing.assert_close(mixed.mul(255), mixed.mul(255).round(), atol=1e-3, rtol=0)
    assert (mixed != images).any()
    assert torch.equal(mixed, augment_and_mix(images, severity=3, seed=5))
    assert not torch.equal(mixed, augment_and_mix(images, severity=3, seed=6))


def test_the_first_of_three_views_is_clean_and_the_others_differ():
    images = tinted(count=5).batch()
    clean, first, second = three_views(images, 3, torch.Generator().manual_seed(0)).chunk(3)
    assert torch.equal(clean, images)
    assert not torch.equal(first, clean)
    assert not torch.equal(first, second)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(-30, 30), min_size=4, max_size=4), min_size=2, max_size=2))
def test_divergence_of_two_agrees_with_scipy(pair):
    logits = [torch.tensor([values], dtype=torch.float64) for values in pair]
    expected = jensenshannon(*(view.softmax(1).numpy()[0] for view in logits)) ** 2
    assert jensen_shannon(*logits).item() == pytest.approx(np.nan_to_num(expected), abs=1e-9)


def test_divergence_of_three_lies_between_0_and_log_3():
    same = torch.randn(8, 5)
    assert jensen_shannon(same, same, same).item() == pytest.approx(0, abs=1e-6)
    apart = [torch.full((1, 3), -100.0).index_fill_(1, torch.tensor([i]), 100.0) for i in range(3)]
    assert jensen_shannon(*apart).item() == pytest.approx(math.log(3), rel=1e-6)
