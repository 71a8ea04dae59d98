"""Policies beside oracles: the comparison of one set, its tables, and a run of the pipeline."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from superstar.control import Supervisor
from superstar.control.comparison import (
    BRAKED,
    BY_ACCURACY,
    BY_DISTANCE,
    FREE,
    LEARNED,
    Search,
    compare,
)
from superstar.control.networks import always, load_actor, uniform
from superstar.images import ImageSet, to_uint8
from superstar.pipelines.oracle import report, summary

KEYS = {"split": "test", "shift": "fog", "severity": 2}


class Bright(nn.Module):
    """Says 1 of bright images, 0 of dark ones."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        level = images.mean(dim=(1, 2, 3)) - 0.5
        return torch.stack([-level, level], dim=1)


def test_every_run_of_the_pipeline_keeps_its_promises(finished_run, project_copy):
    outcome = project_copy.run("--pipelines", "oracle")
    assert outcome.returncode == 0, outcome.stderr
    table = pd.read_csv(project_copy.data("08_reporting/oracle.csv"))
    assert table.columns.tolist() == [
        "controller",
        "split",
        "shift",
        "severity",
        "distance_gain_policy",
        "distance_gain_oracle",
        "accuracy_gain_policy",
        "accuracy_gain_oracle",
    ]
    # Two controllers on six surrogates and two shifts at one severity, and the clean set.
    assert len(table) == 2 * (6 + 2 + 1)
    assert (table["distance_gain_policy"] <= table["distance_gain_oracle"] + 1e-12).all()
    found = pd.concat(
        [
            pd.read_parquet(project_copy.data(f"07_model_output/oracle_on_{split}.parquet"))
            for split in ("surrogates", "tests")
        ]
    )
    check_oracles(found)
    returns = pd.read_csv(project_copy.data("07_model_output/rival_returns.csv"))
    best = returns.groupby("batch")["return"].max()
    oracle = returns[returns["policy"] == "oracle"].set_index("batch")["return"]
    pd.testing.assert_series_equal(best, oracle)
    rules = json.loads(project_copy.data("06_models/rival_rules.json").read_text())
    assert 0 < rules["entropy_threshold"] < 8
    page = project_copy.data("08_reporting/oracle.md").read_text()
    assert "always " + rules["best_single"] in page
    # The first seed's policy is the supervisor's.
    again, own = (
        load_actor(project_copy.data(f"06_models/{name}"))[0].state_dict()
        for name in ("rivals/learned-0.safetensors", "actor.safetensors")
    )
    assert all(torch.equal(again[name], own[name]) for name in own)


def check_oracles(found: pd.DataFrame) -> None:
    """No row chooses better than the oracles by what these choose by."""
    keys = ["split", "shift", "severity", "controller"]
    for _, rows in found.groupby(keys, dropna=False):
        for oracle, column in (
            (BY_DISTANCE, "distance_gain"),
            (BY_ACCURACY, "accuracy_gain_chosen"),
        ):
            best = rows.loc[rows["policy"] == oracle, column].item()
            assert (rows[column] <= best + 1e-12).all()
    # Whoever is free may do what whoever is braked may.
    sets = ["split", "shift", "severity"]
    for oracle, column in ((BY_DISTANCE, "distance_gain"), (BY_ACCURACY, "accuracy_gain_chosen")):
        best = found[found["policy"] == oracle].set_index([*sets, "controller"])[column].unstack()
        assert (best[FREE] >= best[BRAKED] - 1e-12).all()


@pytest.fixture(scope="module")
def supervisor(finished_run) -> Supervisor:
    return Supervisor.load(finished_run.data("06_models/supervisor"))


def test_gains_are_those_of_algorithm_1_on_the_batch_and_of_the_sequence_on_the_rest(supervisor):
    rng = np.random.default_rng(0)
    noise = torch.from_numpy(rng.normal(0.5, 0.3, (30, 3, 32, 32))).float().clamp(0, 1)
    images = ImageSet(to_uint8(noise), rng.integers(0, 2, 30))
    search = Search(
        batch_size=20,
        exhaustive=1,
        width=1,
        memory_limit=2**26,
        network_batch=8,
        device="cpu",
        seed=3,
    )
    dncnn = supervisor.actions.index("dncnn")
    policies = {LEARNED: [always(dncnn)], "random": [uniform(len(supervisor.actions))] * 2}
    rows = pd.DataFrame(compare(KEYS, images, supervisor, policies, Bright(), search))
    assert len(rows) == 2 * (1 + 2 + 2)
    check_oracles(rows)
    assert rows.groupby("controller")["policy"].nunique().eq(4).all()
    free = rows[(rows["controller"] == FREE) & (rows["policy"] == LEARNED)].iloc[0]
    assert set(free["sequence"]) == {"dncnn"}
    assert free["distance_gain"] > 0
    changes = np.stack(rows["changes"])
    assert (changes != 0).any(axis=0).sum() <= 10  # the images that do not choose
    np.testing.assert_allclose(100 * changes.sum(axis=1) / 10, rows["accuracy_gain"])
    again = pd.DataFrame(compare(KEYS, images, supervisor, policies, Bright(), search))
    pd.testing.assert_frame_equal(rows, again)

    # Policies that draw do so anew in every set.
    drawn = [
        tuple(row["sequence"])
        for severity in range(1, 5)
        for row in compare(
            KEYS | {"severity": severity}, images, supervisor, policies, Bright(), search
        )
        if (row["controller"], row["policy"], row["seed"]) == (FREE, "random", 0)
    ]
    assert len(set(drawn)) > 1


def rows_of(shift: str, severity: int | None, split: str = "test", before: float = 40.0, **gains):
    """Rows of both controllers: gains as policy=(distance gain, accuracy gain)."""
    return [
        {
            "split": split,
            "shift": shift,
            "severity": severity,
            "controller": controller,
            "policy": policy,
            "seed": 0,
            "sequence": ["dncnn"],
            "distance_before": 10.0,
            "distance_gain": distance,
            "accuracy_before": before,
            "accuracy_gain_chosen": accuracy,
            "accuracy_gain": accuracy,
            "changes": np.array([1, 0, -1, 0] if accuracy else [0] * 4, np.int8),
        }
        for controller in (BRAKED, FREE)
        for policy, (distance, accuracy) in gains.items()
    ]


@pytest.fixture
def found() -> pd.DataFrame:
    zero = {LEARNED: (0.0, 0.0), BY_DISTANCE: (0.0, 0.0), BY_ACCURACY: (0.0, 0.0)}
    fog = {LEARNED: (0.1, 2.0), BY_DISTANCE: (0.4, -3.0), BY_ACCURACY: (0.2, 10.0)}
    rows = rows_of("none", None, before=90.0, **zero) + rows_of("fog", 1, **fog)
    rows += rows_of("fog", 2, before=20.0, **fog) + rows_of("median_blur", 1, "surrogate", **zero)
    return pd.DataFrame(rows).astype({"severity": "Int64"})


@pytest.fixture
def returns() -> pd.DataFrame:
    values = {"learned": -80.0, "nop": -100.0, "oracle": -60.0}
    return pd.DataFrame(
        [("x", batch, name, 0, value) for batch in (0, 1) for name, value in values.items()],
        columns=["surrogate", "batch", "policy", "seed", "return"],
    )


def test_tables_and_shares_follow_from_the_rows(found, returns):
    table = summary.oracle_table(found)
    fog = table[(table["shift"] == "fog") & (table["controller"] == BRAKED)].iloc[0]
    gains = fog.iloc[4:].astype(float).tolist()
    assert gains == pytest.approx([0.1, 0.4, 2.0, 10.0])
    ladder = summary.ladder(found[found["split"] == "test"]).set_index("shift")
    assert ladder.loc["fog"].tolist() == pytest.approx([60.0, 10.0, -3.0, 2.0, 2.0])
    assert ladder.loc["mean of shifts"].tolist() == ladder.loc["fog"].tolist()
    assert list(ladder.index) == ["fog", "mean of shifts"]
    numbers = summary.metrics(table, returns)
    assert numbers["oracle.distance_share.paper.test"] == pytest.approx(0.25)
    assert numbers["oracle.accuracy_share.unbraked.test"] == pytest.approx(0.2)
    assert numbers["oracle.distance_share.paper.surrogate"] is None
    assert numbers["oracle.return_share.learned"] == pytest.approx(0.5)
    assert numbers["oracle.return_share.nop"] == 0


def test_the_page_names_where_the_distance_misleads(found, returns):
    numbers = summary.metrics(summary.oracle_table(found), returns)
    page = report.compose(found, returns, numbers, batch_size=2, exhaustive=2)
    misled = page.partition("<summary>Where the distance misleads most")[2]
    assert misled.count("| test") == 2
    assert "fog" in misled
    assert "nan" not in page
    assert re.search(r"\| test shifts +\| paper +\| +25 \| +20 \|", page)


def test_a_share_below_zero_is_no_percentage(found, returns):
    worse = found.copy()
    worse.loc[worse["policy"] == LEARNED, "distance_gain"] *= -1
    numbers = summary.metrics(summary.oracle_table(worse), returns)
    page = report.compose(worse, returns, numbers, batch_size=2, exhaustive=2)
    assert re.search(r"\| test shifts +\| paper +\| +none: it loses +\| +20 \|", page)


def test_errors_are_those_of_means_over_images():
    rng = np.random.default_rng(0)
    count, chosen, sets = 400, 100, 8
    changes = rng.integers(-1, 2, (sets, count)).astype(np.int8)
    for row in changes:
        row[rng.permutation(count)[:chosen]] = 0
    rows = pd.DataFrame(
        {
            "split": "test",
            "shift": "fog",
            "severity": 1,
            "controller": BRAKED,
            "policy": LEARNED,
            "seed": 0,
            "sequence": [["dncnn"]] * sets,
            "distance_gain": 0.1,
            "accuracy_gain": 100 * changes.sum(axis=1) / (count - chosen),
            "changes": list(changes),
        }
    )
    rival = rows.assign(policy="rival", changes=list(-changes))
    rival["accuracy_gain"] *= -1
    table = summary.by_policy(pd.concat([rows, rival]), "test", BRAKED, chosen)
    own, other = table.set_index("policy").loc[[LEARNED, "rival"]].to_dict("records")
    assert summary.image_gains(rows, chosen).sum() == pytest.approx(own["accuracy_gain"])
    assert own["above_learned"] == own["above_error"] == 0
    assert other["above_learned"] == pytest.approx(-2 * own["accuracy_gain"])
    assert other["above_error"] == pytest.approx(2 * own["error"])
    # Beside the spread of the mean over other draws of images.
    draws = rng.integers(0, count, (4000, count))
    means = summary.image_gains(rows, chosen)[draws].sum(axis=1)
    assert own["error"] == pytest.approx(means.std(), rel=0.06)
