from dataclasses import replace

import pytest
import torch
from classifier_toys import QUICK, same_weights, stops_after, tinted, untrained, weights
from torch import nn

from superstar.checkpoint import Checkpoint
from superstar.classifiers import (
    CLASSIFIERS,
    SmallResNet,
    accuracy,
    initialised,
    train_augmix,
    train_noisymix,
    train_puzzlemix,
    train_standard,
    training,
)
from superstar.errors import InputError

SCHEMES = {"augmix": train_augmix, "noisymix": train_noisymix, "puzzlemix": train_puzzlemix}
OWN_SETTING = {
    "standard": "label_smoothing",
    "augmix": "consistency",
    "noisymix": "alpha",
    "puzzlemix": "alpha",
}


def test_names():
    assert CLASSIFIERS[:2] == ("standard", "augmix")
    assert len(set(CLASSIFIERS)) == 6


def test_initial_weights_depend_on_the_seed_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first = untrained(seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(8)
    assert same_weights(first, untrained(seed=1))
    assert not same_weights(first, untrained(seed=2))


def test_standard_learns_and_generalises(standard):
    classifier, history = standard
    assert isinstance(classifier, SmallResNet)
    assert not classifier.training
    assert len(history) == QUICK.epochs
    assert history[-1] < history[0]
    held_out = tinted(seed=1)
    assert accuracy(classifier, held_out.batch(), held_out.labels) > 0.9


def test_training_depends_on_the_seed_and_the_network_alone(standard):
    torch.manual_seed(77)
    network = untrained()
    before = weights(network)
    again, _ = train_standard(network, tinted(), QUICK)
    assert all(torch.equal(value, before[name]) for name, value in weights(network).items())
    assert same_weights(again, standard[0])
    assert not same_weights(again, train_standard(network, tinted(), replace(QUICK, seed=1))[0])
    assert not same_weights(again, train_standard(untrained(seed=1), tinted(), QUICK)[0])


def test_any_network_can_be_trained():
    network = initialised(
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3)), seed=0
    )
    classifier, history = train_standard(network, tinted(), replace(QUICK, learning_rate=1.0))
    assert history[-1] < history[0]
    assert accuracy(classifier, tinted(seed=1).batch(), tinted(seed=1).labels) > 0.9


@pytest.mark.parametrize("name", SCHEMES)
def test_augmented_schemes_start_from_standard_and_leave_it_alone(standard, name):
    classifier, _ = standard
    before = weights(classifier)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    train = SCHEMES[name]
    tuned, history = train(classifier, tinted(), QUICK)
    assert torch.equal(torch.get_rng_state(), state)
    assert not classifier.training
    assert not tuned.training
    assert len(history) == QUICK.epochs
    assert all(torch.equal(value, before[key]) for key, value in weights(classifier).items())
    assert not same_weights(tuned, classifier)
    held_out = tinted(seed=1)
    assert accuracy(tuned, held_out.batch(), held_out.labels) > 0.9


@pytest.mark.parametrize("name", SCHEMES)
def test_augmented_schemes_depend_on_the_seed_alone(standard, name):
    train = SCHEMES[name]
    first, again, other = (
        train(standard[0], tinted(), replace(QUICK, epochs=3, seed=seed))[0] for seed in (1, 1, 2)
    )
    assert same_weights(first, again)
    assert not same_weights(first, other)


@pytest.mark.parametrize("name", ["standard", *SCHEMES])
def test_an_interrupted_training_goes_on_from_its_checkpoint(standard, tmp_path, monkeypatch, name):
    train = SCHEMES.get(name, train_standard)
    start = untrained() if name == "standard" else standard[0]
    schedule = replace(QUICK, epochs=3)
    expected, losses = train(start, tinted(), schedule)
    kept = replace(schedule, checkpoint=Checkpoint(tmp_path / f"{name}.safetensors"))
    with monkeypatch.context() as patch:
        stopping = stops_after(1, training.random_windows, steps=6)
        patch.setattr(training, "random_windows", stopping)
        with pytest.raises(KeyboardInterrupt):
            train(start, tinted(), kept)
    with monkeypatch.context() as patch:
        stopping = stops_after(2, training.random_windows, steps=6)
        patch.setattr(training, "random_windows", stopping)
        resumed, history = train(start, tinted(), kept)
    assert history == losses
    assert same_weights(resumed, expected)
    for others in (
        train(start, tinted(), replace(kept, shift=2)),
        train(start, tinted(), kept, **{OWN_SETTING[name]: 0.5}),
    ):
        assert not same_weights(others[0], expected)


@pytest.mark.parametrize("train", [train_standard, train_augmix, train_noisymix, train_puzzlemix])
def test_labels_out_of_range_are_refused(train):
    with pytest.raises(InputError, match="labels must run from 0 to 1"):
        train(untrained(classes=2), tinted(), QUICK)
