from dataclasses import replace

import numpy as np
import pytest
import torch
from test_noise_mix import MIX

from superstar.actions import UNet
from superstar.actions.blind_training import BlindSchedule, Crops, train_blind_denoiser
from superstar.actions.denoiser_gate import gate_of
from superstar.checkpoint import Checkpoint
from superstar.errors import InputError
from superstar.images import stream

SCHEDULE = BlindSchedule(epochs=3, steps=10, pixels=4096, threads=1)


def crops() -> list[Crops]:
    """Images of one colour each, from which noise is soon told, of two sizes."""
    colours = stream(0, "colours").integers(0, 256, (40, 1, 1, 3), dtype=np.uint8)
    large, small = (np.tile(colours, (1, side, side, 1)) for side in (24, 16))
    return [Crops(large, 24, 0.5), Crops(large, 16, 0.2), Crops(small, 16, 0.3)]


def network() -> UNet:
    torch.manual_seed(0)
    return UNet(widths=(8, 16), blocks=(1, 1))


def test_learns_and_goes_on_from_a_checkpoint(tmp_path):
    whole = network()
    losses = train_blind_denoiser(whole, crops(), MIX, SCHEDULE)
    assert losses[-1] < losses[0]

    class StopError(Exception):
        pass

    class Stopping(Checkpoint):
        def save(self, settings, state):
            super().save(settings, state)
            raise StopError

    path = tmp_path / "denoiser.safetensors"
    for kept in (Stopping(path), Stopping(path)):
        with pytest.raises(StopError):
            train_blind_denoiser(network(), crops(), MIX, replace(SCHEDULE, checkpoint=kept))
    parts = network()
    schedule = replace(SCHEDULE, checkpoint=Checkpoint(path))
    assert losses == train_blind_denoiser(parts, crops(), MIX, schedule)
    for name, weight in whole.state_dict().items():
        assert torch.equal(parts.state_dict()[name], weight)


def test_refuses_no_images():
    with pytest.raises(InputError, match="without images"):
        train_blind_denoiser(network(), [], MIX, SCHEDULE)


def test_the_gate_is_what_is_found_in_clean_images():
    images = stream(0, "images").integers(0, 256, (10, 24, 32, 3), dtype=np.uint8)
    denoiser = network()
    settings = {"clean_share": 0.1, "rise": 2.0, "jpeg_quality": 85}
    least, most = gate_of(denoiser, [images, images[:3]], margin=1.0, **settings)
    assert least > 0
    assert most == 2 * least
    assert gate_of(denoiser, [iter(images)], margin=3.0, **settings)[0] >= 3 * least * 0.9
