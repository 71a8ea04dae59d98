import pytest
from control_toys import World

from superstar.control import observation, thresholds, transitions


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """The toy world in place of actions and measures."""
    toy = World()
    monkeypatch.setattr(observation, "state_features", toy.state_features)
    for module in (transitions, thresholds):
        monkeypatch.setattr(module, "apply_action", toy.apply_action)
    monkeypatch.setattr(transitions, "ssim", toy.ssim)
    return toy
