"""Checkpoints as the authors' code writes them, against a reference that works on their names."""

import argparse
import os
import pickle
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from checkpoint_files import RESNETS, foreign_class, prefixed
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

from superstar.classifiers import LAYOUTS, load_classifier, load_published, save_classifier
from superstar.errors import InputError

HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
FORMS = {
    "torchdistill": {
        "stage": "layer{}",
        "shortcut": "shortcut.0",
        "head": "fc",
        "normalisation": (
            (0.5070754, 0.48655024, 0.44091907),
            (0.26733398, 0.25643876, 0.2761503),
        ),
    },
    "augmix": {
        "stage": "block{}.layer",
        "shortcut": "convShortcut",
        "head": "fc",
        "normalisation": HALF,
    },
    "noisymix": {
        "stage": "layer{}",
        "shortcut": "shortcut.0",
        "head": "linear",
        "normalisation": HALF,
    },
    "puzzlemix": {
        "stage": "layer{}",
        "shortcut": "shortcut.0",
        "head": "linear",
        "normalisation": (
            (0.50705882, 0.48666667, 0.44078431),
            (0.26745098, 0.25647059, 0.27607843),
        ),
    },
}


def make_weights(layout, depth=10, width=1, classes=4, seed=0):
    """Random weights under the names of the authors' code, batch statistics included."""
    form, weights = FORMS[layout], {}
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator)

    def convolution(name, inner, outer, size):
        weights[f"{name}.weight"] = draw(outer, inner, size, size) / (inner * size * size) ** 0.5
        if form["head"] == "linear":
            weights[f"{name}.bias"] = 0.3 * draw(outer)

    def norm(name, channels):
        weights[f"{name}.weight"] = 0.5 + draw(channels).abs()
        weights[f"{name}.bias"] = 0.3 * draw(channels)
        weights[f"{name}.running_mean"] = 0.3 * draw(channels)
        weights[f"{name}.running_var"] = 0.5 + draw(channels).abs()
        weights[f"{name}.num_batches_tracked"] = torch.tensor(391)

    convolution("conv1", 3, 16, 3)
    inner = 16
    for stage in (1, 2, 3):
        outer = 16 * width * 2 ** (stage - 1)
        for index in range((depth - 4) // 6):
            block = f"{form['stage'].format(stage)}.{index}"
            norm(f"{block}.bn1", inner)
            convolution(f"{block}.conv1", inner, outer, 3)
            norm(f"{block}.bn2", outer)
            convolution(f"{block}.conv2", outer, outer, 3)
            if inner != outer:
                convolution(f"{block}.{form['shortcut']}", inner, outer, 1)
            inner = outer
    norm("bn1", inner)
    weights[f"{form['head']}.weight"] = draw(classes, inner) / inner**0.5
    weights[f"{form['head']}.bias"] = draw(classes)
    return weights


def reference(layout, weights, images, normalisation=None):
    """Logits of 32×32 images, step by step as the authors' forward passes take them."""
    form = FORMS[layout]
    late = layout in ("noisymix", "puzzlemix")
    mean, std = normalisation or form["normalisation"]

    def convolve(x, name, stride=1):
        kernel = weights[f"{name}.weight"]
        bias = weights.get(f"{name}.bias")
        return functional.conv2d(x, kernel, bias, stride, padding=kernel.shape[-1] // 2)

    def normalise(x, name):
        parts = ("running_mean", "running_var", "weight", "bias")
        return functional.batch_norm(x, *(weights[f"{name}.{part}"] for part in parts))

    x = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    x = convolve(x, "conv1")
    for stage in (1, 2, 3):
        index = 0
        while f"{form['stage'].format(stage)}.{index}.conv1.weight" in weights:
            block = f"{form['stage'].format(stage)}.{index}"
            stride = 2 if stage > 1 and index == 0 else 1
            out = functional.relu(normalise(x, f"{block}.bn1"))
            if f"{block}.{form['shortcut']}.weight" in weights:
                source = out if layout == "augmix" else x
                x = convolve(source, f"{block}.{form['shortcut']}", stride)
            out = convolve(out, f"{block}.conv1", 1 if late else stride)
            out = functional.relu(normalise(out, f"{block}.bn2"))
            x = x + convolve(out, f"{block}.conv2", stride if late else 1)
            index += 1
    x = functional.avg_pool2d(functional.relu(normalise(x, "bn1")), 8).flatten(1)
    return functional.linear(x, weights[f"{form['head']}.weight"], weights[f"{form['head']}.bias"])


@pytest.fixture
def images():
    return torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


@pytest.mark.parametrize(("depth", "width", "classes"), [(10, 1, 4), (16, 2, 7)])
@pytest.mark.parametrize("layout", FORMS)
def test_the_network_computes_what_the_authors_code_computes(
    layout, depth, width, classes, images, path
):
    weights = make_weights(layout, depth, width, classes)
    torch.save(weights, path)
    model = load_published(path, layout)
    expected = reference(layout, weights, images)
    assert expected.std() > 0.1
    torch.testing.assert_close(model(images), expected, rtol=1e-4, atol=1e-4)
    assert {name: model.arguments[name] for name in ("depth", "width", "classes")} == {
        "depth": depth,
        "width": width,
        "classes": classes,
    }
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_every_layout_is_compared():
    assert set(LAYOUTS) == {*FORMS, *RESNETS}


def test_layouts_with_equal_names_are_different_functions(images, path):
    weights = make_weights("noisymix")
    torch.save(weights, path)
    noisymix, puzzlemix = (load_published(path, name)(images) for name in ("noisymix", "puzzlemix"))
    assert not torch.allclose(noisymix, puzzlemix, rtol=1e-2)


# What surrounds a state dict in the files of several code bases.
WRAPPINGS = {
    "bare": lambda weights: weights,
    "DataParallel": prefixed,
    "augmix": lambda weights: {
        "epoch": 99,
        "dataset": "cifar100",
        "model": "wrn",
        "state_dict": prefixed(weights),
        "best_acc": 0.76,
        "optimizer": {"state": {0: {"momentum_buffer": torch.ones(2)}}, "param_groups": []},
    },
    "robustbench": lambda weights: {"state_dict": prefixed(weights, "model.")},
    "model_state_dict": lambda weights: {"model_state_dict": weights, "step": torch.tensor(3)},
    "model": lambda weights: {"model": weights, "epoch": 3},
    "nested": lambda weights: {"net": {"state_dict": prefixed(weights, "module.model.")}},
    "any other name": lambda weights: {"ema": weights, "acc": 76.0},
    "a choice": lambda weights: {"state_dict": weights, "ema": {"fc.weight": torch.zeros(3)}},
    "no counters": lambda weights: {
        name: tensor for name, tensor in weights.items() if "num_batches" not in name
    },
    "parameters": lambda weights: {
        name: nn.Parameter(tensor) if tensor.is_floating_point() else tensor
        for name, tensor in weights.items()
    },
    "double": lambda weights: {name: tensor.double() for name, tensor in weights.items()},
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_state_dicts_are_found_in_what_surrounds_them(wrapping, zipped, images, path):
    weights = make_weights("torchdistill")
    torch.save(WRAPPINGS[wrapping](weights), path, _use_new_zipfile_serialization=zipped)
    logits = load_published(path, "torchdistill")(images)
    assert logits.dtype == torch.float32
    expected = reference("torchdistill", weights, images)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


def test_safetensors(images, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    weights = make_weights("puzzlemix")
    save_file(weights, path)
    logits = load_published(path, "puzzlemix")(images)
    expected = reference("puzzlemix", weights, images)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


def test_both_names_of_the_shortcut_in_augmix(images, path):
    weights = make_weights("augmix")
    renamed = {name.replace("convShortcut", "conv_shortcut"): weights[name] for name in weights}
    assert set(renamed) != set(weights)
    torch.save(weights, path)
    old = load_published(path, "augmix")(images)
    torch.save(renamed, path)
    assert torch.equal(load_published(path, "augmix")(images), old)


def test_normalisation_of_the_file_counts(images, path):
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    weights = make_weights("augmix")
    own = {"mu": torch.tensor(mean).view(1, 3, 1, 1), "sigma": torch.tensor(std).view(1, 3, 1, 1)}
    torch.save({"state_dict": prefixed(weights) | own}, path)
    model = load_published(path, "augmix")
    expected = reference("augmix", weights, images, (mean, std))
    torch.testing.assert_close(model(images), expected, rtol=1e-4, atol=1e-4)
    assert model.arguments["mean"] == pytest.approx(mean)


def test_whole_networks_of_noisymix(images, path):
    weights = make_weights("noisymix")
    with pytest.MonkeyPatch.context() as patch:
        for package in ("src", "src.cifar_models"):
            patch.setitem(sys.modules, package, ModuleType(package))
        where = "src.cifar_models.wide_resnet"
        network_class = foreign_class(patch, where, "Wide_ResNet", nn.Module)
        block_class = foreign_class(patch, where, "wide_basic", nn.Module)

        def convolution(name):
            outer, inner, size, _ = weights[f"{name}.weight"].shape
            return nn.Conv2d(inner, outer, size)

        network = network_class()
        network.conv1 = convolution("conv1")
        for stage in ("layer1", "layer2", "layer3"):
            block, name = block_class(), f"{stage}.0"
            block.bn1 = nn.BatchNorm2d(len(weights[f"{name}.bn1.bias"]))
            block.conv1 = convolution(f"{name}.conv1")
            block.dropout = nn.Dropout(p=0.1)
            block.bn2 = nn.BatchNorm2d(len(weights[f"{name}.bn2.bias"]))
            block.conv2 = convolution(f"{name}.conv2")
            block.shortcut = nn.Sequential()
            if f"{name}.shortcut.0.weight" in weights:
                block.shortcut = nn.Sequential(convolution(f"{name}.shortcut.0"))
            setattr(network, stage, nn.Sequential(block))
        network.bn1 = nn.BatchNorm2d(64, momentum=0.9)
        network.linear = nn.Linear(64, 4)
        network.blocks = [network.layer1, network.layer2, network.layer3]
        network.load_state_dict(weights)
        torch.save(nn.DataParallel(network), path)
    assert "src.cifar_models.wide_resnet" not in sys.modules
    logits = load_published(path, "noisymix")(images)
    expected = reference("noisymix", weights, images)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(InputError, match="holds more than weights"):
        load_published(path, "puzzlemix")


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("module", ["utils", "logger"])
def test_recorders_of_puzzlemix(module, zipped, images, path):
    weights = make_weights("puzzlemix")
    with pytest.MonkeyPatch.context() as patch:
        recorder = foreign_class(patch, module, "RecorderMeter")()
        recorder.total_epoch = 400
        recorder.epoch_losses = np.zeros((400, 2), dtype=np.float32) - 1
        content = {
            "epoch": 400,
            "arch": "wrn28_10",
            "state_dict": prefixed(weights),
            "recorder": recorder,
            "optimizer": {"state": {}, "param_groups": [{"lr": 0.1}]},
        }
        torch.save(content, path, _use_new_zipfile_serialization=zipped)
    logits = load_published(path, "puzzlemix")(images)
    expected = reference("puzzlemix", weights, images)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


class Malicious:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_run_no_code(layout, zipped, path, tmp_path):
    content = {"state_dict": make_weights("augmix"), "extra": Malicious(tmp_path / "ran")}
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match=r"more than weights \(posix.mkdir\)") as caught:
        load_published(path, layout)
    assert "\n" not in str(caught.value)
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(InputError, match=str(path)):
        load_published(path, layout)
    assert not (tmp_path / "ran").exists()


def test_foreign_objects_are_named(path):
    content = {"state_dict": make_weights("augmix"), "args": argparse.Namespace(epochs=100)}
    torch.save(content, path)
    with pytest.raises(InputError, match=r"\(argparse.Namespace\).* save its state_dict"):
        load_published(path, "augmix")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
@pytest.mark.parametrize("kind", ["zip", "legacy", "safetensors"])
def test_files_cut_short(kind, share, tmp_path):
    path = tmp_path / ("net.safetensors" if kind == "safetensors" else "net.pth.tar")
    weights = make_weights("torchdistill")
    if kind == "safetensors":
        save_file(weights, path)
    else:
        torch.save(weights, path, _use_new_zipfile_serialization=kind == "zip")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    # A name that is cut looks like that of a foreign class.
    message = "truncated or not a checkpoint|holds more than weights .collections.Ord"
    with pytest.raises(InputError, match=message) as caught:
        load_published(path, "torchdistill")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["net.pt", "net.safetensors"])
@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE html><html><title>Google Drive - Virus scan warning</title></html>\n" * 20,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        b"PK\x03\x04" + bytes(200),
        pickle.dumps({"fc.weight": np.zeros(3)}),
        bytes(1000),
    ],
)
def test_files_that_are_no_checkpoints(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=str(path)) as caught:
        load_published(path, "torchdistill")
    assert "\n" not in str(caught.value)


def test_missing_files(tmp_path):
    for path in (tmp_path / "absent.pt", tmp_path):
        with pytest.raises(InputError, match=r"no checkpoint at .*: download it"):
            load_published(path, "torchdistill")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "no state dict but list"),
        ({}, "it is empty"),
        ({"epoch": 3}, "epoch is not a tensor"),
        ({"state_dict": {"epoch": 3}}, "epoch is not a tensor"),
        ({"state_dict": {"fc.weight": torch.ones(1), "steps": [1]}}, "steps is not a tensor"),
        ({"a": {"w": torch.ones(1)}, "b": {"w": torch.ones(1)}}, r"several networks \(a, b\)"),
        ({"model.w": torch.ones(1), "module.w": torch.ones(1)}, "two tensors w"),
        ({"w": torch.tensor([1.0, float("nan")])}, "NaN or infinite"),
        ({0: torch.ones(1)}, "does not fit the layout torchdistill: it holds 0:"),
    ],
)
def test_checkpoints_without_a_network(content, message, path):
    torch.save(content, path)
    with pytest.raises(InputError, match=message) as caught:
        load_published(path, "torchdistill")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda w: w.to_sparse(), "torch.sparse_coo"),
        (lambda w: w.to_sparse_csr(), "torch.sparse_csr"),
        (lambda w: torch.quantize_per_tensor(w, 0.1, 0, torch.qint8), "torch.qint8"),
        (lambda w: w.to(torch.float8_e4m3fn), "torch.float8_e4m3fn"),
        (lambda w: w.to(torch.complex64), "torch.complex64"),
        (lambda w: w.to("meta"), "on meta"),
    ],
)
def test_weights_that_are_not_plain_numbers_are_named(change, kind, path):
    torch.save({"module.conv1.weight": torch.ones(1), "fc.weight": change(torch.eye(3))}, path)
    with pytest.raises(InputError, match=rf"holds fc\.weight as a tensor of .*{kind}") as caught:
        load_published(path, "torchdistill")
    assert "\n" not in str(caught.value)


def replaced(**changes):
    def change(weights):
        for name, tensor in changes.items():
            weights[name.replace("__", ".")] = tensor
        return weights

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda weights: {name: weights[name] for name in weights if "layer3" not in name},
            r"missing: layer3.0.bn1.weight, layer3.0.bn1.bias, \S+ and 8 more: take",
        ),
        (replaced(conv9__weight=torch.ones(2)), "unexpected: conv9.weight: take"),
        (replaced(mu=torch.ones(3)), "unexpected: mu: take"),
        (replaced(mu=torch.ones(3), sigma=torch.zeros(3)), "unexpected: mu, sigma: take"),
        (replaced(fc__bias=torch.ones(9)), r"another shape: fc.bias \(9,\) instead of \(4,\): "),
        (replaced(fc__weight=torch.ones(4, 3)), "it holds conv1.weight, .* and .* more: take"),
        (replaced(fc__weight=torch.ones(4, 128)), r"another shape: layer1.0.conv1.weight"),
        (
            lambda weights: {name: weights[name] for name in weights if name != "conv1.weight"},
            "missing: conv1.weight: take a network that the code of torchdistill built",
        ),
    ],
)
def test_networks_that_do_not_fit(change, message, path):
    torch.save(change(make_weights("torchdistill")), path)
    with pytest.raises(InputError, match=message) as caught:
        load_published(path, "torchdistill")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("written", "asked", "advice"),
    [
        ("torchdistill", "augmix", "try the layout torchdistill"),
        ("augmix", "torchdistill", "try the layout augmix"),
        ("noisymix", "torchdistill", "try the layout noisymix or puzzlemix"),
        ("torchdistill", "puzzlemix", "try the layout torchdistill"),
        ("augmix", "torchvision_resnet50", "try the layout augmix"),
        ("torchdistill", "puzzlemix_resnet50", "try the layout torchdistill"),
    ],
)
def test_another_layout_is_suggested(written, asked, advice, path):
    torch.save(make_weights(written), path)
    with pytest.raises(InputError, match=f"does not fit the layout {asked}.*{advice}"):
        load_published(path, asked)


def test_architecture_of_the_configuration_is_checked(path):
    torch.save(make_weights("augmix", 16, 2, 5), path)
    assert load_published(path, "augmix", depth=16, width=2, classes=5).arguments["depth"] == 16
    for wanted, message in (
        ({"depth": 40}, "depth 16, not 40"),
        ({"width": 1}, "width 2, not 1"),
        ({"classes": 100}, "classes 5, not 100"),
        ({"dept": 16}, "did you mean 'depth'"),
    ):
        with pytest.raises(InputError, match=message):
            load_published(path, "augmix", **wanted)
    with pytest.raises(InputError, match="unknown layout 'augmx'; did you mean 'augmix'"):
        load_published(path, "augmx")


def test_loading_leaves_random_numbers_alone(path):
    torch.save(make_weights("augmix"), path)
    state = torch.get_rng_state()
    load_published(path, "augmix")
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("layout", FORMS)
def test_published_classifiers_are_saved_as_others(layout, images, path, tmp_path):
    torch.save(make_weights(layout), path)
    model = load_published(path, layout)
    save_classifier(model, tmp_path / "classifier.safetensors")
    again = load_classifier(tmp_path / "classifier.safetensors")
    assert torch.equal(again(images), model(images))
    assert again.arguments == model.arguments
