import json

import numpy as np
import pandas as pd
import pytest
import torch
from kedro.io import DatasetError
from safetensors.numpy import load_file
from torch import nn

from control.control_toys import calibrated, photographs
from projects import ROOT
from superstar.actions import Plan, UNet, load_denoiser, packaged_denoiser
from superstar.checkpoint import Checkpoint, keep_in
from superstar.classifiers import load_classifier
from superstar.configuration import ProjectConfigLoader
from superstar.control import Supervisor
from superstar.control.calibrated_files import load_calibrated
from superstar.control.worth import Worth
from superstar.datasets import BorrowedWorthDataset
from superstar.errors import InputError
from superstar.images import ImageSet, from_uint8, to_uint8
from superstar.parameters import Parameters
from superstar.pipelines.calibration import nodes
from superstar.settings import CONFIG_LOADER_ARGS


@pytest.fixture(scope="module")
def worth(finished_run):
    return pd.read_csv(finished_run.data("07_model_output/correction_worth.csv"))


@pytest.fixture(scope="module")
def trials(finished_run):
    return pd.read_parquet(finished_run.data("07_model_output/correction_trials.parquet"))


def test_every_candidate_is_tried_on_clean_images_and_every_surrogate(trials):
    # Six surrogates at one severity, a blur along a line, and clean images.
    assert trials["shift"].nunique() == 8
    assert (trials.groupby("shift")["candidate"].nunique() == 3).all()
    assert (trials["fall"] <= trials["reading"] + 1e-9).all()
    assert trials["gain"].between(-100, 100).all()


def test_the_table_of_worth_is_what_the_controller_holds(finished_run, worth, trials):
    held = load_calibrated(finished_run.data("06_models/calibrated")).worth
    kept = worth.dropna(subset="margin").set_index("candidate")["margin"]
    assert set(kept.index) == set(held)
    for name, margin in kept.items():
        assert held[name].margin == pytest.approx(margin)
    clean = trials[trials["shift"] == "none"].set_index("candidate")["gain"]
    assert (clean[list(held)] >= -20.0).all()


def test_readings_of_clean_batches_fall_as_they_grow(finished_run):
    gate = pd.read_csv(finished_run.data("07_model_output/gate.csv"))
    by_rate = gate.pivot(index="batch", columns="rate", values="reading")
    assert (by_rate.iloc[-1] < by_rate.iloc[0]).all()
    assert (np.diff(by_rate, axis=1) <= 0).all()
    assert 0.001 not in by_rate.columns  # of 100 images


def test_where_images_support_no_rate_the_table_of_the_gate_keeps_its_header():
    loader = ProjectConfigLoader(str(ROOT / "conf"), env="test", **CONFIG_LOADER_ARGS)
    given = loader["parameters"]["calibration"]
    given["gate"] |= {"images": 3, "rate": 0.4, "sizes": [1], "shown_rates": [0.1]}
    photos = to_uint8(photographs(6, 32, 32))
    clean, others = (ImageSet(some, np.zeros(3, int)) for some in (photos[:3], photos[3:]))
    _, table = nodes.set_home(clean, others, given, None, 0)
    assert list(table) == ["batch", "rate", "reading"]
    assert table.empty


def test_the_supervisor_holds_the_controller(finished_run):
    supervisor = Supervisor.load(finished_run.data("06_models/supervisor"))
    assert supervisor.controllers == ("paper", "calibrated")
    alone = load_calibrated(finished_run.data("06_models/calibrated"))
    assert supervisor.calibrated.worth == alone.worth


def test_a_plan_in_the_results_can_be_applied_again(finished_run):
    results = pd.read_parquet(finished_run.data("07_model_output/evaluation_results.parquet"))
    acted = results[(results["controller"] == "calibrated") & (results["sequence"].map(len) > 0)]
    assert len(acted) > 0
    denoiser = load_denoiser(finished_run.data("06_models/denoiser.safetensors"))
    clean = load_file(finished_run.data("03_primary/clean/test.safetensors"))
    images = from_uint8(clean["images"][:4])
    for row in acted.itertuples():
        plan = Plan.from_json(row.plan, denoiser)
        assert list(plan.names) == list(row.sequence)
        assert plan.apply(images).shape == images.shape
    assert set(acted["ruler"]) == {"bands"}
    assert set(results.loc[results["controller"] == "paper", "ruler"]) == {"wasserstein"}


def test_worth_may_come_from_another_benchmark(finished_run, tmp_path):
    models = finished_run.data("06_models/calibrated").parents[1]
    given = {"folder": str(models), "own": "mine"}
    borrowed = BorrowedWorthDataset(**given, benchmark="test").load()
    assert borrowed == load_calibrated(models / "test" / "calibrated").worth
    assert BorrowedWorthDataset(**given, benchmark=None).load() == {}
    missing = BorrowedWorthDataset(**given, benchmark="photos")
    # Kedro words it anew when the data set is loaded; the hooks check it before.
    with pytest.raises(DatasetError, match=r"worth_from names 'photos', which was not calibrated"):
        missing.check()


@pytest.mark.parametrize("benchmark", ["mine", "", ["photos"], 5])
def test_worth_comes_from_one_other_benchmark(benchmark, tmp_path):
    with pytest.raises(InputError, match=r"globals\.worth_from must name another benchmark"):
        BorrowedWorthDataset(folder=str(tmp_path), benchmark=benchmark, own="mine")


def test_what_is_borrowed_is_tried_on_own_labels(finished_run):
    home = load_calibrated(finished_run.data("06_models/home"))
    models = finished_run.data("06_models/")
    borrowed = dict.fromkeys(["match_tone", "match_contrast"], Worth(0.1, (0.0, 1.0), (0.0, 5.0)))
    given = _parameters(finished_run)
    trials = nodes.try_corrections(
        ImageSet(**load_file(finished_run.data("03_primary/clean/validation_design.safetensors"))),
        json.loads(finished_run.data("04_feature/surrogate_strengths.json").read_text()),
        load_classifier(models / "classifiers/standard.safetensors"),
        load_denoiser(models / "denoiser.safetensors"),
        home,
        borrowed,
        given,
        "imagenet",
        None,
        "bfloat16",
        _execution(finished_run),
        0,
    )
    assert set(trials["candidate"]) == set(borrowed)
    assert (trials["shift"] == "line_blur").sum() == 2 * len(given["line_blur"])
    controller, table = nodes.weigh_corrections(home, trials, borrowed, given)
    assert set(table["candidate"]) == set(borrowed)
    assert controller.worth.items() <= borrowed.items()
    harmful = trials.assign(fall=1.0, gain=-50.0)
    controller, table = nodes.weigh_corrections(home, harmful, borrowed, given)
    assert controller.worth == {}
    assert table["margin"].isna().all()


class Bright(nn.Module):
    """Says 1 for an image brighter than middle gray, else 0; breaks when it was asked enough."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers

    def forward(self, images):
        self.answers -= 1
        if self.answers < 0:
            raise KeyboardInterrupt
        mean = images.mean((1, 2, 3))
        return torch.stack([0.5 - mean, mean - 0.5], dim=1)


def try_toys(folder, answers=1000, made_from="these"):
    """The trials' table, and how often the classifier was asked."""
    loader = ProjectConfigLoader(str(ROOT / "conf"), env="test", **CONFIG_LOADER_ARGS)
    given, classifier = loader["parameters"], Bright(answers)
    design = ImageSet(to_uint8(photographs(20, 24, 24)), np.arange(20) % 2)
    keep_in(Checkpoint(folder, made_from))
    try:
        table = nodes.try_corrections(
            design,
            {"gamma_increase": [1.2] * 5, "uniform_noise": [0.1] * 5},
            classifier,
            packaged_denoiser(),
            calibrated(24, 24),
            {},
            given["calibration"]
            | {"candidates": ["match_tone"], "severities": [1, 5], "line_blur": [0.1, 0.2]},
            "imagenet",
            None,
            "float32",
            given["execution"] | {"workers": 1, "batch_size": 20},
            0,
        )
    finally:
        keep_in(None)
    return table, answers - classifier.answers


def test_interrupted_trials_go_on_with_what_is_missing(tmp_path):
    straight, asked = try_toys(tmp_path / "straight")
    kept = sorted(path.stem for path in (tmp_path / "straight").iterdir())
    assert {"none", "gamma_increase-1", "gamma_increase-5", "line_blur-2"} < set(kept)
    assert len(kept) == len(straight)
    with pytest.raises(KeyboardInterrupt):
        try_toys(tmp_path / "killed", answers=asked // 2)
    done = len(list((tmp_path / "killed").iterdir()))
    assert 0 < done < len(kept)
    resumed, again = try_toys(tmp_path / "killed")
    assert again == asked - 2 * done
    pd.testing.assert_frame_equal(resumed, straight, check_exact=True)
    assert try_toys(tmp_path / "killed")[1] == 0
    assert try_toys(tmp_path / "killed", made_from="others")[1] == asked


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": ["match_nothing"]}, "unknown correction 'match_nothing'"),
        ({"candidates": ["match_tone > nop"]}, "unknown correction 'nop'"),
        ({"candidates": ["dncnn", "dncnn"]}, "named twice"),
        ({"gate": {"sizes": [10, 50]}}, "must begin with 1"),
        ({"pair_severities": [4, 2]}, "must rise"),
        ({"line_blur": [1.5]}, "less than or equal to 1"),
        ({"limits": {"sample": 1}}, "greater than or equal to 2"),
        ({"denoiser": {"surrogate": "fog"}}, "unknown surrogate 'fog'"),
        ({"denoiser": {"strengths": []}}, "at least 1"),
    ],
)
def test_bad_settings_are_refused(finished_run, changes, message):
    given = _all_parameters(finished_run)
    section = given["calibration"]
    for name, value in changes.items():
        section[name] = section[name] | value if isinstance(value, dict) else value
    with pytest.raises(InputError, match=message):
        Parameters.check(given)


def _all_parameters(project) -> dict:
    code = (
        "import json\nfrom superstar.configuration import ProjectConfigLoader\n"
        "from superstar.settings import CONFIG_LOADER_ARGS\n"
        "loader = ProjectConfigLoader('conf', env='test', **CONFIG_LOADER_ARGS)\n"
        "print(json.dumps(loader['parameters']))"
    )
    outcome = project.python(code)
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout.strip().splitlines()[-1])


def _parameters(project) -> dict:
    return _all_parameters(project)["calibration"]


def _execution(project) -> dict:
    return _all_parameters(project)["execution"]


def test_the_denoiser_of_the_run_has_a_gate_of_its_own(finished_run):
    network = load_denoiser(finished_run.data("06_models/denoiser_network.safetensors"))
    fitted = load_denoiser(finished_run.data("06_models/denoiser.safetensors"))
    assert isinstance(fitted, UNet)
    assert fitted.gate != network.gate
    assert 0 < fitted.strength <= 1
    for ours, theirs in zip(fitted.parameters(), network.parameters(), strict=True):
        assert ours.equal(theirs)
