"""Files as KAIR and DnCNN-PyTorch write them, against networks built as their code builds them."""

from itertools import pairwise

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from superstar.actions import (
    apply_action,
    denoise,
    load_denoiser,
    load_published_denoiser,
    save_denoiser,
)
from superstar.errors import InputError

# Code bases by whether convolutions have a bias, batch norm's epsilon, and the prefix of names.
KAIR = (True, 1e-4, "model.")
PORT = (False, 1e-5, "module.dncnn.")
MERGED = None


def network(channels, depth=5, width=6, bias=True, epsilon=MERGED, seed=0):
    """What predicts the noise, with batch norms that have statistics of their own or without."""
    torch.manual_seed(seed)
    convolutions = [
        nn.Conv2d(
            channels if number == 0 else width,
            channels if number == depth - 1 else width,
            kernel_size=3,
            padding=1,
            bias=bias,
        )
        for number in range(depth)
    ]
    layers = [convolutions[0], nn.ReLU()]
    for convolution in convolutions[1:-1]:
        layers.append(convolution)
        if epsilon is not MERGED:
            layers.append(nn.BatchNorm2d(width, eps=epsilon))
        layers.append(nn.ReLU())
    built = nn.Sequential(*layers, convolutions[-1]).eval().requires_grad_(False)
    for layer, following in pairwise(built):
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
        if isinstance(following, nn.BatchNorm2d):
            # Variances so small that it matters what is added to them.
            layer.weight.mul_(0.05)
            following.running_var.uniform_(1e-3, 5e-3)
            following.running_mean.normal_(std=0.02)
            following.weight.uniform_(0.5, 1.5)
            following.bias.normal_(std=0.1)
    return built


def named(built, prefix):
    return {f"{prefix}{name}": tensor for name, tensor in built.state_dict().items()}


def reference(built, images, channels):
    """Images less the noise; networks for gray images see one channel after the other."""
    return torch.cat([part - built(part) for part in images.split(channels, dim=1)], dim=1)


@pytest.fixture
def images():
    return torch.rand(3, 3, 20, 25, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "denoiser.pth"


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("bias", "epsilon", "prefix"),
    [(True, MERGED, "model."), KAIR, PORT, (True, 1e-5, "dncnn.")],
)
@pytest.mark.parametrize("depth", [2, 5])
def test_it_subtracts_what_the_authors_code_subtracts(
    depth, bias, epsilon, prefix, channels, images, path
):
    built = network(channels, depth, bias=bias, epsilon=epsilon)
    torch.save(named(built, prefix), path)
    model = load_published_denoiser(path)
    expected = reference(built, images, channels)
    assert (images - expected).std() > 0.05
    torch.testing.assert_close(model(images), expected, rtol=0, atol=1e-5)
    assert model.shape == {
        "depth": depth,
        "width": 6,
        "unshuffle": 1,
        "channels": channels,
        "enlarge": 1,
    }
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_the_papers_networks(path):
    """17 and 20 convolutions of 64 features."""
    for depth, last in ((17, 32), (20, 38)):
        weights = named(network(1, depth, 64), "model.")
        assert f"model.{last}.weight" in weights
        torch.save(weights, path)
        assert load_published_denoiser(path).depth == depth
    weights = named(network(1, 17, 64, bias=False, epsilon=1e-5), "module.dncnn.")
    assert "module.dncnn.47.weight" in weights
    torch.save(weights, path)
    assert load_published_denoiser(path).depth == 17


def test_merged_batch_norms_leave_gaps(images, path):
    """KAIR deletes layers from the `Sequential`, whose others keep their numbers."""
    built = network(3, 5)
    numbers = dict(zip((0, 2, 4, 6, 8), (0, 2, 5, 8, 11), strict=True))
    weights = {}
    for name, tensor in built.state_dict().items():
        number, part = name.split(".")
        weights[f"model.{numbers[int(number)]}.{part}"] = tensor
    torch.save(weights, path)
    model = load_published_denoiser(path)
    torch.testing.assert_close(model(images), reference(built, images, 3), rtol=0, atol=1e-5)


@pytest.mark.parametrize("channels", [1, 3])
def test_it_serves_wherever_our_own_does(channels, images, path, tmp_path):
    built = network(channels, bias=False, epsilon=1e-5)
    torch.save(named(built, "module.dncnn."), path)
    model = load_published_denoiser(path)
    expected = reference(built, images, channels).clamp(0, 1)
    clean = apply_action(images, "dncnn", denoiser=model)
    # bfloat16, where the processor has it
    torch.testing.assert_close(clean, expected, rtol=0, atol=0.05)
    assert torch.equal(denoise(model, images, batch_size=2), clean)
    assert torch.equal(denoise(model, images[2:]), clean[2:])
    save_denoiser(model, tmp_path / "own.safetensors")
    assert torch.equal(denoise(load_denoiser(tmp_path / "own.safetensors"), images), clean)


def test_gray_networks_see_enlarged_channels(images, path):
    built = network(1)
    torch.save(named(built, "model."), path)
    twice, plain = load_published_denoiser(path, enlarge=2), load_published_denoiser(path)
    gray = images[:, 1:2].expand(-1, 3, -1, -1)
    torch.testing.assert_close(twice(gray)[:, 0], twice(gray[:, :1])[:, 0], rtol=0, atol=1e-6)
    assert not torch.allclose(twice(images), plain(images), atol=1e-2)


def test_other_files_of_the_same_network(images, path, tmp_path):
    weights = named(network(3, epsilon=1e-5), "dncnn.")
    torch.save(weights, path)
    expected = load_published_denoiser(path)(images)
    without = {name: tensor for name, tensor in weights.items() if "num_batches" not in name}
    assert len(without) < len(weights)
    forms = [
        without,
        {"state_dict": weights, "epoch": 50},
        {name: tensor.double() for name, tensor in weights.items()},
    ]
    for zipped in (True, False):
        for form in forms:
            torch.save(form, path, _use_new_zipfile_serialization=zipped)
            assert torch.equal(load_published_denoiser(path)(images), expected)
    save_file(weights, tmp_path / "denoiser.safetensors")
    assert torch.equal(load_published_denoiser(tmp_path / "denoiser.safetensors")(images), expected)


def test_loading_draws_nothing(path):
    torch.save(named(network(1), "model."), path)
    state = torch.get_rng_state()
    load_published_denoiser(path)
    assert torch.equal(torch.get_rng_state(), state)


def without(*names):
    return lambda weights: {name: weights[name] for name in weights if name not in names}


def with_(**tensors):
    return lambda weights: (
        weights | {name.replace("__", "."): value for name, value in tensors.items()}
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("dncnn.6.running_mean"), "dncnn.6.running_mean is missing"),
        (without("dncnn.5.weight"), "its convolutions are those numbered 0, 2, 8, 11"),
        (with_(dncnn__12__weight=torch.ones(3)), "dncnn.12.weight is not part of it"),
        (with_(fc=torch.ones(3)), "fc is not part of it"),
        (
            with_(dncnn__5__weight=torch.ones(6, 6, 5, 5)),
            r"dncnn.5.weight is \(6, 6, 5, 5\) instead of \(6, 6, 3, 3\)",
        ),
        (with_(dncnn__6__bias=torch.ones(1)), r"dncnn.6.bias is \(1,\) instead of \(6,\)"),
        (with_(dncnn__0__weight=torch.ones(6, 4, 3, 3)), "takes 4 channels, neither 1 .gray. nor"),
        (lambda _: {"fc.weight": torch.ones(3, 2)}, r"\(fc.weight, ...\) 0 are convolutions"),
        (with_(dncnn__3__running_var=-torch.ones(6)), "makes the weights of dncnn.2 infinite"),
        (with_(dncnn__2__weight=torch.full((6, 6, 3, 3), torch.inf)), "NaN or infinite"),
        (lambda weights: {"0": weights, "5": weights}, r"several networks \(0, 5\)"),
    ],
)
def test_files_that_do_not_fit(change, message, path):
    weights = named(network(3, bias=False, epsilon=1e-5), "dncnn.")
    torch.save(change(weights), path)
    with pytest.raises(InputError, match=message) as caught:
        load_published_denoiser(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_networks_with_a_map_of_the_noise_are_others(path):
    """FDnCNN of KAIR: one channel more goes in than comes out."""
    weights = named(network(1), "model.")
    weights["model.0.weight"] = torch.ones(6, 2, 3, 3)
    torch.save(weights, path)
    with pytest.raises(InputError, match="takes 2 channels"):
        load_published_denoiser(path)


def test_a_missing_layer_without_batch_norm_is_noticed(path):
    weights = named(network(1), "model.")
    del weights["model.4.weight"], weights["model.4.bias"]
    torch.save(weights, path)
    with pytest.raises(InputError, match="numbered 0, 2, 6, 8"):
        load_published_denoiser(path)


def test_files_that_are_not_there_or_damaged(path):
    with pytest.raises(InputError, match="no checkpoint at"):
        load_published_denoiser(path)
    torch.save(named(network(1), "model."), path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="truncated or not a checkpoint"):
        load_published_denoiser(path)
    torch.save(named(network(1), "model."), path)
    with pytest.raises(InputError, match="enlarge of at least 1"):
        load_published_denoiser(path, enlarge=0)
