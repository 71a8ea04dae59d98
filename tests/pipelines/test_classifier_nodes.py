"""The classifiers under study: trained by scheme, or taken as they were published."""

import numpy as np
import pytest
import torch

from superstar.checkpoint import Checkpoint, keep_in
from superstar.classifiers import WideResNet, initialised
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.parameters import ClassifierTraining
from superstar.pipelines.classifier_training import nodes

NAMES = ["red", "green", "blue"]
COMMON = {"batch_size": 16, "learning_rate": 0.003, "weight_decay": 0.05, "shift": 2}
AUGMIX = COMMON | {"epochs": 2, "consistency": 1.0, "severity": 1}
GIVEN = {
    "architecture": {"kind": "wide_resnet", "depth": 10, "width": 1, "dropout": 0.0},
    "standard": COMMON | {"epochs": 3, "label_smoothing": 0.0, "learning_rate": 0.01},
    "augmix": AUGMIX,
    "noisymix": AUGMIX | {"alpha": 1.0, "additive_noise": 0.1, "multiplicative_noise": 0.1},
    "puzzlemix": COMMON
    | {
        "epochs": 2,
        "alpha": 1.0,
        "label_smoothness": 1.2,
        "data_smoothness": 0.5,
        "prior": 0.2,
        "transport": 0.8,
    },
    "published": {},
}
DISTANCE = {
    "projection": "dct",
    "dimensions": 50,
    "mean": [0.5] * 3,
    "std": [0.25] * 3,
    "measure": {"kind": "wasserstein"},
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
    """Noise images in which the label's channel is brighter."""
    random = np.random.default_rng(0)
    labels = np.arange(96) % 3
    images = random.integers(0, 150, (96, 16, 16, 3), dtype=np.uint8)
    images[np.arange(96), :, :, labels] += 100
    return ImageSet(images, labels.astype(np.int64))


@pytest.fixture(scope="module")
def standard(images, tmp_path_factory):
    return ordinary(images)[0]


def ordinary(images, published=GIVEN["published"]):
    return nodes.train_standard_classifier(
        images,
        NAMES,
        GIVEN["architecture"],
        GIVEN["standard"],
        published,
        DISTANCE,
        EXECUTION,
        0,
    )


def robust(standard, images, path, given=GIVEN):
    keep_in(Checkpoint(path))
    try:
        return nodes.train_robust_classifiers(standard, images, NAMES, given, EXECUTION, 0)
    finally:
        keep_in(None)


def test_every_scheme_starts_from_standard_and_leaves_it_alone(standard, images, tmp_path):
    before = {name: value.clone() for name, value in standard.state_dict().items()}
    classifiers, curves = robust(standard, images, tmp_path / "checkpoints")
    assert list(classifiers) == ["augmix", "noisymix", "puzzlemix"]
    assert curves.columns.tolist() == ["epoch", "augmix", "noisymix", "puzzlemix"]
    assert len(curves) == 2
    for classifier in classifiers.values():
        assert isinstance(classifier, WideResNet)
        assert not torch.equal(classifier.head.weight, standard.head.weight)
    assert all(torch.equal(before[name], value) for name, value in standard.state_dict().items())


def test_what_was_finished_before_an_interruption_is_not_trained_again(
    standard, images, tmp_path, monkeypatch
):
    expected, _ = robust(standard, images, tmp_path / "straight")

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setitem(nodes.SCHEMES, "noisymix", interrupted)
        with pytest.raises(KeyboardInterrupt):
            robust(standard, images, tmp_path / "again")
    done = tmp_path / "again" / "augmix.safetensors"
    written = done.stat().st_mtime_ns
    classifiers, _ = robust(standard, images, tmp_path / "again")
    assert done.stat().st_mtime_ns == written
    for name, classifier in classifiers.items():
        own = expected[name].state_dict()
        assert all(torch.equal(own[key], value) for key, value in classifier.state_dict().items())
    Checkpoint(tmp_path / "again").remove()
    assert not (tmp_path / "again").exists()


def published(path, classes: int = 3) -> dict:
    """A network of torchdistill's kind under its own names, as its code writes them."""
    network = initialised(
        lambda: WideResNet(classes, 10, 1, [0.5] * 3, [0.25] * 3, block="raw_shortcut"), 5
    )
    names = {"stem": "conv1", "norm": "bn1", "head": "fc"}
    weights = {}
    for name, tensor in network.state_dict().items():
        head, _, rest = name.partition(".")
        if head in ("mean", "std"):
            continue
        if head == "stages":
            stage, block, inner = rest.split(".", 2)
            inner = inner.replace("norm", "bn").replace("shortcut.", "shortcut.0.")
            weights[f"layer{int(stage) + 1}.{block}.{inner}"] = tensor
        else:
            weights[f"{names[head]}.{rest}"] = tensor
    torch.save({"model": weights}, path)
    return {"path": str(path), "layout": "torchdistill"}


def test_published_classifiers_are_taken_instead(standard, images, tmp_path):
    given = GIVEN | {
        "noisymix": None,
        "published": {
            "deepaugment": published(tmp_path / "one.pt"),
            "augmix": published(tmp_path / "two.pt"),
        },
    }
    classifiers, curves = robust(standard, images, tmp_path / "checkpoints", given)
    assert list(classifiers) == ["augmix", "deepaugment", "puzzlemix"]
    assert curves.columns.tolist() == ["epoch", "puzzlemix"]
    assert classifiers["augmix"].arguments["block"] == "raw_shortcut"
    elsewhere = {"standard": published(tmp_path / "three.pt")}
    taken, losses = ordinary(images, elsewhere)
    assert torch.equal(taken.head.weight, classifiers["augmix"].head.weight)
    assert losses.empty


MODULE = """
from torch import nn

def mine():
    return nn.Sequential(nn.Conv2d(3, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())

def large_ones():
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 3))
"""


def test_networks_of_ones_own_are_named(standard, images, tmp_path, monkeypatch):
    (tmp_path / "networks_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    given = {"noisymix": None, "puzzlemix": None, "published": {}}
    given["published"]["augmix"] = "networks_of_a_user:mine"
    classifiers, curves = robust(standard, images, tmp_path / "checkpoints", GIVEN | given)
    assert list(classifiers) == ["augmix"]
    assert classifiers["augmix"].arguments["name"] == "networks_of_a_user:mine"
    assert curves.empty
    given["published"]["augmix"] = "networks_of_a_user:large_ones"
    with pytest.raises(InputError, match="cannot classify images of 16x16 pixels"):
        robust(standard, images, tmp_path / "checkpoints", GIVEN | given)
    given["published"]["augmix"] = "networks_of_a_user:mine"
    with pytest.raises(InputError, match="_user:mine, tells 3 classes apart, but the images are o"):
        nodes.train_robust_classifiers(
            standard, images, ["one", "two"], GIVEN | given, EXECUTION, 0
        )


def test_published_classifiers_must_be_there_and_fit(standard, images, tmp_path):
    entry = published(tmp_path / "four.pt", classes=4)
    with pytest.raises(InputError, match="tells 4 classes apart, but the images are of 3"):
        robust(standard, images, tmp_path / "c", GIVEN | {"published": {"augmix": entry}})
    for name in ("../outside", ".hidden", "a b", ""):
        with pytest.raises(ValueError, match="pattern"):
            ClassifierTraining.model_validate(GIVEN | {"published": {name: entry}})
    for change, message in (
        ({"path": str(tmp_path / "absent.pt")}, "there is no checkpoint"),
        ({"layout": "torchdistil"}, "did you mean 'torchdistill'"),
    ):
        with pytest.raises(ValueError, match=message):
            ClassifierTraining.model_validate(GIVEN | {"published": {"augmix": entry | change}})
