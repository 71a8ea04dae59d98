"""A run of environment cifar100, small, on files in the layouts that people have."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

from projects import Project, make_project
from superstar.classifiers import WideResNet, accuracy, load_classifier
from superstar.datasets import ImageSetDataset
from superstar.images import from_uint8
from superstar.photos import PHOTO_NAMES, photo_patches

SMALL = {
    "execution": {"workers": 1, "threads": 1, "batch_size": 64},
    "distance": {"dimensions": 50},
    "data_preparation": {"train": 340, "validation": 136},
    "severity_calibration": {"images": 34},
    "surrogate_generation": {
        "policy": {"batch_size": 20, "training_batches": 2, "held_out_batches": 1}
    },
    "classifier_training": {
        "architecture": {"depth": 10, "width": 1},
        "standard": {"epochs": 5, "batch_size": 32, "learning_rate": 0.01},
        **{name: {"epochs": 1, "batch_size": 32} for name in ("augmix", "noisymix", "puzzlemix")},
    },
    "operability": {"depths": [3]},
    "calibration": {
        "gate": {"images": 100, "draws": 100},
        "images": 20,
        "severities": [5],
        "pair_severities": [],
        "candidates": ["match_contrast", "match_tone > dncnn"],
    },
    "policy_training": {"episodes": 4, "beta_draws": 2},
    "benchmark_generation": {"shifts": ["gaussian_noise", "fog"]},
    "evaluation": {"severities": [5], "trials": 2, "batch_size": 20},
    "reporting": {
        "bootstrap_resamples": 50,
        "cluster_samples": 20,
        "example_beta_shift": "fog",
        "highlighted": ["gaussian_noise"],
    },
}


def merged(base: dict, changes: dict) -> dict:
    result = dict(base)
    for name, value in changes.items():
        own = result.get(name)
        both = isinstance(value, dict) and isinstance(own, dict)
        result[name] = merged(own, value) if both else value
    return result


@pytest.fixture(scope="module")
def images():
    counts = {"train": 476, "validation": 17, "test": 68}
    return photo_patches(size=32, counts=counts, seed=0)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    project = make_project(tmp_path_factory.mktemp("cifar100") / "project")
    path = project.root / "conf" / "cifar100" / "parameters.yml"
    path.write_text(yaml.safe_dump(merged(yaml.safe_load(path.read_text()), SMALL)))
    with path.with_name("globals.yml").open("a") as file:
        file.write("\nexternal_sets: data/01_raw/CIFAR-100-C\n")
    return project


def png(image) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def write_tables(folder, images) -> None:
    folder.mkdir(parents=True)
    for split in ("train", "test"):
        rows = [{"bytes": png(image), "path": None} for image in images[split].images]
        labels = pa.array(images[split].labels, pa.int64())
        pq.write_table(pa.table({"img": rows, "fine_label": labels}), folder / f"{split}.parquet")
    (folder / "fine_label_names.txt").write_text("\n".join(PHOTO_NAMES))


def write_published_fog(folder, images) -> np.ndarray:
    """CIFAR-100-C's layout: five severities one after another, and the labels of them all."""
    folder.mkdir(parents=True)
    test = images["test"]
    fog = np.concatenate([test.images // divisor for divisor in range(2, 7)])
    np.save(folder / "fog.npy", fog)
    np.save(folder / "labels.npy", np.tile(test.labels, 5))
    return fog


def write_folders(folder, images) -> None:
    for split in ("train", "test"):
        for n, (image, label) in enumerate(
            zip(images[split].images, images[split].labels, strict=True)
        ):
            path = folder / split / f"{label:02}" / f"{n:04}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(image))


def run(project: Project, *arguments: str):
    outcome = project.kedro("run", "--env", "cifar100", *arguments)
    assert outcome.returncode == 0, outcome.stderr
    return outcome


def data(project: Project, relative: str):
    layer, _, name = relative.partition("/")
    return project.root / "data" / layer / "cifar100" / name


def test_the_whole_environment_runs_on_tables_of_the_hub(project, images, finished_run):
    write_tables(project.root / "data" / "01_raw" / "cifar100", images)
    fog = write_published_fog(project.root / "data" / "01_raw" / "CIFAR-100-C", images)
    photos = project.root / "data" / "06_models" / "photos"
    photos.mkdir(parents=True)
    shutil.copy(finished_run.data("06_models/actor.safetensors"), photos)
    run(project)
    results = pd.read_parquet(data(project, "07_model_output/evaluation_results.parquet"))
    assert list(dict.fromkeys(results["classifier"])) == [
        "standard",
        "augmix",
        "noisymix",
        "puzzlemix",
    ]
    assert set(results["shift"]) == {"none", "gaussian_noise", "fog"}
    assert results["images"].eq(68).all()
    transfer = pd.read_parquet(data(project, "07_model_output/transfer_results.parquet"))
    assert set(transfer["policy"]) == {"photos"}
    assert len(transfer) == (results["controller"] == "paper").sum()
    standard = load_classifier(data(project, "06_models/classifiers/standard.safetensors"))
    assert isinstance(standard, WideResNet)
    # Fog was evaluated as published: severity 5 is the last fifth of the array.
    scored = results[results["shift"].eq("fog") & results["classifier"].eq("standard")]
    assert set(scored["controller"]) == {"paper", "calibrated"}
    expected = accuracy(standard, from_uint8(fog[-68:]), images["test"].labels)
    assert scored["accuracy_shifted"].tolist() == pytest.approx([expected] * 4)
    made = data(project, "05_model_input/shifted_sets.json")
    assert json.loads(made.read_text())["external"] == ["fog"]
    page = data(project, "08_reporting/report.md").read_text()
    assert "The policy of `photos` as it is" in page
    held = [data(project, f"03_primary/clean/{split}.safetensors") for split in ("train", "test")]
    train, test = (ImageSetDataset(filepath=str(path)).load() for path in held)
    assert len(train) == 340
    np.testing.assert_array_equal(test.images, images["test"].images)


def test_folders_of_images_give_as_many_of_each_class(project, images, tmp_path):
    other = Project(tmp_path / "project")
    shutil.copytree(project.root / "conf", other.root / "conf")
    shutil.copy(project.root / "pyproject.toml", other.root)
    (other.root / "src").mkdir()
    write_folders(other.root / "data" / "01_raw" / "cifar100", images)
    run(other, "--pipelines", "data_preparation")
    path = data(other, "03_primary/clean/train.safetensors")
    train = ImageSetDataset(filepath=str(path)).load()
    assert np.bincount(train.labels).tolist() == [20] * 17
    known = {image.tobytes() for image in images["train"].images}
    assert {image.tobytes() for image in train.images} <= known
