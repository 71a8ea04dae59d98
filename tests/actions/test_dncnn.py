import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from superstar.actions import DnCNN, denoise, load_denoiser, save_denoiser
from superstar.errors import InputError


@pytest.fixture
def trained():
    """A small network whose batch norms have seen images."""
    torch.manual_seed(0)
    model = DnCNN(depth=4, width=8)
    for _ in range(5):
        model(torch.rand(4, 3, 16, 16))
    return model


@pytest.fixture
def images():
    return torch.rand(6, 3, 20, 24, generator=torch.Generator().manual_seed(1))


def test_the_papers_shape():
    """20 layers of 64 features on gray images, as MATLAB's: 18 of them with batch norm."""
    model = DnCNN(depth=20, width=64, unshuffle=1, channels=1)
    convolutions = 64 * 9 + 64 + 18 * 64 * 64 * 9 + 64 * 9 + 1
    assert sum(p.numel() for p in model.parameters()) == convolutions + 18 * 2 * 64


def test_predicts_the_noise(images):
    model = DnCNN(depth=3, width=8)
    with torch.no_grad():
        model.layers[-1].weight.zero_()
        model.layers[-1].bias.fill_(0.25)
    torch.testing.assert_close(model(images), images - 0.25)
    np.testing.assert_allclose(denoise(model, images), (images - 0.25).clamp(0, 1), atol=2e-3)


def test_fusing_changes_nothing_but_the_cost(trained, images):
    fused = trained.fuse()
    assert trained.training
    assert not any(isinstance(layer, torch.nn.BatchNorm2d) for layer in fused.layers)
    torch.testing.assert_close(fused(images), trained.eval()(images), atol=1e-5, rtol=0)
    torch.testing.assert_close(fused.fuse()(images), fused(images), atol=0, rtol=0)


def test_denoising_draws_nothing_and_leaves_the_model(trained, images):
    before = {name: tensor.clone() for name, tensor in trained.state_dict().items()}
    state = torch.get_rng_state()
    denoise(trained, images)
    assert torch.equal(torch.get_rng_state(), state)
    assert trained.training
    for name, tensor in trained.state_dict().items():
        assert torch.equal(tensor, before[name])


@pytest.mark.parametrize("unshuffle", [1, 2, 3])
def test_sizes_that_do_not_divide(unshuffle):
    torch.manual_seed(0)
    model = DnCNN(depth=2, width=4, unshuffle=unshuffle).fuse()
    images = torch.rand(2, 3, 17, 22)
    assert model(images).shape == images.shape
    # A padded border does not reach the far corner.
    part = model(images[..., :12, :12])
    torch.testing.assert_close(model(images)[..., :6, :6], part[..., :6, :6])


def test_enlarged_images_go_in_and_the_noise_of_blocks_is_averaged(images):
    torch.manual_seed(0)
    twice = DnCNN(depth=3, width=8, enlarge=2).fuse()
    plain = DnCNN(depth=3, width=8).fuse()
    plain.load_state_dict(twice.state_dict())
    large = torch.nn.functional.interpolate(images, scale_factor=2, mode="bicubic")
    noise = large - plain(large)
    blocks = noise.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).mean((3, 5))
    torch.testing.assert_close(twice(images), images - blocks)
    assert twice(images[..., :17, :23]).shape == (6, 3, 17, 23)


def test_neither_batches_nor_threads_change_the_result(trained, images):
    whole = denoise(trained, images)
    assert torch.equal(denoise(trained, images, batch_size=4), whole)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert torch.equal(denoise(trained, images), whole)
    finally:
        torch.set_num_threads(threads)


def test_survives_a_file(trained, images, tmp_path):
    save_denoiser(trained, tmp_path / "denoiser.safetensors")
    loaded = load_denoiser(tmp_path / "denoiser.safetensors")
    assert loaded.shape == trained.shape
    assert torch.equal(denoise(loaded, images), denoise(trained, images))
    twice = DnCNN(depth=3, width=8, enlarge=2)
    save_denoiser(twice, tmp_path / "twice.safetensors")
    assert torch.equal(
        denoise(load_denoiser(tmp_path / "twice.safetensors"), images), denoise(twice, images)
    )


def test_refuses_files_that_are_not_denoisers(trained, tmp_path):
    path = tmp_path / "denoiser.safetensors"
    with pytest.raises(InputError, match="no denoiser at"):
        load_denoiser(path)
    save_denoiser(trained, path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError, match="damaged"):
        load_denoiser(path)
    path.write_bytes(b"not safetensors at all")
    with pytest.raises(InputError, match="damaged"):
        load_denoiser(path)
    save_file({"weight": torch.zeros(3)}, path)
    with pytest.raises(InputError, match="holds no denoiser"):
        load_denoiser(path)
    metadata = {
        "format": "superstar-denoiser",
        "spec": '{"kind": "dncnn", "half": false, "depth": 4}',
    }
    save_file({"weight": torch.zeros(3)}, path, metadata=metadata)
    with pytest.raises(InputError, match="announces"):
        load_denoiser(path)
    with torch.no_grad():
        trained.layers[0].weight[0, 0, 0, 0] = torch.nan
    save_denoiser(trained, path)
    with pytest.raises(InputError, match="NaN"):
        load_denoiser(path)


def test_refuses_shapes_that_cannot_be():
    with pytest.raises(InputError, match="depth of at least 2"):
        DnCNN(depth=1)
    with pytest.raises(InputError, match="enlarge of at least 1"):
        DnCNN(enlarge=0)
    with pytest.raises(InputError, match="batch_size"):
        denoise(DnCNN(depth=2, width=2), torch.zeros(1, 3, 16, 16), batch_size=0)
