import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from superstar.classifiers import CLASSIFIERS, accuracy, train_augmix, train_standard
from superstar.classifiers.training import AUGMIX_GROUP, augment_and_mix, jensen_shannon
from superstar.errors import InputError
from superstar.images import ImageSet

QUICK = {"epochs": 4, "batch_size": 16, "threads": 1}


def tinted(count=96, classes=3, size=16, seed=0):
    """Noise images in which the label's channel is brighter."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    images = random.integers(0, 150, (count, size, size, 3), dtype=np.uint8)
    images[np.arange(count), :, :, labels] += 100
    return ImageSet(images, labels.astype(np.int64))


@pytest.fixture(scope="module")
def standard():
    return train_standard(tinted(), 3, width=4, **QUICK)


def test_names():
    assert CLASSIFIERS[:2] == ("standard", "augmix")
    assert len(set(CLASSIFIERS)) == 6


def test_standard_learns_and_generalises(standard):
    classifier, history = standard
    assert len(history) == QUICK["epochs"]
    assert history[-1] < history[0]
    held_out = tinted(seed=1)
    assert accuracy(classifier, held_out.batch(), held_out.labels) > 0.9


def test_training_depends_on_the_seed_alone(standard):
    torch.manual_seed(77)
    again, _ = train_standard(tinted(), 3, width=4, **QUICK)
    other, _ = train_standard(tinted(), 3, width=4, seed=1, **QUICK)
    for name, value in standard[0].state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    assert not torch.equal(other.head.weight, again.head.weight)


def test_augmix_starts_from_standard_and_leaves_it_alone(standard):
    classifier, _ = standard
    before = {name: value.clone() for name, value in classifier.state_dict().items()}
    tuned, history = train_augmix(classifier, tinted(), **QUICK)
    assert len(history) == QUICK["epochs"]
    assert history[0] < math.log(3)
    for name, value in classifier.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert not torch.equal(tuned.head.weight, classifier.head.weight)
    held_out = tinted(seed=1)
    assert accuracy(tuned, held_out.batch(), held_out.labels) > 0.9


def test_augmix_depends_on_the_seed_alone(standard):
    arguments = {"epochs": 1, "batch_size": 16, "threads": 1}
    first, again, other = (
        train_augmix(standard[0], tinted(), seed=seed, **arguments)[0] for seed in (1, 1, 2)
    )
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_labels_out_of_range_and_severity_are_refused(standard):
    with pytest.raises(InputError, match="labels must run from 0 to 1"):
        train_standard(tinted(), 2, **QUICK)
    with pytest.raises(InputError, match="severity"):
        train_augmix(standard[0], tinted(), severity=0, **QUICK)


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
