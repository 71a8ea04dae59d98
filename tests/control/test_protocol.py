import weakref

import numpy as np
import pytest
import torch
from torch import nn

from superstar.actions import Correction, Plan, apply_action
from superstar.control import Recovery, scoring
from superstar.control import protocol as subject
from superstar.control.algorithm import Step
from superstar.control.protocol import Cell, Protocol
from superstar.control.scoring import score_sequences
from superstar.images import ImageSet

PROTOCOL = Protocol(
    ("paper",),
    trials=3,
    batch_size=8,
    network_batch=4,
    device="cpu",
    precision="float32",
    seed=0,
)


class Bright(nn.Module):
    """Says 1 for an image brighter than middle gray, else 0."""

    def forward(self, images):
        mean = images.mean((1, 2, 3))
        return torch.stack([0.5 - mean, mean - 0.5], dim=1)


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    base = rng.integers(20, 236, (11, 1, 1, 1))
    array = np.clip(base + rng.integers(-20, 20, (11, 16, 16, 3)), 0, 255).astype(np.uint8)
    return ImageSet(array, (base.ravel() > 127).astype(np.int64))


def score(images, sequences, batch_size):
    return score_sequences(
        images, sequences, None, {"bright": Bright()}, batch_size=batch_size, device="cpu"
    )


def test_each_image_is_scored_in_its_place(images):
    hits = score(images, [()], 4)
    said = images.images.reshape(11, -1).mean(1) > 127.5
    np.testing.assert_array_equal(hits[()]["bright"], said == images.labels)


def test_scores_do_not_depend_on_the_batches(images):
    sequences = [(), ("clahe_2_1",), ("wavelet_visu", "clahe_2_2")]
    by_four, at_once = score(images, sequences, 4), score(images, sequences, 100)
    for sequence in sequences:
        np.testing.assert_array_equal(by_four[sequence]["bright"], at_once[sequence]["bright"])


def test_what_sequences_begin_with_alike_is_applied_once(images, monkeypatch):
    batch = images.batch()
    visu, clahe = (apply_action(batch, name) for name in ("wavelet_visu", "clahe_2_1"))
    expected = {
        (): batch,
        ("clahe_2_1",): clahe,
        ("wavelet_visu", "clahe_2_1"): apply_action(visu, "clahe_2_1"),
        ("wavelet_visu", "clahe_2_2"): apply_action(visu, "clahe_2_2"),
        ("wavelet_visu", "wavelet_visu"): apply_action(visu, "wavelet_visu"),
    }
    applied = []

    def counting(correction, images, denoiser=None):
        applied.append(correction.name)
        return apply_action(images, correction.name, denoiser=denoiser)

    monkeypatch.setattr(Correction, "apply", counting)
    found = dict(scoring.apply_sequences(batch, list(reversed(expected)), None))
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[sequence], expected[sequence]) for sequence in expected)
    assert len(applied) == 5


class Watching:
    """A supervisor that notes its batches and never acts."""

    def __init__(self):
        self.seen = []

    def recover(self, images, seed, controller):
        self.seen.append((images.clone(), seed))


def draws(images, cell, trials=2, seed=0):
    watching = Watching()
    given = Protocol(("paper",), trials, 8, 4, "cpu", "float32", seed)
    for trial in range(trials):
        subject.recover_batch(cell, images, watching, given, trial)
    return watching.seen


def test_trials_draw_batches_of_their_own_without_repeats(images):
    (first, first_seed), (second, second_seed) = draws(images, Cell("fog", 3))
    assert first.shape == second.shape == (8, 3, 16, 16)
    assert not torch.equal(first, second)
    assert first_seed != second_seed
    assert len(torch.unique(first.flatten(1), dim=0)) == 8


def test_draws_follow_from_seed_and_cell(images):
    (first, _), _ = draws(images, Cell("fog", 3))
    (again, _), _ = draws(images, Cell("fog", 3))
    (other, _), _ = draws(images, Cell("fog", 4))
    (reseeded, _), _ = draws(images, Cell("fog", 3), seed=1)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, reseeded)


def test_a_batch_is_the_whole_set_where_that_is_smaller(images):
    watching = Watching()
    subject.recover_batch(Cell("none", None), images.take(slice(0, 5)), watching, PROTOCOL, trial=0)
    assert watching.seen[0][0].shape[0] == 5


class Wanting:
    """A supervisor that wants `nop`, and knows which of its images somebody holds."""

    denoiser = None

    def __init__(self):
        self.handed_out = []

    def on(self, device):
        return self

    def recover(self, images, seed, controller):
        corrected = images.clone()
        self.handed_out.append(weakref.ref(corrected))
        step = Step(np.zeros(3, np.float32), True, "nop", 1.0, "dropped", "nop")
        return Recovery(corrected, Plan(), (1.0,), True, "nop", (step,))


class Scored(Exception):  # noqa: N818
    """What stops a cell where its set would be scored."""


def test_no_batch_is_held_while_the_set_is_scored(images, monkeypatch):
    own, other = Wanting(), Wanting()

    def score(*given, **named):
        held = [batch() is not None for batch in own.handed_out + other.handed_out]
        assert held == [False] * (2 * PROTOCOL.trials)
        raise Scored

    monkeypatch.setattr(subject, "score_sequences", score)
    with pytest.raises(Scored):
        subject.evaluate_cell(
            Cell("fog", 3), images, own, {"bright": Bright()}, PROTOCOL, {"other": other}
        )
