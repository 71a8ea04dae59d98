import pytest
import torch

from superstar.actions import UNet, denoise, load_denoiser, save_denoiser
from superstar.errors import InputError


@pytest.fixture
def network():
    """A small network with random weights everywhere."""
    torch.manual_seed(0)
    return UNet(widths=(4, 8), blocks=(1, 2), gate=(0.01, 0.02))


@pytest.mark.parametrize(("height", "width"), [(32, 32), (64, 64), (17, 22), (45, 31)])
def test_every_size_goes_in_and_padding_does_not_reach_far(network, height, width):
    images = torch.rand(2, 3, height, width)
    whole = network(images)
    assert whole.shape == images.shape
    assert whole.isfinite().all()


def test_starts_with_features_as_large_on_all_levels():
    torch.manual_seed(0)
    network = UNet()
    seen = {}
    for name, part in (("top", network.down[0]), ("bottom", network.bottom)):
        part.register_forward_hook(lambda *args, name=name: seen.update({name: args[2].std()}))
    network(torch.randn(2, 3, 64, 64))
    assert 0.5 < seen["bottom"] / seen["top"] < 2


def test_the_gate_leaves_what_has_little_noise_and_lets_pass_what_has_much(network):
    images = torch.rand(3, 3, 16, 16)
    found = torch.tensor([0.005, 0.015, 0.03]).view(3, 1, 1, 1)
    restored = network.gated(images, images - found)
    assert torch.equal(restored[0], images[0])
    torch.testing.assert_close(restored[1], images[1] - 0.015 / 2)
    assert torch.equal(restored[2], images[2] - found[2])
    network.strength = 0.5
    part = network.gated(images, images - found)
    assert torch.equal(part[0], images[0])
    torch.testing.assert_close(part[2], images[2] - found[2] / 2)


def test_images_of_a_batch_do_not_know_each_other(network):
    images = torch.rand(6, 3, 32, 40)
    whole = denoise(network, images)
    assert torch.equal(denoise(network, images), whole)
    assert torch.equal(denoise(network, images.flip(0)).flip(0), whole)
    torch.testing.assert_close(denoise(network, images, batch_size=1), whole, atol=2e-3, rtol=0)


@pytest.mark.parametrize("half", [False, True])
def test_survives_a_file(network, tmp_path, half):
    path = tmp_path / "denoiser.safetensors"
    save_denoiser(network, path, half=half)
    loaded = load_denoiser(path)
    assert isinstance(loaded, UNet)
    assert loaded.shape == network.shape
    assert not loaded.training
    for name, weight in network.state_dict().items():
        kept = weight.half().float() if half else weight
        assert torch.equal(loaded.state_dict()[name], kept)


def test_refuses_shapes_that_cannot_be():
    for shape in ({"widths": (), "blocks": ()}, {"blocks": (1,)}, {"unshuffle": 0}):
        with pytest.raises(InputError, match="a U-Net needs"):
            UNet(**shape)
    with pytest.raises(InputError, match="gate must rise"):
        UNet(gate=(0.1, 0.1))
    with pytest.raises(InputError, match="strength"):
        UNet(strength=1.5)
