"""ResNet-50 as its authors hand it out, against torchvision's network with the same weights."""

import sys
from copy import deepcopy
from types import ModuleType

import numpy as np
import pytest
import torch
from checkpoint_files import RESNETS, foreign_class, prefixed
from safetensors.torch import save_file
from torch import nn

from superstar.classifiers import ResNet50, load_classifier, load_published, save_classifier
from superstar.errors import InputError

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def plain(classes, width):
    """torchvision's network with random weights, batch statistics included."""
    from torchvision.models import resnet50

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = resnet50(num_classes=classes, width_per_group=width).eval()
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.bias.data.normal_(0, 0.3)
                module.running_mean.normal_(0, 0.3)
                module.running_var.uniform_(0.5, 1.5)
    return network.requires_grad_(False)


@pytest.fixture(scope="module")
def network():
    """As narrow as can be: the files are a ninth of the size."""
    return plain(7, 1)


@pytest.fixture(scope="module")
def weights(network):
    return network.state_dict()


@pytest.fixture(scope="module")
def images():
    return torch.rand(3, 3, 48, 64, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def expected(network, images):
    return network((images - MEAN) / STD)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pth.tar"


def training_state(rate=0.1):
    buffer = {"momentum_buffer": torch.ones(2)}
    return {"state": {0: buffer}, "param_groups": [{"lr": rate, "params": [0]}]}


def deepaugment(weights):
    return {
        "epoch": 30,
        "arch": "resnet50",
        "state_dict": prefixed(weights),
        "best_acc1": torch.tensor(76.6),
        "optimizer": training_state(np.float64(1e-6)),
    }


# The paper's six classifiers as their authors hand them out, and two more that their code writes.
FILES = {
    "standard": ("torchvision_resnet50", lambda weights: weights),
    "augmix": (
        "torchvision_resnet50",
        lambda weights: {
            "epoch": 179,
            "model": "resnet50",
            "state_dict": prefixed(weights),
            "best_acc1": 0.7753,
            "optimizer": training_state(),
        },
    ),
    "deepaugment": ("torchvision_resnet50", deepaugment),
    "deepaugment_augmix": ("torchvision_resnet50", deepaugment),
    "noisymix": ("noisymix_resnet50", lambda weights: weights),
    "puzzlemix": ("puzzlemix_resnet50", lambda weights: weights),
    "puzzlemix in 100 epochs": (
        "puzzlemix_resnet50",
        lambda weights: deepaugment(weights) | {"best_prec1": torch.tensor(76.0)},
    ),
    "puzzlemix in 300 epochs": (
        "puzzlemix_resnet50",
        lambda weights: {
            "epoch": 299,
            "arch": "resnet",
            "state_dict": prefixed(weights),
            "best_err1": 21.2,
            "best_err5": 5.7,
            "optimizer": training_state(),
        },
    ),
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("file", FILES)
def test_all_files_of_the_paper_give_torchvisions_logits(
    file, zipped, weights, images, expected, path
):
    layout, content = FILES[file]
    torch.save(content(weights), path, _use_new_zipfile_serialization=zipped)
    model = load_published(path, layout)
    assert expected.std() > 0.1
    torch.testing.assert_close(model(images), expected)
    assert isinstance(model, ResNet50)
    assert (model.arguments["classes"], model.arguments["width"]) == (7, 1)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_the_files_are_of_all_layouts():
    assert {layout for layout, _ in FILES.values()} == set(RESNETS)


def test_the_whole_network_at_its_real_width(tmp_path):
    network = plain(1000, 64)
    path = tmp_path / "resnet50.pth"
    torch.save(network.state_dict(), path)
    model = load_published(path, "torchvision_resnet50", classes=1000, width=64)
    images = torch.rand(2, 3, 64, 64)
    torch.testing.assert_close(model(images), network((images - MEAN) / STD))
    assert sum(parameter.numel() for parameter in model.parameters()) == 25_557_032


def test_whole_networks_of_noisymix(network, images, expected, path):
    theirs = deepcopy(network)
    with pytest.MonkeyPatch.context() as patch:
        for package in ("src", "src.imagenet_models"):
            patch.setitem(sys.modules, package, ModuleType(package))
        where = "src.imagenet_models.resnet"
        block = foreign_class(patch, where, "Bottleneck", nn.Module)
        row = foreign_class(patch, where, "SequentialWithArgs", nn.Sequential)
        theirs.__class__ = foreign_class(patch, where, "ResNet", nn.Module)
        for stage in (theirs.layer1, theirs.layer2, theirs.layer3, theirs.layer4):
            stage.__class__ = row
            for part in stage.children():
                part.__class__ = block
        torch.save(nn.DataParallel(theirs), path)
    model = load_published(path, "noisymix_resnet50")
    torch.testing.assert_close(model(images), expected)
    with pytest.raises(InputError, match="holds more than weights"):
        load_published(path, "torchvision_resnet50")


def test_safetensors_and_saving(weights, images, expected, tmp_path):
    save_file(weights, tmp_path / "theirs.safetensors")
    model = load_published(tmp_path / "theirs.safetensors", "torchvision_resnet50")
    save_classifier(model, tmp_path / "ours.safetensors")
    again = load_classifier(tmp_path / "ours.safetensors")
    assert isinstance(again, ResNet50)
    assert again.arguments == model.arguments
    torch.testing.assert_close(again(images), expected)


@pytest.mark.parametrize("side", [16, 33])
def test_any_size_flat_images_too(side, network, weights, path):
    torch.save(weights, path)
    model = load_published(path, "torchvision_resnet50")
    flat = torch.stack([torch.zeros(3, side, side + 5), torch.ones(3, side, side + 5)])
    torch.testing.assert_close(model(flat), network((flat - MEAN) / STD))
    torch.testing.assert_close(model(flat[:1]), model(flat)[:1])


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_half_downloaded_files(share, weights, path):
    torch.save(weights, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match="truncated or not a checkpoint") as caught:
        load_published(path, "torchvision_resnet50")
    assert "\n" not in str(caught.value)


def without(part):
    return lambda weights: {name: weights[name] for name in weights if part not in name}


def resnet18(weights):
    kernel = torch.zeros(64, 64, 3, 3)
    names = ("layer1.0.conv1.weight", "layer4.0.conv1.weight")
    return {"fc.weight": torch.zeros(10, 512), **dict.fromkeys(names, kernel)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("layer3.5"), "missing: layer3.5.conv1.weight, .* and 12 more: take a network"),
        (without("conv1.weight"), "it holds bn1.weight, "),
        (without("fc."), "it holds conv1.weight, bn1.weight, bn1.bias and .* more: take"),
        (lambda weights: weights | {"fc.bias": torch.ones(9)}, r"fc.bias \(9,\) instead of \(7,\)"),
        (lambda weights: weights | {"layer3.6.bn1.bias": torch.ones(4)}, "unexpected: layer3.6.bn"),
        (resnet18, r"missing: conv1.weight, .*layer1.0.conv1.weight \(64, 64, 3, 3\) instead of"),
    ],
)
def test_other_networks_are_refused(change, message, weights, path):
    torch.save(change(weights), path)
    with pytest.raises(InputError, match=message) as caught:
        load_published(path, "torchvision_resnet50")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_wide_residual_layouts_send_here(weights, path):
    torch.save(weights, path)
    with pytest.raises(InputError, match=f"try the layout {' or '.join(RESNETS)}"):
        load_published(path, "torchdistill")
    with pytest.raises(InputError, match="classes 7, not 1000"):
        load_published(path, "puzzlemix_resnet50", classes=1000)
