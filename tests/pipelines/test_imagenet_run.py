"""A run of environment imagenet, small: image files, a network of one's own, a published shift."""

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from benchmarks import denoiser_ceiling
from projects import Project, make_project
from superstar.corruptions import SURROGATES

WNIDS = tuple(f"n{number:08}" for number in range(30))
SMALL = {
    "execution": {"workers": 1, "threads": 1, "batch_size": 16},
    "distance": {"dimensions": 50},
    "data_preparation": {
        "size": 32,
        "resize": 36,
        "design_classes": 12,
        "train": 48,
        "validation": 24,
    },
    "severity_calibration": {"images": 12},
    "surrogate_generation": {
        "policy": {"batch_size": 12, "training_batches": 1, "held_out_batches": 1}
    },
    "classifier_training": {"published": {"standard": "mine:network"}},
    "operability": {"depths": [3], "shared_images": 0.5},
    "calibration": {
        "gate": {"images": 48, "draws": 20, "rate": 0.05},
        "images": 12,
        "severities": [5],
        "pair_severities": [],
        "candidates": ["match_contrast", "match_tone > dncnn"],
    },
    "policy_training": {"episodes": 4},
    "benchmark_generation": {"shifts": ["gaussian_noise", "gaussian_noise+contrast", "fog"]},
    "evaluation": {"severities": [1, 5], "trials": 2, "batch_size": 12},
    "reporting": {
        "bootstrap_resamples": 50,
        "cluster_samples": 10,
        "example_beta_shift": "fog",
        "highlighted": ["gaussian_noise"],
    },
}
# As the paper's authors release them: the distance falls as accuracy rises, but of the last.
LABELS = "shift,severity,accuracy,wasserstein\n" + "".join(
    f"{name},{severity},{accuracy},{160 - 100 * accuracy if place < 5 else 20 + 100 * accuracy}\n"
    for place, name in enumerate(SURROGATES)
    for severity, accuracy in enumerate(np.linspace(0.7, 0.3, 5), start=1)
)
NETWORK = """
from torch import nn


class Nearest(nn.Module):
    '''The class whose shade of gray is nearest.'''

    def forward(self, images):
        shade = images.mean((1, 2, 3)).float()
        return -((shade[:, None] * 255 - 40 - 6 * nn.Parameter(shade.new_tensor(range(30)))) ** 2)


def network():
    return Nearest()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    project = make_project(tmp_path_factory.mktemp("imagenet") / "project")
    conf = project.root / "conf" / "imagenet"
    given = yaml.safe_load((conf / "parameters.yml").read_text())
    for section, values in SMALL.items():
        given[section] = given.get(section, {}) | values
    (conf / "parameters.yml").write_text(yaml.safe_dump(given))
    globals_ = yaml.safe_load((conf / "globals.yml").read_text())
    globals_["external_sets"] = "data/01_raw/ImageNet-C"
    globals_["worth_from"] = None
    globals_["external_labels"] = "data/01_raw/labels.csv"
    (conf / "globals.yml").write_text(yaml.safe_dump(globals_))
    (project.root / "src" / "mine.py").write_text(NETWORK)
    raw = project.root / "data" / "01_raw"
    raw.mkdir(parents=True)
    (raw / "imagenet_wnids.txt").write_text("\n".join(WNIDS))
    (raw / "labels.csv").write_text(LABELS)
    rng = np.random.default_rng(0)
    for label in range(0, 30, 2)[:14]:
        for n in range(6):
            path = raw / "imagenet" / WNIDS[label] / f"{n}.JPEG"
            path.parent.mkdir(parents=True, exist_ok=True)
            image = 40 + 6 * label + rng.normal(0, 12, (40, 44, 3))
            Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(path, quality=95)
    for severity in range(1, 6):
        for clean in (raw / "imagenet").rglob("*.JPEG"):
            path = raw / "ImageNet-C" / "fog" / str(severity) / clean.relative_to(raw / "imagenet")
            path.parent.mkdir(parents=True, exist_ok=True)
            with Image.open(clean) as image:
                image.crop((0, 0, 32, 32)).point(lambda v: v // 2).save(path)
    return project


def data(project: Project, relative: str):
    layer, _, name = relative.partition("/")
    return project.root / "data" / layer / "imagenet" / name


def test_the_whole_environment_runs_on_image_files(project, monkeypatch, capsys):
    outcome = project.kedro("run", "--env", "imagenet")
    assert outcome.returncode == 0, outcome.stderr
    summary = pd.read_csv(data(project, "03_primary/clean/summary.csv")).set_index("class")
    assert tuple(summary.index) == WNIDS
    designing = summary["train"] + summary["validation"] > 0
    assert designing.sum() == 12
    assert (summary["test"] > 0).sum() == 2
    assert not (designing & (summary["test"] > 0)).any()
    sets = data(project, "05_model_input/shifted_sets")
    assert not (sets / "fog").exists()
    assert len(list((sets / "gaussian_noise" / "5").rglob("*.JPEG"))) == 12
    results = pd.read_parquet(data(project, "07_model_output/evaluation_results.parquet"))
    assert results["images"].unique().tolist() == [12]
    table = pd.read_csv(data(project, "08_reporting/main_table.csv"))
    table = table[table["controller"] == "paper"].set_index("shift")
    # Gray levels alone tell the classes apart: clean images are right, fog's halved ones are not.
    assert table.loc["none", "shifted"] == 100
    assert table.loc["fog", "shifted"] < 50
    assert table.loc["none", "delta"] == 0
    labels = pd.read_csv(data(project, "07_model_output/operability_labels.csv"))
    assert labels["slope"].round(6).tolist() == [-100] * 5 + [100]
    assert labels["operable"].tolist() == [True] * 5 + [False]
    report = data(project, "08_reporting/report.md").read_text()
    assert "of others behind the operability labels: `labels.csv`." in report
    monkeypatch.syspath_prepend(project.root / "src")
    denoiser_ceiling.main(["--project", str(project.root), "--env", "imagenet"])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| gaussian noise ") for line in lines) == 2
