"""The denoiser: trained, or taken as it was published."""

from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image

from superstar.actions import DnCNN, UNet, packaged_denoiser, save_denoiser
from superstar.datasets import DenoiserImages, LabelledFilesDataset, LabelledImages
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
BLIND = {
    "widths": [8, 16],
    "blocks": [1, 1],
    "unshuffle": 2,
    "tile": 24,
    "scales": [1.0, 0.7],
    "picture_crops": [{"side": 24, "share": 0.5}],
    "small_crops": [{"side": 32, "share": 0.5}],
    "noise": {
        "shares": {"none": 0.1, "gaussian": 0.9},
        "largest_sigma": 130.0,
        "lean": 1.6,
        "photons": [2.0, 200.0],
        "impulse": 0.3,
        "speckle": 0.7,
        "stored": 0.5,
        "jpeg": 0.5,
        "jpeg_qualities": [70, 95],
    },
    "pixels": 4096,
    "rounds": 2,
    "steps": 20,
    "learning_rate": 1e-3,
    "clip_norm": 0.5,
    "gate": {
        "clean_share": 0.1,
        "margin": 1.2,
        "rise": 2.0,
        "strength": 0.8,
        "jpeg_quality": 85,
        "images": 4,
    },
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


def test_the_packages_denoiser_is_taken_without_training(images):
    given = GIVEN | {"source": "packaged"}
    denoiser, curve = nodes.train(images, given, None, EXECUTION, 0)
    assert denoiser is packaged_denoiser()
    assert curve.empty
    assert nodes.assess(denoiser, images, given, None, 0)["psnr_gain_db.sigma_25"] > 0


@pytest.mark.parametrize(
    ("source", "advice"), [("train", "train it longer"), ("packaged", "train one on the run's own")]
)
def test_a_denoiser_that_does_harm_is_told_with_what_to_do(
    images, monkeypatch, caplog, source, advice
):
    monkeypatch.setattr(nodes, "psnr_gains", lambda *_, **__: {15: -2.0, 25: 1.0})
    nodes.assess(packaged_denoiser(), images, GIVEN | {"source": source}, None, 0)
    (message,) = caplog.messages
    assert f"sigma 15 worse, by 2.0 dB: {advice}" in message


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


def test_a_denoiser_of_an_earlier_run_is_taken(images, tmp_path):
    path = tmp_path / "denoiser.safetensors"
    torch.manual_seed(0)
    save_denoiser(UNet(widths=(4,), blocks=(1,)), path)
    denoiser, _ = nodes.train(images, GIVEN | {"source": str(path)}, None, EXECUTION, 0)
    assert isinstance(denoiser, UNet)


def test_the_packages_denoiser_is_made_from_pictures_and_small_images(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        folder = tmp_path / f"n{number}"
        folder.mkdir()
        picture = np.full((40, 48 + number, 3), 50 * number, np.uint8)
        Image.fromarray(picture).save(folder / "one.png")
    colours = rng.integers(0, 256, (30, 1, 1, 3), dtype=np.uint8)
    small = ImageSet(np.tile(colours, (1, 32, 32, 1)), np.arange(30, dtype=np.int64) % 3)
    images = LabelledImages(small.take(slice(0, 20)), small.take(slice(20, 30)), ("a", "b", "c"))
    pictures = LabelledFilesDataset(folder=str(tmp_path)).load()()
    blind = BLIND | {"design_classes": 2, "small_train": 15, "small_held_out": 5}
    given = GIVEN | {"blind": blind}
    source = partial(DenoiserImages, pictures, images)
    denoiser, curve = nodes.train(source, given, None, EXECUTION, 0)
    assert isinstance(denoiser, UNet)
    assert denoiser.widths == (8, 16)
    assert denoiser.gate[1] == pytest.approx(2 * denoiser.gate[0])
    assert denoiser.strength == 0.8
    assert len(curve) == 2
    assert np.isfinite(nodes.assess(denoiser, source, given, None, 0)["psnr_gain_db.sigma_25"])
