"""Peers against their definitions."""

from math import inf

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from superstar.classifiers import AtPrecision, SmallResNet
from superstar.errors import InputError
from superstar.peers import (
    Averaging,
    BatchNormAdaptation,
    Memo,
    QuantileAdapter,
    Switching,
    Tent,
    Unadapted,
)
from superstar.peers.peer import batch_norms, entropy
from superstar.training import global_seed

CLASSES = 5
MAKERS = {
    "nothing": Unadapted,
    "batch_norm": lambda network: BatchNormAdaptation(network, prior=4),
    "tent": lambda network: Tent(network, learning_rate=0.01),
    "memo": lambda network: Memo(network, views=3, learning_rate=0.1),
    "averaging": lambda network: Averaging(network, views=3),
    "switching": lambda network: Switching(network, lambda batch: batch / 2),
    "quantiles": lambda network: QuantileAdapter(network, images(20, 9), levels=17),
}


def images(count, seed=0, side=20):
    drawn = torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(seed))
    return (255 * drawn).round() / 255


@pytest.fixture
def network():
    """A network whose statistics of training are those of bright images."""
    with global_seed(0):
        made = SmallResNet(CLASSES, width=4)
        for module in made.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
        made.train()
        for seed in range(5):
            made((images(16, seed) + 1) / 2)
    return made.eval().requires_grad_(False)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Flatten())
        self.head = nn.LazyLinear(CLASSES)
        self(images(1))

    def forward(self, batch):
        return self.head(self.layers(batch))


def weights(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


@pytest.mark.parametrize("name", MAKERS)
def test_peers_leave_the_network_and_the_images_as_they_are(network, name):
    before, batch = weights(network), images(6)
    kept = batch.clone()
    peer = MAKERS[name](network)
    peer.adapt(batch)
    assert peer.predict(batch).shape == (6, CLASSES)
    assert same(weights(network), before)
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())
    assert torch.equal(batch, kept)


@pytest.mark.parametrize("name", MAKERS)
def test_answers_repeat_and_come_back_after_a_reset(network, name):
    batch, other = images(6), images(6, 1) / 3
    answers = []
    peers = [MAKERS[name](network), MAKERS[name](network)]
    for peer in [*peers, peers[0]]:
        peer.reset()
        peer.adapt(other)
        peer.adapt(batch)
        answers.append(peer.predict(batch))
    assert torch.equal(answers[0], answers[1])
    assert torch.equal(answers[0], answers[2])


def test_an_endless_prior_is_the_source_model_to_the_bit(network):
    batch = images(6)
    peer = BatchNormAdaptation(network, prior=inf)
    peer.adapt(batch)
    assert torch.equal(peer.predict(batch), Unadapted(network).predict(batch))
    assert same(weights(peer.network), weights(network))


def test_no_prior_is_pure_statistics_of_the_batch_to_the_bit(network):
    batch = images(6)
    peer = BatchNormAdaptation(network, prior=0)
    peer.adapt(batch)
    found = {}

    def remember(norm, inputs):
        found[norm] = inputs[0]

    for norm in batch_norms(peer.network, "test"):
        norm.register_forward_pre_hook(remember)
    logits = peer.predict(batch)
    for norm, values in found.items():
        ones, zeros = torch.ones(values.shape[1]), torch.zeros(values.shape[1])
        own = torch.native_batch_norm(values, ones, zeros, None, None, True, 0.0, norm.eps)
        assert torch.equal(norm.running_mean, own[1])
        assert torch.equal(norm.running_var, own[2].pow(-2) - norm.eps)
        var, mean = torch.zeros(2, values.shape[1])
        functional.batch_norm(values, mean, var, training=True, momentum=1.0)
        assert torch.equal(norm.running_mean, mean)
        count = values.numel() // values.shape[1]
        torch.testing.assert_close(norm.running_var, var * (count - 1) / count)
    torch.testing.assert_close(logits, network.train()(batch), atol=1e-4, rtol=1e-4)


def test_statistics_of_values_in_half_precision_are_not_rounded(network):
    peer, found = BatchNormAdaptation(AtPrecision(network, "bfloat16"), prior=0), {}
    for norm in batch_norms(peer.network, "test"):
        norm.register_forward_pre_hook(lambda norm, inputs: found.update({norm: inputs[0]}))
    peer.adapt(images(6))
    assert {values.dtype for values in found.values()} == {torch.bfloat16}
    for norm, values in found.items():
        var, mean = torch.var_mean(values.float(), (0, 2, 3), correction=0)
        torch.testing.assert_close(norm.running_mean, mean, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(norm.running_var, var, atol=1e-6, rtol=1e-5)


@given(prior=st.floats(0.1, 1e4), count=st.integers(2, 9))
@settings(max_examples=15, deadline=None)
def test_a_prior_counts_for_so_many_images(prior, count):
    network = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    batch = images(count)
    peer = BatchNormAdaptation(network, prior)
    peer.adapt(batch)
    var, mean = torch.var_mean(batch, (0, 2, 3), correction=0)
    norm = peer.network[0]
    torch.testing.assert_close(norm.running_mean, count * mean / (prior + count))
    torch.testing.assert_close(norm.running_var, (prior + count * var) / (prior + count))


def test_tent_lowers_entropy_and_changes_affine_parameters_alone(network):
    batch, peer = images(12), Tent(network, learning_rate=0.01)
    before, first = weights(peer.network), entropy(peer.predict(batch)).mean()
    for _ in range(5):
        peer.adapt(batch)
    assert entropy(peer.predict(batch)).mean() < first
    after = weights(peer.network)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    affine = {
        f"{name}.{kind}"
        for name, module in network.named_modules()
        if isinstance(module, nn.BatchNorm2d)
        for kind in ("weight", "bias")
    }
    assert changed
    assert changed <= affine


def test_tent_without_a_step_is_statistics_of_the_batch(network):
    batch, peer = images(12), BatchNormAdaptation(network, prior=0)
    peer.adapt(batch)
    torch.testing.assert_close(
        Tent(network).predict(batch), peer.predict(batch), atol=1e-4, rtol=1e-4
    )


def test_tent_begins_anew_after_so_many_batches(network):
    batches = [images(6, seed) for seed in range(5)]
    resetting, fresh = Tent(network, 0.01, reset=3), Tent(network, 0.01)
    for batch in batches:
        resetting.adapt(batch)
    for batch in batches[3:]:
        fresh.adapt(batch)
    assert torch.equal(resetting.predict(batches[0]), fresh.predict(batches[0]))


def test_memo_restores_weights_so_that_no_image_counts_for_another(network):
    batch, peer = images(3), Memo(network, views=4, learning_rate=0.1)
    together = peer.predict(batch)
    assert same(weights(peer.network), weights(network))
    assert not torch.equal(together, Unadapted(network).predict(batch))
    peer.reset()
    twice = peer.predict(torch.cat([batch[:1], batch[1:].flip(0)]))
    assert torch.equal(together[0], twice[0])


def test_memo_restores_weights_after_an_image_that_fails(network, monkeypatch):
    peer = Memo(network, views=4, learning_rate=0.1)
    monkeypatch.setattr("superstar.peers.memo.answer", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        peer.predict(images(1))
    assert same(weights(peer.network), weights(network))


def test_a_step_of_memo_lowers_the_entropy_of_the_mean_prediction(network):
    peer, views = Memo(network, views=4, learning_rate=0.01), images(4)

    def marginal():
        logs = peer.network(views).log_softmax(1)
        return float(entropy(logs.logsumexp(0, keepdim=True)).detach())

    before = marginal()
    peer._step(views)
    assert marginal() < before


def test_averages_are_of_probabilities(network):
    logs = Averaging(network, views=3).predict(images(4))
    torch.testing.assert_close(logs.exp().sum(1), torch.ones(4))


def test_switching_takes_the_surer_answer(network):
    batch = images(30)
    peer = Switching(network, lambda images: images / 3)
    first, second = (Unadapted(network).predict(some) for some in (batch, batch / 3))
    found = entropy(peer.predict(batch))
    assert torch.equal(found, torch.minimum(entropy(first), entropy(second)))


def test_a_monotone_change_of_each_colour_is_undone_by_quantiles(network):
    clean = images(20)
    peer = QuantileAdapter(network, clean, levels=257)
    changed = torch.stack([clean[:, 0] ** 2, clean[:, 1] / 2, 0.3 + 0.4 * clean[:, 2]], 1)
    peer.adapt(changed)
    assert float((peer.mapped(changed) - clean).abs().max()) < 0.01
    peer.reset()
    assert float((peer.mapped(clean) - clean).abs().max()) < 1e-3


def test_a_flat_batch_is_mapped_to_something(network):
    peer = QuantileAdapter(network, images(20), levels=9)
    flat = torch.full((2, 3, 20, 20), 0.5)
    peer.adapt(flat)
    assert np.isfinite(peer.mapped(flat).numpy()).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BatchNormAdaptation(Plain(), 0), "batch normalisation, which Plain does not have"),
        (lambda: Tent(Plain()), "TENT adapts batch normalisation, which Plain does not have"),
        (lambda: Tent(nn.BatchNorm2d(3, affine=False)), "affine"),
        (lambda: Tent(nn.BatchNorm2d(3), reset=0), "after 1 batch"),
        (lambda: BatchNormAdaptation(nn.BatchNorm2d(3), -1), "0 or more, not -1"),
        (lambda: BatchNormAdaptation(nn.BatchNorm2d(3), float("nan")), "0 or more, not nan"),
        (lambda: Memo(Plain(), 0, 0.1), "one view"),
        (lambda: Memo(nn.Flatten(), 1, 0.1), "MEMO adapts weights, which Flatten does not show"),
        (lambda: Averaging(Plain(), 2, severity=11), "severity of AugMix"),
        (lambda: QuantileAdapter(Plain(), images(2), 1), "2 quantiles"),
    ],
)
def test_what_cannot_work_is_refused_in_a_line(make, message):
    with pytest.raises(InputError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["memo", "averaging", "switching", "quantiles"])
def test_others_do_without_batch_normalisation(name):
    assert MAKERS[name](Plain()).predict(images(2)).shape == (2, CLASSES)
