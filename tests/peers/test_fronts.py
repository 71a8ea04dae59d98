"""Corrections before any classifier: what they are by definition."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from superstar.actions import apply_action, packaged_denoiser
from superstar.actions.appearance import Appearance
from superstar.control.rivals import EntropyRule
from superstar.peers import controllers, simple_corrections

GENERATOR = torch.Generator().manual_seed(0)
CLEAN = torch.rand(8, 3, 24, 24, generator=GENERATOR)
IMAGES = 0.3 * torch.rand(4, 3, 24, 24, generator=GENERATOR)


def corrections(threshold=0.0):
    home = SimpleNamespace(appearance=Appearance.of(CLEAN))
    supervisor = SimpleNamespace(denoiser=None, need_calibrated=lambda: home)
    return simple_corrections(supervisor, EntropyRule(threshold))


@pytest.mark.parametrize(("threshold", "action"), [(-1.0, "dncnn"), (99.0, "clahe_2_1")])
def test_the_rule_denoises_above_its_threshold(threshold, action):
    expected = apply_action(IMAGES, action, packaged_denoiser())
    assert torch.equal(corrections(threshold)["rule"](IMAGES), expected)


def test_always_denoising_is_the_action():
    made = corrections()["always dncnn"](IMAGES)
    assert torch.equal(made, apply_action(IMAGES, "dncnn", packaged_denoiser()))


def test_tones_are_those_of_clean_images():
    made = Appearance.of(corrections()["always match_tone"](IMAGES)).luminance
    before, home = Appearance.of(IMAGES).luminance, Appearance.of(CLEAN).luminance
    assert np.abs(np.cumsum(made - home)).mean() < 0.1 * np.abs(np.cumsum(before - home)).mean()


def test_controllers_are_asked_by_name():
    asked = []

    def recover(images, seed, controller):
        asked.append((seed, controller))
        return SimpleNamespace(images=images / 2)

    fronts = controllers(SimpleNamespace(controllers=("paper", "other"), recover=recover), seed=7)
    assert torch.equal(fronts["other"](IMAGES), IMAGES / 2)
    fronts["paper"](IMAGES)
    assert asked == [(7, "other"), (7, "paper")]
