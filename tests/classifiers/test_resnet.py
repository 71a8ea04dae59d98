import pytest
import torch

from superstar.classifiers import SmallResNet
from superstar.errors import InputError
from superstar.training import global_seed


def network(**arguments):
    with global_seed(0):
        return SmallResNet(**{"classes": 5, "width": 4, **arguments}).eval()


@pytest.mark.parametrize("shape", [(16, 16), (17, 33), (64, 64)])
def test_logits_of_any_size(shape):
    logits = network()(torch.rand(2, 3, *shape))
    assert logits.shape == (2, 5)
    assert torch.isfinite(logits).all()


def test_normalisation_lies_inside():
    images = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    plain = network(mean=(0, 0, 0), std=(1, 1, 1))
    normalised = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    torch.testing.assert_close(network(mean=mean, std=std)(images), plain(normalised))


def test_unnormalised_names_and_arguments_rebuild_the_network():
    model = network(width=6)
    twin = SmallResNet(**model.arguments)
    twin.load_state_dict(model.state_dict())
    images = torch.rand(2, 3, 24, 24)
    assert torch.equal(twin.eval()(images), model(images))


@pytest.mark.parametrize(
    "arguments", [{"classes": 1}, {"width": 0}, {"std": (0, 1, 1)}, {"mean": (0.5,)}]
)
def test_impossible_networks_are_refused(arguments):
    with pytest.raises(InputError, match="need"):
        network(**arguments)


def test_mixing_points_run_from_the_image_to_the_last_stage():
    model = network()
    assert model.mixing_points == [model.stem, *model.blocks]
