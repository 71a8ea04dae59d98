import logging
from pathlib import Path

import pytest
import torch

from superstar import checkpoint as module
from superstar.checkpoint import Checkpoint, TrainingState

SETTINGS = {"rate": 1e-4, "actions": ("nop", "bilateral")}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "deep" / "policy.safetensors", made_from="these images")


def state(value: float = 0.1) -> TrainingState:
    tensors = {"weight": torch.full((3, 5), value), "step": torch.tensor(7.0)}
    return TrainingState(tensors, {"rng": 2**100 + 1, "rows": [value, float("inf"), [1, None]]})


def test_what_is_saved_comes_back(checkpoint: Checkpoint):
    assert checkpoint.load(SETTINGS) is None
    checkpoint.save(SETTINGS, state(0.3))
    checkpoint.save(SETTINGS, state())
    loaded = checkpoint.load(dict(reversed(SETTINGS.items())))
    assert loaded.values == state().values
    assert loaded.tensors.keys() == state().tensors.keys()
    for name, tensor in state().tensors.items():
        assert torch.equal(loaded.tensors[name], tensor)
        assert loaded.tensors[name].shape == tensor.shape
    assert [path.name for path in checkpoint.path.parent.iterdir()] == ["policy.safetensors"]


def test_the_state_of_another_training_is_not_handed_out(checkpoint: Checkpoint):
    checkpoint.save(SETTINGS, state())
    assert checkpoint.load(SETTINGS | {"rate": 2e-4}) is None
    assert checkpoint.load({}) is None
    assert Checkpoint(checkpoint.path, made_from="other images").load(SETTINGS) is None
    assert checkpoint.load(SETTINGS) is not None


@pytest.mark.parametrize("length", [0, 5, 100, -1])
def test_a_damaged_file_counts_as_none_with_a_warning(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture, length: int
):
    checkpoint.save(SETTINGS, state())
    checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:length])
    with caplog.at_level(logging.WARNING):
        assert checkpoint.load(SETTINGS) is None
    assert "policy.safetensors is damaged and will be replaced" in caplog.text


@pytest.mark.parametrize(
    ("written", "changed"),
    [(b"18446744073709551616", b"28446744073709551616"), (b'"step"', b'"pets"'), (None, None)],
)
def test_no_changed_byte_goes_unnoticed(checkpoint: Checkpoint, caplog, written, changed):
    tensors = {"weight": torch.full((3,), 0.5), "step": torch.tensor(7.0)}
    checkpoint.save(SETTINGS, TrainingState(tensors, {"rng": 2**64}))
    content = bytearray(checkpoint.path.read_bytes())
    if written is None:
        content[-1] ^= 1  # the last number of a tensor
    else:
        assert written in content
        content = content.replace(written, changed)
    checkpoint.path.write_bytes(content)
    assert checkpoint.load(SETTINGS) is None
    assert "policy.safetensors is damaged and will be replaced" in caplog.text


def test_an_interrupted_save_leaves_the_former_state(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
):
    checkpoint.save(SETTINGS, state())

    def half(tensors, path, metadata):
        Path(path).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "save_tensors", half)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(SETTINGS, state(0.2))
    assert checkpoint.load(SETTINGS).values == state().values
    checkpoint.remove()
    assert list(checkpoint.path.parent.iterdir()) == []
    checkpoint.remove()
