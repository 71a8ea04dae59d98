import logging
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from superstar import training as module
from superstar.checkpoint import Checkpoint
from superstar.errors import InputError
from superstar.training import (
    Schedule,
    fit,
    fixed_threads,
    global_seed,
    one_cycle,
    random_windows,
    supports_bfloat16,
)

SCHEDULE = Schedule(epochs=6, batch_size=16, learning_rate=0.05, threads=1)


def new_model():
    with global_seed(0):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def regression(model=None, **changes):
    """Fit y = sum of x on 256 points."""
    points = torch.randn(256, 4, generator=torch.Generator().manual_seed(1))
    model = model or new_model()

    def make_batch(indices, generator):
        return points[indices], points[indices].sum(1, keepdim=True)

    def loss(network, inputs, targets):
        return (network(inputs).float() - targets).square().mean()

    history = fit(model, make_batch, loss, len(points), replace(SCHEDULE, **changes))
    return model, history


def test_loss_falls_and_the_model_is_left_in_eval_mode():
    model, history = regression()
    assert len(history) == SCHEDULE.epochs
    assert history[-1] < 0.2 * history[0]
    assert not model.training


def test_equal_seeds_give_equal_weights_and_others_do_not():
    first, again, other = (regression(seed=seed)[0] for seed in (3, 3, 4))
    for a, b in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)
    assert any(
        not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )


def test_global_random_state_is_neither_read_nor_changed():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, _ = regression()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second, _ = regression()
    assert torch.equal(first[0].weight, second[0].weight)


def test_number_of_threads_is_fixed_and_restored():
    before = torch.get_num_threads()
    seen = []
    points = torch.randn(64, 4)

    def loss(network, inputs):
        seen.append(torch.get_num_threads())
        return network(inputs).float().square().mean()

    fit(
        new_model(),
        lambda indices, generator: (points[indices],),
        loss,
        len(points),
        replace(SCHEDULE, threads=before + 1),
        untrained_loss=1e9,
    )
    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before


def test_threads_are_restored_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(KeyError), fixed_threads(before + 1):
        raise KeyError
    assert torch.get_num_threads() == before
    with pytest.raises(InputError, match="threads"), fixed_threads(0):
        pass


def test_each_item_comes_at_most_once_an_epoch():
    drawn = []

    def make_batch(indices, generator):
        drawn.append(indices)
        return (torch.ones(len(indices), 4),)

    fit(
        new_model(),
        make_batch,
        lambda network, inputs: network(inputs).float().square().mean(),
        70,
        SCHEDULE,
        untrained_loss=1e9,
    )
    assert len(drawn) == 6 * (70 // 16)
    epochs = torch.stack(drawn).reshape(6, -1)
    for epoch in epochs:
        assert len(epoch.unique()) == epoch.numel()
    assert not torch.equal(epochs[0], epochs[1])


def test_weight_decay_spares_biases_and_norms():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    weight, bias, scale = (p.detach().clone() for p in list(model.parameters())[:3])
    fit(
        model,
        lambda indices, generator: (torch.ones(len(indices), 4),),
        lambda network, inputs: 0 * network(inputs).sum(),
        32,
        replace(SCHEDULE, weight_decay=0.5),
        untrained_loss=1.0,
    )
    assert model[0].weight.abs().sum() < 0.99 * weight.abs().sum()
    assert torch.equal(model[0].bias, bias)
    assert torch.equal(model[1].weight, scale)


def test_a_model_that_does_not_learn_is_reported():
    with pytest.raises(InputError, match=r"not below .* untrained model: change learning_rate"):
        regression(learning_rate=1e-9)


def test_a_loss_that_is_not_finite_is_reported():
    model = new_model()
    with torch.no_grad():
        model[0].weight[0, 0] = math.nan
    with pytest.raises(InputError, match="loss is nan at step 1: lower learning_rate"):
        regression(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("learning_rate", math.nan),
        ("warm_up", 1.0),
        ("threads", 0),
    ],
)
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(InputError, match=name):
        regression(**{name: value})


def test_a_single_step_is_enough():
    _, history = regression(epochs=1, batch_size=1000)
    assert len(history) == 1


def convolutional():
    """A model with all that a checkpoint must hold: buffers, kernels, dropout."""
    with global_seed(0):
        return nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(),
            nn.Linear(8 * 36, 1),
        )  # fmt: skip


def train_convolutional(killed_in=None, model=None, settings=None, **changes):
    """Tell bright noise images from dark ones; stop in the middle of an epoch, if asked to."""
    images = torch.rand(64, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    images[::2] *= 0.7
    model = model or convolutional()
    calls = []

    def make_batch(indices, generator):
        calls.append(indices)
        if killed_in is not None and len(calls) == 4 * killed_in + 3:
            raise KeyboardInterrupt
        noise = 0.1 * torch.randn(len(indices), 3, 8, 8, generator=generator)
        return images[indices] + noise, (indices % 2).float()

    def loss(network, inputs, targets):
        logits = network(inputs).float().flatten()
        return nn.functional.binary_cross_entropy_with_logits(logits, targets)

    given = {"epochs": 5, "learning_rate": 0.01, "weight_decay": 0.1} | changes
    schedule = replace(SCHEDULE, **given)
    history = fit(
        model, make_batch, loss, len(images), schedule, untrained_loss=1e9, settings=settings
    )
    return model, history, len(calls)


def same_tensors(one, other):
    return all(
        torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items()
    )


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "run" / "model.safetensors")


def test_an_interrupted_training_ends_as_one_without_a_break(checkpoint):
    whole, expected, calls = train_convolutional()
    with pytest.raises(KeyboardInterrupt):
        train_convolutional(3, checkpoint=checkpoint)
    torch.rand(7)
    resumed, history, later = train_convolutional(checkpoint=checkpoint)
    assert history == expected
    assert same_tensors(resumed, whole)
    assert not resumed.training
    assert later == calls - 4 * 3


def test_a_finished_training_is_not_repeated(checkpoint):
    whole, expected, _ = train_convolutional(checkpoint=checkpoint)
    again, history, calls = train_convolutional(checkpoint=checkpoint)
    assert calls == 0
    assert history == expected
    assert same_tensors(again, whole)


def test_a_checkpoint_changes_nothing(checkpoint):
    with_one, history, _ = train_convolutional(checkpoint=checkpoint)
    without, expected, _ = train_convolutional()
    assert history == expected
    assert same_tensors(with_one, without)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 1}, {"learning_rate": 0.02}, {"settings": {"shift": 4}}, {"epochs": 6}],
)
def test_other_settings_start_afresh(checkpoint, changes):
    train_convolutional(checkpoint=checkpoint)
    expected, _, calls = train_convolutional(**changes)
    model, _, made = train_convolutional(checkpoint=checkpoint, **changes)
    assert made == calls
    assert same_tensors(model, expected)


def test_other_weights_start_afresh(checkpoint):
    train_convolutional(checkpoint=checkpoint)
    other = convolutional()
    with torch.no_grad():
        other[5].bias += 1
    _, _, calls = train_convolutional(model=other, checkpoint=checkpoint)
    assert calls == 20


def test_a_damaged_checkpoint_is_replaced_with_a_warning(checkpoint, caplog):
    whole, _, calls = train_convolutional()
    with pytest.raises(KeyboardInterrupt):
        train_convolutional(2, checkpoint=checkpoint)
    checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:-100])
    with caplog.at_level(logging.WARNING):
        model, _, made = train_convolutional(checkpoint=checkpoint)
    assert "is damaged and will be replaced" in caplog.text
    assert made == calls
    assert same_tensors(model, whole)


def test_dropout_depends_on_the_seed_alone():
    torch.manual_seed(1)
    first, _, _ = train_convolutional()
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second, _, _ = train_convolutional()
    assert torch.equal(torch.get_rng_state(), before)
    assert same_tensors(first, second)


def test_long_trainings_log_their_epochs(monkeypatch, caplog):
    with caplog.at_level(logging.INFO):
        train_convolutional()
    assert [record.message.split(" in ")[0] for record in caplog.records] == ["training: 5 epochs"]
    caplog.clear()
    monkeypatch.setattr(module, "LOG_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        _, history, _ = train_convolutional()
    lines = [record.message for record in caplog.records][:-1]
    assert len(lines) == 5
    for epoch, (line, loss) in enumerate(zip(lines, history, strict=True), start=1):
        assert f"training: epoch {epoch} of 5, loss {loss:.4g}, learning rate " in line


def test_more_threads_than_processors_are_warned_of(monkeypatch, caplog):
    for there, warned in ((1, False), (0, True)):
        caplog.clear()
        monkeypatch.setattr("superstar.training.cpu_count", lambda there=there: there)
        regression()
        assert ("set execution.threads" in caplog.text) is warned


def test_one_cycle_rises_to_its_top_and_falls_to_nothing():
    rates = [one_cycle(progress, 0.25) for progress in np.linspace(0, 1, 101)]
    assert rates[0] == pytest.approx(0.04)
    assert np.argmax(rates) == 25
    assert max(rates) == pytest.approx(1)
    assert rates[-1] == pytest.approx(0, abs=1e-12)
    assert (np.diff(rates[:26]) > 0).all()
    assert (np.diff(rates[25:]) < 0).all()
    assert one_cycle(0, 0) == 1


def test_bfloat16_is_not_claimed_for_a_missing_device():
    assert isinstance(supports_bfloat16("cpu"), bool)
    assert supports_bfloat16("cuda") <= torch.cuda.is_available()


def ramp(count=3, height=20, width=24):
    images = torch.zeros(count, height, width, 3, dtype=torch.uint8)
    images[..., 0] = torch.arange(height)[:, None]
    images[..., 1] = torch.arange(width)
    images[..., 2] = torch.arange(count)[:, None, None]
    return images


def test_windows_are_contiguous_pieces_of_the_chosen_images():
    images = ramp()
    indices = torch.tensor([2, 0, 1, 2] * 16)
    windows = random_windows(images, indices, torch.Generator().manual_seed(0), size=(8, 10))
    assert windows.shape == (64, 3, 8, 10)
    assert windows.dtype == torch.float32
    levels = windows.mul(255).round().numpy()
    np.testing.assert_array_equal(
        levels[:, 2], np.broadcast_to(indices[:, None, None], (64, 8, 10))
    )
    assert (np.diff(levels[:, 0], axis=1) == 1).all()
    steps = np.diff(levels[:, 1], axis=2)
    assert (np.abs(steps) == 1).all()
    mirrored = (steps == -1).all(axis=(1, 2))
    assert (mirrored | (steps == 1).all(axis=(1, 2))).all()
    assert 0 < mirrored.sum() < len(mirrored)
    assert len(np.unique(levels[:, 0, 0, 0])) > 4


def test_margin_reflects_and_never_leaves_the_image():
    images = ramp()
    indices = torch.zeros(200, dtype=torch.int64)
    windows = random_windows(images, indices, torch.Generator().manual_seed(0), margin=4)
    assert windows.shape == (200, 3, 20, 24)
    rows = windows[:, 0, :, 0].mul(255).round().numpy()
    expected = {tuple(np.pad(np.arange(20), 4, mode="reflect")[start:][:20]) for start in range(9)}
    assert {tuple(row) for row in rows.astype(int)} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": (21, 4)}, "from 1 to 20, not 21"),
        ({"margin": 20}, "margin"),
        ({"margin": -1}, "margin"),
    ],
)
def test_impossible_windows_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        random_windows(ramp(), torch.tensor([0]), torch.Generator(), **arguments)
