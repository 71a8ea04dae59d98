import pytest
import torch
from classifier_toys import QUICK, same_weights, stops_after, tinted, untrained, weights
from torch import nn

from superstar.checkpoint import Checkpoint
from superstar.classifiers import (
    CLASSIFIERS,
    SmallResNet,
    accuracy,
    augmix,
    initialised,
    noisymix,
    puzzlemix,
    train_augmix,
    train_noisymix,
    train_puzzlemix,
    train_standard,
    training,
)
from superstar.errors import InputError

SCHEMES = {
    "augmix": (train_augmix, augmix),
    "noisymix": (train_noisymix, noisymix),
    "puzzlemix": (train_puzzlemix, puzzlemix),
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
    assert len(history) == QUICK["epochs"]
    assert history[-1] < history[0]
    held_out = tinted(seed=1)
    assert accuracy(classifier, held_out.batch(), held_out.labels) > 0.9


def test_training_depends_on_the_seed_and_the_network_alone(standard):
    torch.manual_seed(77)
    network = untrained()
    before = weights(network)
    again, _ = train_standard(network, tinted(), **QUICK)
    assert all(torch.equal(value, before[name]) for name, value in weights(network).items())
    assert same_weights(again, standard[0])
    assert not same_weights(again, train_standard(network, tinted(), seed=1, **QUICK)[0])
    assert not same_weights(again, train_standard(untrained(seed=1), tinted(), **QUICK)[0])


def test_any_network_can_be_trained():
    network = initialised(
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3)), seed=0
    )
    classifier, history = train_standard(network, tinted(), **{**QUICK, "learning_rate": 1.0})
    assert history[-1] < history[0]
    assert accuracy(classifier, tinted(seed=1).batch(), tinted(seed=1).labels) > 0.9


@pytest.mark.parametrize("name", SCHEMES)
def test_augmented_schemes_start_from_standard_and_leave_it_alone(standard, name):
    classifier, _ = standard
    before = weights(classifier)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    train = SCHEMES[name][0]
    tuned, history = train(classifier, tinted(), **QUICK)
    assert torch.equal(torch.get_rng_state(), state)
    assert not classifier.training
    assert not tuned.training
    assert len(history) == QUICK["epochs"]
    assert all(torch.equal(value, before[key]) for key, value in weights(classifier).items())
    assert not same_weights(tuned, classifier)
    held_out = tinted(seed=1)
    assert accuracy(tuned, held_out.batch(), held_out.labels) > 0.9


@pytest.mark.parametrize("name", SCHEMES)
def test_augmented_schemes_depend_on_the_seed_alone(standard, name):
    train = SCHEMES[name][0]
    arguments = {"epochs": 3, "batch_size": 16, "threads": 1}
    first, again, other = (
        train(standard[0], tinted(), seed=seed, **arguments)[0] for seed in (1, 1, 2)
    )
    assert same_weights(first, again)
    assert not same_weights(first, other)


@pytest.mark.parametrize("name", ["standard", *SCHEMES])
def test_an_interrupted_training_goes_on_from_its_checkpoint(standard, tmp_path, monkeypatch, name):
    train, module = SCHEMES.get(name, (train_standard, training))
    start = untrained() if name == "standard" else standard[0]
    arguments = {"epochs": 3, "batch_size": 16, "threads": 1}
    expected, losses = train(start, tinted(), **arguments)
    checkpoint = Checkpoint(tmp_path / f"{name}.safetensors")
    with monkeypatch.context() as patch:
        stopping = stops_after(1, module.random_windows, steps=6)
        patch.setattr(module, "random_windows", stopping)
        with pytest.raises(KeyboardInterrupt):
            train(start, tinted(), checkpoint=checkpoint, **arguments)
    with monkeypatch.context() as patch:
        stopping = stops_after(2, module.random_windows, steps=6)
        patch.setattr(module, "random_windows", stopping)
        resumed, history = train(start, tinted(), checkpoint=checkpoint, **arguments)
    assert history == losses
    assert same_weights(resumed, expected)
    differently = {"label_smoothing": 0.1} if name == "standard" else {"shift": 2}
    other, _ = train(start, tinted(), checkpoint=checkpoint, **arguments, **differently)
    assert not same_weights(other, expected)


@pytest.mark.parametrize("train", [train_standard, train_augmix, train_noisymix, train_puzzlemix])
def test_labels_out_of_range_are_refused(train):
    with pytest.raises(InputError, match="labels must run from 0 to 1"):
        train(untrained(classes=2), tinted(), **QUICK)
