"""The sweep of a run's settings: its points, trainings, measures, and a run of the pipeline."""

from dataclasses import replace
from functools import partial

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from kedro.config import OmegaConfigLoader
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from superstar.actions import apply_action
from superstar.classifiers import accuracy
from superstar.control import Supervisor
from superstar.control.networks import always, load_actor
from superstar.control.points import (
    OWN,
    Point,
    Setting,
    from_table,
    lay_out,
    to_table,
)
from superstar.control.sweep import Measuring, measure_set, train_points
from superstar.datasets import PartitionedImageSets
from superstar.errors import InputError
from superstar.images import ImageSet, stream, to_uint8
from superstar.measures import wasserstein_distance
from superstar.parameters import (
    Parameters,
    PolicySurrogates,
    RunTimeSweep,
    TrainingSweep,
)
from superstar.pipelines.sensitivity import create_pipeline, nodes, report, summary
from superstar.pipelines.sets import policy_batches

MINE = Setting(
    alpha=0.9,
    beta=0.97,
    ssim_weight=4.0,
    ssim_threshold=0.994,
    batch_size=20,
    horizon=5,
    seed=0,
)
TIGHT = "beta=1e-09"
HOW = Measuring(trials=4, memory_limit=2**26, network_batch=8, device="cpu", seed=3)


class Bright(nn.Module):
    """Says 1 of bright images, 0 of dark ones."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        level = images.mean(dim=(1, 2, 3)) - 0.5
        return torch.stack([-level, level], dim=1)


def run_time(**values) -> RunTimeSweep:
    return RunTimeSweep.model_validate({name: [] for name in RunTimeSweep.model_fields} | values)


def retrained(**values) -> TrainingSweep:
    return TrainingSweep.model_validate({name: [] for name in TrainingSweep.model_fields} | values)


def test_every_value_is_a_point_once_and_the_rest_stays_as_it_is():
    here = run_time(alpha=[0.8, 0.9, 0.8], beta=[1.12, 0.97])
    anew = retrained(alpha=[0.8], batch_size=[40, 20])
    points = list(lay_out(MINE, dict(here), dict(anew), beta_at=lambda size: 1 - 1 / size))
    assert [(point.name, point.policy) for point in points] == [
        (OWN, OWN),
        ("alpha=0.8", OWN),
        ("beta=1.12", OWN),
        ("alpha=0.8 retrained", "alpha=0.8 retrained"),
        ("batch_size=40 retrained", "batch_size=40 retrained"),
    ]
    assert points[4].setting == Setting(0.9, 1 - 1 / 40, 4.0, 0.994, 40, 5, 0)
    assert from_table(to_table(points)) == points


def test_without_values_the_own_setting_remains():
    points = list(lay_out(MINE, dict(run_time()), dict(retrained()), beta_at=lambda size: 1.0))
    assert points == [Point(OWN, False, MINE)]


def test_images_are_regrouped_within_their_surrogate():
    policy = PolicySurrogates(
        names=["uniform_noise", "gamma_increase"],
        severity=5,
        batch_size=4,
        training_batches=2,
        held_out_batches=1,
    )
    levels = {"uniform_noise": range(8), "gamma_increase": range(100, 108)}
    batches = {
        f"training/{name}": partial(
            ImageSet,
            np.tile(np.array(values, np.uint8)[:, None, None, None], (1, 16, 16, 3)),
            np.zeros(8, np.int64),
        )
        for name, values in levels.items()
    }
    groups = [
        [round(255 * float(image.mean())) for image in batch]
        for batch in policy_batches(batches, "training", policy, 3)
    ]
    assert groups == [[0, 1, 2], [3, 4, 5], [100, 101, 102], [103, 104, 105]]


@pytest.fixture(scope="module")
def supervisor(finished_run) -> Supervisor:
    return Supervisor.load(finished_run.data("06_models/supervisor"))


@pytest.fixture(scope="module")
def given(finished_run) -> Parameters:
    loader = OmegaConfigLoader(
        str(finished_run.root / "conf"),
        env="test",
        base_env="base",
        default_run_env="local",
        merge_strategy={"parameters": "soft"},
    )
    return Parameters.check(loader["parameters"])


# The policy learns from 40 images of each surrogate, in batches of 20.
@pytest.mark.parametrize(("wanted_size", "images"), [(41, 68), (30, 30), (10, 20)])
def test_batches_that_there_are_too_few_images_for_are_refused(
    given, supervisor, wanted_size, images
):
    design = ImageSet(np.zeros((images, 64, 64, 3), np.uint8), np.zeros(images, np.int64))
    with pytest.raises(InputError, match=f"batches of {max(wanted_size, 20)} images are too large"):
        nodes.lay_out_points(
            design,
            supervisor,
            given.policy_training.model_dump(),
            given.surrogate_generation.model_dump(),
            run_time().model_dump(),
            retrained(batch_size=[wanted_size]).model_dump(),
            given.execution.model_dump(),
            given.seed,
        )


def test_training_in_the_own_setting_gives_the_own_policy(finished_run, given, supervisor):
    surrogates = finished_run.data("05_model_input/policy_surrogates")
    batches = PartitionedImageSets(path=str(surrogates)).load()
    policy = given.surrogate_generation.policy
    own = Setting(
        supervisor.alpha,
        supervisor.beta,
        given.policy_training.reward.ssim_weight,
        given.policy_training.reward.ssim_threshold,
        policy.batch_size,
        supervisor.horizon,
        given.seed,
    )
    again = Point("alpha", True, own)
    training = given.policy_training
    env = supervisor.environment(
        policy_batches(batches, "training", policy), **training.environment
    )
    actors = train_points([again], env, **training.training)
    (actor,) = actors.values()
    trained, expected = actor.state_dict(), supervisor.actor.state_dict()
    assert all(torch.equal(trained[name], expected[name]) for name in expected)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_policies_come_in_an_order_of_their_own_whatever_the_workers(
    given, supervisor, monkeypatch, workers
):
    def train(function, shares, run, label, shared):
        return [{point.policy: supervisor.actor for point in points} for (points,) in shares]

    monkeypatch.setattr(nodes, "fan_out", train)
    monkeypatch.setattr(nodes, "mean_return", lambda *arguments: 0.0)
    level = torch.full((2, 3, 64, 64), 0.5)
    monkeypatch.setattr(nodes, "policy_batches", lambda *arguments: [level])
    points = list(
        lay_out(MINE, {}, {"alpha": [0.5, 0.6, 0.7], "batch_size": [40]}, beta_at=lambda size: 1.0)
    )
    _, returns = nodes.train_policies(
        to_table(points),
        {},
        supervisor,
        given.policy_training.model_dump(),
        given.surrogate_generation.model_dump(),
        given.execution.model_dump() | {"workers": workers},
        0,
    )
    assert returns["policy"].tolist() == [point.policy for point in points]


@pytest.fixture
def willing(supervisor) -> Supervisor:
    """The supervisor with a tree that calls everything operable."""
    tree = DecisionTreeClassifier().fit([[0, 0, 0], [1, 1, 1]], [1, 1])
    return replace(supervisor, tree=tree)


def test_a_batch_chooses_and_the_rest_is_scored(willing):
    rng = np.random.default_rng(0)
    noise = torch.from_numpy(rng.normal(0.5, 0.3, (30, 3, 32, 32))).float().clamp(0, 1)
    images = ImageSet(to_uint8(noise), rng.integers(0, 2, 30))
    keys = {"shift": "uniform_noise", "severity": 3}
    points = [
        Point("beta", False, Setting(0.1, beta, 4.0, 0.994, size, 2, 0))
        for size, beta in ((10, 1.5), (20, 1.4), (20, 1e-9))
    ]
    policies = {OWN: always(willing.actions.index("dncnn"))}
    rows = pd.DataFrame(measure_set(keys, images, points, policies, willing, Bright(), HOW))
    found = rows.set_index(["point", "trial"])
    assert found.index.is_unique
    assert (rows["point"].value_counts() == 4).all()
    # Three batches of 10 take turns.
    same = ["sequence", "distance_gain", "accuracy_before", "accuracy_gain"]
    assert found.loc[("beta=1.5", 0), same].equals(found.loc[("beta=1.5", 3), same])
    assert found.loc["beta=1.5", "distance_gain"].nunique() == 3
    held = found.loc[(TIGHT, 0)]
    assert (held["accuracy_gain"], held["distance_gain"], held["sequence"]) == (0, 0, [])

    order = stream(3, "sensitivity", "uniform_noise", "3").permutation(30)
    chosen, rest = order[10:20], np.concatenate([order[:10], order[20:]])

    def corrected(indices: np.ndarray) -> torch.Tensor:
        batch = images.batch(indices)
        for _ in range(2):
            batch = apply_action(batch, "dncnn", denoiser=willing.denoiser)
        return batch

    second = found.loc[("beta=1.5", 1)]
    assert second["sequence"] == ["dncnn", "dncnn"]
    before = 100 * accuracy(Bright(), images.batch(rest), images.labels[rest])
    after = 100 * accuracy(Bright(), corrected(rest), images.labels[rest])
    assert second["accuracy_before"] == pytest.approx(before)
    assert second["accuracy_gain"] == pytest.approx(after - before)
    first, last = (
        wasserstein_distance(willing.validation_points, batch, willing.projection)
        for batch in (images.batch(chosen), corrected(chosen))
    )
    assert second["distance_gain"] == pytest.approx(1 - last / first, rel=1e-3)


def rows_of(point: str, *gains: float, clean: float = 0.0) -> list[dict]:
    cells = [("fog", severity, gain) for severity, gain in enumerate(gains, start=1)]
    return [
        {
            "point": point,
            "shift": shift,
            "severity": severity,
            "batch": 0,
            "trial": 0,
            "sequence": ["dncnn"] * (2 if gain else 0),
            "stop_reason": "alpha",
            "distance_gain": 0.1 if gain else 0.0,
            "accuracy_before": 50.0,
            "accuracy_gain": gain,
        }
        for shift, severity, gain in [*cells, ("none", None, clean)]
    ]


@pytest.fixture
def swept() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A sweep of one parameter at two values, and what was measured."""
    points = [
        Point(OWN, False, MINE),
        Point("beta", False, Setting(0.9, 1.0, 4.0, 0.994, 20, 5, 0)),
    ]
    measured = pd.DataFrame(
        [
            *rows_of(OWN, 3.0, 0.0),
            *rows_of("beta=1.0", 4.0, -4.0, clean=-1.0),
        ]
    )
    returns = pd.DataFrame({"policy": [OWN], "return": [-45.0]})
    return summary.summarise(to_table(points), measured, returns), measured


def test_measures_follow_from_the_rows(swept):
    own, loose = (row for _, row in swept[0].iterrows())
    assert (own["gain"], own["harm"], own["worst"], own["acted"]) == (1.5, 0, 0, 50)
    assert (loose["gain"], loose["harm"], loose["worst"], loose["acted"]) == (0, 2, -4, 100)
    assert (loose["clean_gain"], loose["clean_acted"]) == (-1, 100)
    assert (loose["distance_gain"], loose["actions"]) == (pytest.approx(10), 2)
    assert own["return"] == loose["return"] == -45


def test_errors_are_those_of_means_over_batches_drawn_in_each_set():
    points = [
        Point(OWN, False, MINE),
        Point("beta", False, replace(MINE, beta=1.0)),
        Point("batch_size", True, replace(MINE, batch_size=10)),
    ]
    rng = np.random.default_rng(0)
    own = rng.normal(3, 1, (5, 4))  # sets, batches
    loose = own + rng.normal(1, 0.1, own.shape)
    measured = pd.DataFrame(
        [
            rows_of(point.name, gain)[0]
            | {"severity": level, "batch": batch, "trial": 4 * draw + batch}
            for point, gains in zip(points, (own, loose, own), strict=True)
            for (level, batch), gain in np.ndenumerate(gains)
            for draw in range(2)
        ]
        + [rows_of(point.name, 0.0)[1] for point in points]
    )
    returns = pd.DataFrame({"policy": [OWN], "return": [-45.0]})
    sweep = summary.summarise(to_table(points), measured, returns).set_index("swept")

    def error(values: np.ndarray) -> float:
        return np.sqrt((values.var(axis=1, ddof=1) / 4).sum()) / 5

    assert sweep["gain_error"].tolist() == pytest.approx([error(own), error(loose), error(own)])
    paired = sweep.loc["beta"]
    assert paired["above_own"] == pytest.approx((loose - own).mean())
    assert paired["above_own_error"] == pytest.approx(error(loose - own))
    assert paired["above_own_error"] < paired["gain_error"] / 2
    assert np.isnan(sweep.loc["batch_size", "above_own"])


def test_the_page_has_a_table_a_parameter_with_the_own_setting_in_its_place(swept):
    sweep, measured = swept
    assert [(title, name) for title, name, _ in summary.lines(sweep)] == [("beta", "beta")]
    page = report.compose(sweep, measured)
    table = page.partition("<summary>beta (β)")[2].partition("</details>")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 2
    assert "**0.97**" in lines[0]
    assert "nan" not in page


def test_no_test_image_and_no_test_shift_takes_part():
    artifacts = {name for name in create_pipeline().inputs() if not name.startswith("params:")}
    assert artifacts == {
        "validation_design",
        "supervisor",
        "policy_surrogates",
        "surrogates",
        "classifier_standard",
    }


def test_every_run_of_the_pipeline_keeps_its_promises(finished_run, project_copy):
    outcome = project_copy.run("--pipelines", "sensitivity")
    assert outcome.returncode == 0, outcome.stderr
    sweep = pd.read_csv(project_copy.data("08_reporting/sensitivity.csv"))
    assert sweep["point"].is_unique
    # Alpha and horizon twice: in Algorithm 1, and with a policy trained anew.
    assert sweep["swept"].value_counts().to_dict() == {
        OWN: 1,
        "alpha": 2,
        "beta": 2,
        "horizon": 2,
        "ssim_weight": 1,
        "ssim_threshold": 1,
        "batch_size": 1,
        "seed": 1,
    }
    measured = pd.read_parquet(
        project_copy.data("07_model_output/sensitivity_on_surrogates.parquet")
    )
    # Six surrogates at five severities and the clean set, two trials.
    assert len(measured) == len(sweep) * 31 * 2
    check_sequences(measured)
    actors = project_copy.data("06_models/sensitivity")
    own, other = (
        load_actor(actors / f"{name}.safetensors")[0].state_dict()
        for name in (OWN, "seed=1 retrained")
    )
    supervisor = load_actor(project_copy.data("06_models/actor.safetensors"))[0].state_dict()
    assert all(torch.equal(own[name], supervisor[name]) for name in own)
    assert not torch.equal(own["linear1.weight"], other["linear1.weight"])
    check_runs(project_copy, sweep)
    page = project_copy.data("08_reporting/sensitivity.md").read_text()
    assert page.count("<details ") == 9
    picture = project_copy.data("08_reporting/figures/sensitivity.png").read_bytes()
    assert picture[:4] == b"\x89PNG"


def check_sequences(measured: pd.DataFrame) -> None:
    """A looser brake lets the same policy go on from where a tighter one stops it."""
    runs = measured.set_index(["point", "shift", "severity", "trial"])["sequence"]
    acted = 0
    for tight, loose in (
        ("beta=0.9", "beta=1.0"),
        ("horizon=1", OWN),
        (OWN, "alpha=0.8"),
    ):
        for shorter, longer in zip(runs[tight], runs[loose], strict=True):
            assert list(shorter) == list(longer)[: len(shorter)]
            acted += len(longer) > len(shorter)
    assert acted > 0


def check_runs(project, sweep: pd.DataFrame) -> None:
    """Every point is an MLflow run nested in the pipeline's."""
    client = mlflow.MlflowClient(f"sqlite:///{project.root / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name == "superstar"]
    runs = client.search_runs([experiment.experiment_id])
    nested = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    (parent,) = {run.data.tags["mlflow.parentRunId"] for run in nested}
    assert client.get_run(parent).info.status == "FINISHED"
    assert client.get_run(parent).data.metrics["stage_seconds.sensitivity"] > 0
    by_name = {run.info.run_name: run for run in nested}
    assert by_name.keys() == set(sweep["point"])
    for row in sweep.to_dict("records"):
        data = by_name[row["point"]].data
        assert float(data.params["beta"]) == pytest.approx(row["beta"])
        assert data.params["horizon"] == str(row["horizon"])
        assert data.metrics["gain"] == pytest.approx(row["gain"])
        assert data.metrics["harm"] == pytest.approx(row["harm"])
