import pytest
import torch

from superstar.classifiers import WideResNet
from superstar.classifiers.wide_resnet import BLOCK_STYLES
from superstar.errors import InputError
from superstar.training import global_seed

HALF = (0.5, 0.5, 0.5)


def network(**arguments):
    given = {"classes": 5, "depth": 10, "width": 1, "mean": HALF, "std": HALF, **arguments}
    with global_seed(0):
        return WideResNet(**given).eval()


def pictures(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("depth", "width", "classes", "parameters"),
    [
        (28, 10, 10, 36_479_194),
        (28, 10, 100, 36_536_884),
        (40, 2, 10, 2_243_546),
        (40, 2, 100, 2_255_156),
        (16, 2, 100, 703_284),
        (28, 4, 10, 5_849_050),
    ],
)
def test_published_numbers_of_parameters(depth, width, classes, parameters):
    with torch.device("meta"):
        model = WideResNet(classes, depth, width, HALF, HALF)
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
    # The name counts the convolutions on the longest path, and the linear layer.
    convolutions = [
        module
        for module in model.modules()
        if isinstance(module, torch.nn.Conv2d) and module.kernel_size == (3, 3)
    ]
    assert len(convolutions) + len(model.stages) == depth


@pytest.mark.parametrize("block", BLOCK_STYLES)
@pytest.mark.parametrize("shape", [(16, 16), (17, 33), (64, 48)])
def test_logits_of_any_size(shape, block):
    images = pictures(2, 3, *shape)
    before = images.clone()
    model = network(block=block, width=2)
    logits = model(images)
    assert logits.shape == (2, 5)
    assert torch.isfinite(logits).all()
    assert torch.equal(images, before)
    torch.testing.assert_close(model(images[:1]), logits[:1])


def test_flat_images_have_finite_logits():
    flat = torch.stack([torch.zeros(3, 32, 32), torch.ones(3, 32, 32)])
    assert torch.isfinite(network()(flat)).all()


def test_normalisation_lies_inside():
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    images = pictures(4, 3, 32, 32)
    normalised = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    plain = network(mean=(0, 0, 0), std=(1, 1, 1))
    torch.testing.assert_close(network(mean=mean, std=std)(images), plain(normalised))


def test_block_styles_are_different_functions_of_the_same_weights():
    images = pictures(2, 3, 32, 32)
    original, raw, late = (network(block=block) for block in BLOCK_STYLES)
    raw.load_state_dict(original.state_dict())
    late.load_state_dict(original.state_dict(), strict=False)
    assert not torch.allclose(original(images), raw(images), rtol=1e-2)
    assert not torch.allclose(raw(images), late(images), rtol=1e-2)


def test_only_late_strides_come_with_biases():
    biased = {
        block: {
            module.bias is not None
            for module in network(block=block).modules()
            if isinstance(module, torch.nn.Conv2d)
        }
        for block in BLOCK_STYLES
    }
    assert biased == {"original": {False}, "raw_shortcut": {False}, "late_stride": {True}}


def test_signal_keeps_its_scale_at_the_start():
    with global_seed(0):
        model = WideResNet(10, 28, 2, (0, 0, 0), (1, 1, 1)).train()
    features = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d):
            fan_out = module.out_channels * module.kernel_size[0] ** 2
            assert module.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.15)
    assert 0.01 < model(features).std().item() < 10


def test_dropout_only_trains():
    images = pictures(2, 3, 16, 16)
    model = network(dropout=0.5)
    assert torch.equal(model(images), network()(images))
    with global_seed(0):
        model.train()
        assert not torch.equal(model(images), model(images))


def test_arguments_rebuild_the_network():
    model = network(depth=16, width=2, dropout=0.3, block="late_stride")
    twin = WideResNet(**model.arguments).eval()
    twin.load_state_dict(model.state_dict())
    images = pictures(2, 3, 24, 24)
    assert torch.equal(twin(images), model(images))
    assert twin.arguments == model.arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": 1}, "needs 2 classes"),
        ({"width": 0}, "width of 1"),
        ({"depth": 4}, "depth .* not 4"),
        ({"depth": 18}, "depth .* not 18"),
        ({"std": (0, 1, 1)}, "std above 0"),
        ({"mean": (0.5,)}, "three numbers"),
        ({"dropout": 1.0}, "dropout"),
        ({"block": "orignal"}, "did you mean 'original'"),
    ],
)
def test_impossible_networks_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        network(**arguments)
