"""Environment custom: what fits images and a classifier, and what is told before work."""

import logging
import sys

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from projects import ROOT, Project, make_project
from superstar.configuration import ProjectConfigLoader
from superstar.custom import _counts, classifier_name, fit
from superstar.datasets import ImageFiles, LabelledFiles
from superstar.errors import InputError
from superstar.parameters import Parameters
from superstar.settings import CONFIG_LOADER_ARGS
from superstar.training import supports_bfloat16

MODULE = """
import numpy as np
import torch
from torch import nn

def colour():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())

def blue_first(images):
    return images.flip(1).mean((2, 3))

def other_order():
    return lambda images: images.mean((2, 3)).roll(1, 1)

def blind(images):
    return np.zeros(len(images), int)

def level(times=1):
    def scores(images):
        for _ in range(times):
            images = (images - 0.5) / 0.2
        gray = images.mean((1, 2, 3))[:, None]
        return -(gray - torch.tensor([[-1.25, 0.0, 1.25]])).abs()
    return scores

def level_twice():
    return level(2)

def four():
    return lambda images: torch.rand(len(images), 4)

def two():
    return lambda images: torch.rand(len(images), 2)
"""
RED, GREEN, BLUE = ((170, 90, 90), (90, 170, 90), (90, 90, 170))
GRAYS = ((64,) * 3, (128,) * 3, (191,) * 3)


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "by_colour.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("by_colour", None)


def make_images(folder, colours=(RED, GREEN, BLUE), each=90, wrong=0.1, sides=(40, 64)):
    """A folder a colour; a share of its images are of the next one."""
    rng = np.random.default_rng(0)
    for label in range(len(colours)):
        place = folder / f"class {label}"
        place.mkdir(parents=True)
        for number in range(each):
            colour = colours[(label + (number < wrong * each)) % len(colours)]
            shape = (*rng.integers(sides[0], sides[1] + 1, 2), 3)
            pixels = (colour + rng.normal(0, 20, shape)).clip(0, 255)
            ending = ("png", "jpg", "webp")[number % 3]
            Image.fromarray(pixels.astype(np.uint8)).save(place / f"{number}.{ending}")
    return folder


@pytest.fixture
def colours(tmp_path):
    return str(make_images(tmp_path / "photos"))


def parameters(**given) -> dict:
    loader = ProjectConfigLoader(
        str(ROOT / "conf"), env="custom", runtime_params=given, **CONFIG_LOADER_ARGS
    )
    return loader["parameters"]


def test_what_fits_is_valid_and_every_one_stays_a_parameter(colours):
    found = parameters(source=colours, classifier="by_colour:colour")
    checked = Parameters.check(found)
    assert checked.classifier_training.published == {"standard": "by_colour:colour"}
    assert list(checked.classifier_training.trained) == []
    assert (checked.data_preparation.size, checked.data_preparation.resize) == (224, 256)
    assert checked.data_preparation.train == 108
    given = {"size": 32, "validation": 60, "test": 90, "train": 120}
    changed = parameters(source=colours, classifier="by_colour:colour", data_preparation=given)
    checked = Parameters.check(changed)
    assert checked.data_preparation.model_dump(include=set(given)) == given
    assert checked.data_preparation.resize == 37
    assert checked.distance.dimensions == 102
    assert checked.evaluation.batch_size == 30


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"classifer": "by_colour:colour"}, "'classifer'; did you mean 'classifier'?"),
        ({"sorce": "nowhere"}, "'sorce'; did you mean 'source'?"),
        ({"crop": 32}, "'crop'; did you mean 'corrupt.crop'?"),
        ({"recover": {"groups": "all"}}, "'recover.groups'; did you mean 'recover.group'?"),
    ],
)
def test_names_are_checked_before_what_they_are_for(given, name, tmp_path):
    with pytest.raises(InputError) as caught:
        parameters(source=str(tmp_path), **given)
    assert str(caught.value).startswith(f"unknown parameter {name}")


def test_images_of_one_size_keep_it(tmp_path):
    source = str(make_images(tmp_path / "photos", sides=(48, 48)))
    found = fit(source, "by_colour:colour", None, {})
    assert found.values["data_preparation.size"] == 48
    assert found.values["data_preparation.resize"] is None
    usual = yaml.safe_load((ROOT / "conf/base/parameters_calibration.yml").read_text())
    for name in ("severities", "pair_severities", "line_blur"):
        assert found.values[f"calibration.{name}"] == usual["calibration"][name]
    assert found.values["evaluation.precision"] == "float32"
    larger = fit(source, "efficientnet_lite0", None, {}).values
    assert larger["data_preparation.resize"] == 256
    assert larger["calibration.severities"] == [2, 4]
    assert larger["evaluation.precision"] == ("bfloat16" if supports_bfloat16() else "float32")
    colours = np.mean([RED, GREEN, BLUE], 0) / 255
    assert np.allclose(found.values["distance.mean"], colours, atol=0.02)
    (line,) = (line for line in found.table() if line.startswith("data_preparation.train "))
    assert line.endswith("108                      of 270; 3,000 from 7,500 on")


def files(folder, count: int) -> ImageFiles:
    return ImageFiles(folder, tuple(map(str, range(count))), np.zeros(count, np.int64))


@given(design=st.integers(1, 20_000), test=st.none() | st.integers(1, 5_000))
def test_sets_and_batches_fit_what_there_is(design, test):
    tests = None if test is None else files(ROOT, test)
    found = LabelledFiles(files(ROOT, design), tests, ("a",))
    try:
        values, _ = _counts(found, {})
    except InputError:
        assert design < 250 or (test or 25) < 25
        return
    train, validation, tested = (
        values[f"data_preparation.{name}"] for name in ("train", "validation", "test")
    )
    assert train + validation + (tested if test is None else 0) <= design
    assert tested <= (design if test is None else test)
    policy = "surrogate_generation.policy"
    batch = values[f"{policy}.batch_size"]
    batches = [values[f"{policy}.{name}"] for name in ("training_batches", "held_out_batches")]
    assert min(batches) >= 1
    assert values["policy_training.episodes"] == 200 * batches[0]
    assert sum(batches) * batch <= train
    assert batch <= min(validation // 2, tested)
    assert values["severity_calibration.images"] <= validation // 2
    assert 1 / (train + 1) <= 0.01


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    source = make_images(tmp_path / "photos", each=40)
    (source / "class 1" / "broken.png").write_bytes(b"nothing")
    with pytest.raises(InputError) as caught:
        fit(str(source), "by_colour:color", str(tmp_path / "list"), {})
    told = str(caught.value)
    assert "\n" not in told
    assert "did you mean 'colour'?" in told
    assert told.count(f"list of classes {tmp_path}/list does not exist") == 1
    with pytest.raises(InputError, match=r"^classifier is not given.*1 file is no image: .*broken"):
        fit(str(source), None, None, {})
    (source / "class 1" / "broken.png").unlink()
    with pytest.raises(InputError, match="at least 250 are needed, but train gets 48 of 120"):
        fit(str(source), "by_colour:colour", None, {})


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (
            "blue_first",
            "want blue before red: it is right on 33.* and with blue first on 89.6%",
        ),
        ("other_order", "outputs in another order .* 0.0% .* and in the right order on 89.6%"),
        ("blind", "near chance: it is right on 33.*, where 33.3% are chance"),
        ("four", "tells 4 classes apart, but there are 3 class folders: name all"),
        ("two", "two: 2 outputs cannot tell 3 class folders apart: remove folders or check"),
    ],
)
def test_a_classifier_that_wants_something_else_stops_the_run(classifier, message, colours):
    found = fit(colours, f"by_colour:{classifier}", None, {"size": 32})
    with pytest.raises(InputError, match=message):
        found.check_classifier()


def test_images_of_one_class_are_refused_though_a_list_names_more(tmp_path):
    source = make_images(tmp_path / "photos", [RED])
    (tmp_path / "classes.txt").write_text("class 0\nclass 1\n")
    with pytest.raises(InputError, match="images of one class alone"):
        fit(str(source), "by_colour:two", str(tmp_path / "classes.txt"), {"size": 32})


def test_levels_that_are_normalised_twice_are_told(tmp_path):
    source = str(make_images(tmp_path / "photos", GRAYS))
    assert fit(source, "by_colour:level", None, {"size": 32}).check_classifier()[0] == logging.INFO
    with pytest.raises(InputError, match=r"twice: it is right on 6.*, and normalised once on 89"):
        fit(source, "by_colour:level_twice", None, {"size": 32}).check_classifier()


def test_a_sound_classifier_passes_and_a_perfect_one_warns(tmp_path, colours):
    level, line = fit(colours, "by_colour:colour", None, {"size": 32}).check_classifier()
    assert (level, line) == (
        logging.INFO,
        "the classifier: it is right on 89.6% of 250 clean images",
    )
    perfect = str(make_images(tmp_path / "perfect", wrong=0))
    level, line = fit(perfect, "by_colour:colour", None, {"size": 32}).check_classifier()
    assert level == logging.WARNING
    assert "100.0% of 250 clean images. If it was trained on them" in line


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("/a/net.onnx", "onnx:/a/net.onnx"),
        ("/a/net.pt", "torchscript:/a/net.pt"),
        ("http://host:1/net.pt", "http://host:1/net.pt"),
        ("module:net", "module:net"),
    ],
)
def test_a_classifier_is_named_by_what_it_is(given, name):
    assert classifier_name(given) == name


@pytest.fixture
def project(tmp_path) -> Project:
    project = make_project(tmp_path / "project")
    (project.root / "by_colour.py").write_text(MODULE)
    make_images(project.root / "photos")
    return project


def test_one_command_takes_images_and_classifier(project):
    given = "source=photos/,classifier=by_colour:colour,data_preparation.size=32"
    stages = "data_preparation,classifier_training"
    command = ["run", "--env", "custom", "--pipelines", stages, "--params"]
    outcome = project.kedro(*command, given)
    assert outcome.returncode == 0, outcome.stderr
    assert "data_preparation.train" in outcome.stderr
    assert "right on 89.6% of 250 clean images" in outcome.stderr
    assert outcome.stderr.index("right on") < outcome.stderr.index("prepare_clean_sets")
    models = project.root / "data" / "06_models" / "custom"
    assert list((models / "robust_classifiers").iterdir()) == []
    for params, message in (
        ("seed=1", "error: source is not given: add --params source=FOLDER,classifier="),
        (given.replace("colour,", "blind,"), "error: the classifier is near chance"),
    ):
        refused = project.kedro(*command, params)
        assert refused.returncode == 1
        assert message in refused.stderr
    elsewhere = project.kedro("run", "--params", given)
    assert "error: source is a parameter of environment custom: add --env" in elsewhere.stderr
