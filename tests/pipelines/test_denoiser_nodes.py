"""The denoiser: trained, or taken as it was published."""

import numpy as np
import pytest
import torch

from superstar.actions import DnCNN
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import DenoiserTraining
from superstar.pipelines.denoiser_training import nodes

GIVEN = {
    "depth": 3,
    "width": 4,
    "unshuffle": 1,
    "enlarge": 2,
    "epochs": 2,
    "batch_size": 8,
    "crop": 16,
    "learning_rate": 4e-3,
    "largest_sigma": 55.0,
    "assessed_sigmas": [25],
    "assessed_images": 4,
    "source": "train",
}
EXECUTION = {
    "device": "cpu",
    "workers": 1,
    "threads": 1,
    "batch_size": 32,
    "backend": "loky",
    "address": None,
    "retries": 0,
}


@pytest.fixture(scope="module")
def images() -> ImageSet:
    """Images of one colour each, from which noise is soon told."""
    colours = np.random.default_rng(0).integers(0, 256, (64, 1, 1, 3), dtype=np.uint8)
    return ImageSet(np.tile(colours, (1, 16, 16, 1)), np.zeros(64, dtype=np.int64))


def published(path) -> DnCNN:
    """A gray network as KAIR saves it, its batch norms merged."""
    torch.manual_seed(0)
    network = DnCNN(4, 5, 1, channels=1, batch_norm=False)
    weights = {
        f"model.{name.removeprefix('layers.')}": t for name, t in network.state_dict().items()
    }
    torch.save(weights, path)
    return network


def test_training_gives_a_loss_an_epoch(images):
    denoiser, curve = nodes.train(images, GIVEN, None, EXECUTION, 0)
    assert denoiser.shape["depth"] == 3
    assert curve["epoch"].tolist() == [1, 2]
    assert (curve["loss"] > 0).all()


def test_a_published_denoiser_is_taken_instead(images, tmp_path):
    network = published(tmp_path / "dncnn_gray_blind.pth")
    given = GIVEN | {"source": str(tmp_path / "dncnn_gray_blind.pth")}
    denoiser, curve = nodes.train(images, given, None, EXECUTION, 0)
    shape = {"depth": 4, "width": 5, "unshuffle": 1, "channels": 1, "enlarge": 2}
    assert denoiser.shape == shape
    assert torch.equal(denoiser.layers[0].weight, network.layers[0].weight)
    assert curve.empty
    assert curve.dtypes.astype(str).to_dict() == {"epoch": "int64", "loss": "float64"}
    assert np.isfinite(nodes.assess(denoiser, images, given, None, 0)["psnr_gain_db.sigma_25"])


def test_a_published_denoiser_must_be_there_and_be_one(images, tmp_path):
    path = tmp_path / "denoiser.pth"
    given = GIVEN | {"source": str(path)}
    with pytest.raises(ValueError, match=r"there is no checkpoint .*denoiser_training\.source"):
        DenoiserTraining.model_validate(given)
    torch.save({"fc.weight": torch.ones(3, 2)}, path)
    with pytest.raises(InputError, match="holds no DnCNN"):
        nodes.train(images, given, None, EXECUTION, 0)
