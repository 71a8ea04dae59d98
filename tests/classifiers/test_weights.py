import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from superstar.classifiers import SmallResNet, WideResNet, load_classifier, save_classifier
from superstar.errors import InputError


@pytest.fixture
def saved(tmp_path):
    model = SmallResNet(5, width=4, mean=(0.1, 0.2, 0.3), std=(0.4, 0.5, 0.6)).eval()
    path = tmp_path / "standard.safetensors"
    save_classifier(model, path)
    return model, path


def test_round_trip_gives_the_same_function(saved):
    model, path = saved
    images = torch.rand(3, 3, 32, 32)
    loaded = load_classifier(path)
    assert loaded.arguments == model.arguments
    assert not loaded.training
    assert torch.equal(loaded(images), model(images))


def test_wide_networks_come_back_too(tmp_path):
    half = (0.5, 0.5, 0.5)
    path = tmp_path / "wide.safetensors"
    for block in ("original", "late_stride"):
        model = WideResNet(5, 16, 2, half, half, dropout=0.3, block=block).eval()
        save_classifier(model, path)
        loaded = load_classifier(path)
        assert isinstance(loaded, WideResNet)
        assert loaded.arguments == model.arguments
        images = torch.rand(2, 3, 16, 24)
        assert torch.equal(loaded(images), model(images))


def test_the_file_says_how_to_build_the_network(saved):
    _, path = saved
    with safe_open(path, framework="pt") as file:
        spec = json.loads(file.metadata()["spec"])
    assert spec == {
        "architecture": "small_resnet",
        "arguments": {"classes": 5, "width": 4, "mean": [0.1, 0.2, 0.3], "std": [0.4, 0.5, 0.6]},
    }


def test_equal_networks_give_equal_files(saved):
    model, path = saved
    contents = {path.read_bytes()}
    for _ in range(20):
        save_classifier(model, path)
        contents.add(path.read_bytes())
    assert len(contents) == 1


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no classifier at"):
        load_classifier(tmp_path / "absent.safetensors")


@pytest.mark.parametrize("length", [0, 4, 200, -1])
def test_truncated_file(saved, length):
    _, path = saved
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match="damaged"):
        load_classifier(path)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "holds no classifier"),
        ({"format": "superstar-denoiser"}, "holds no classifier"),
        (
            {
                "format": "superstar-classifier",
                "spec": '{"architecture": "small_resnt", "arguments": {}}',
            },
            "did you mean 'small_resnet'",
        ),
        *(
            ({"format": "superstar-classifier", "spec": spec}, "does not hold")
            for spec in (
                '{"architecture": "small_resnet", "arguments": {}}',
                '{"architecture": "small_resnet", "arguments": {"classes": 3}}',
                '{"architecture": "wide_resnet", "arguments": {"classes": 3, "width": 2}}',
                "{}",
                "not JSON",
            )
        ),
    ],
)
def test_foreign_file(tmp_path, metadata, message):
    path = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.zeros(3)}, path, metadata=metadata)
    with pytest.raises(InputError, match=message) as caught:
        load_classifier(path)
    assert "\n" not in str(caught.value)


def test_only_known_architectures_are_saved(tmp_path):
    with pytest.raises(InputError, match="unknown architecture 'Linear'"):
        save_classifier(torch.nn.Linear(3, 3), tmp_path / "linear.safetensors")
