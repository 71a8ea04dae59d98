import json

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from projects import base_parameters
from superstar.control import Supervisor
from superstar.control.intervals import Bootstrap
from superstar.control.rivals import EntropyRule
from superstar.errors import InputError
from superstar.parameters import Peers
from superstar.peers import ORACLE, PEERS, UNTOUCHED, best_by_labels
from superstar.pipelines.peers import summary
from superstar.pipelines.peers.nodes import Asked
from superstar.pipelines.peers.report import compose

BOOTSTRAP = Bootstrap(200, 0.95, 0)
CALIBRATED = "calibrated"
SECONDS = {"front_seconds": 0.25, "peer_seconds": 0.25}


def answers(**hits):
    """Two shifts of four images and clean ones; each pair's hits, row by row."""
    rows = [
        {
            "shift": shift,
            "severity": severity,
            "classifier": "standard",
            "front": front,
            "peer": peer,
        }
        | {"hits": np.array(values, np.float32), **SECONDS}
        for (front, peer), cells in {
            (UNTOUCHED, UNTOUCHED): hits["plain"],
            (CALIBRATED, UNTOUCHED): hits["ours"],
            (UNTOUCHED, "tent"): hits["theirs"],
            (CALIBRATED, "tent"): hits["pair"],
        }.items()
        for (shift, severity), values in zip(
            (("none", None), ("fog", 2), ("snow", 2)), cells, strict=True
        )
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def found():
    nan = np.nan
    return answers(
        plain=[[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]],
        ours=[[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]],
        theirs=[[0, nan, 1, nan], [0, nan, 0, nan], [1, nan, 0, nan]],
        pair=[[1, nan, 1, nan], [1, nan, 1, nan], [1, nan, 0, nan]],
    )


def test_gains_are_over_the_images_that_were_asked_for(found):
    table = summary.gain_table(found, found, 2, BOOTSTRAP)
    shifts = table[table["setting"] == "shifts"].set_index(["part", "name"])
    assert shifts.loc[("mean", "calibrated"), "gain"] == 25
    assert shifts.loc[("fog", "calibrated"), "gain"] == 50
    assert shifts.loc[("none", "tent"), "gain"] == -50
    assert shifts.loc[("mean", "calibrated > tent"), "gain"] == 75
    assert shifts.loc[("mean", "nothing"), ["accuracy", "gain_low", "gain_high"]].eq(0).all()
    assert shifts["images_a_second"].eq(2).all()
    assert (shifts["gain_low"] <= shifts["gain"]).all()
    assert (shifts["gain"] <= shifts["gain_high"]).all()


def test_a_stream_is_told_by_its_parts(found):
    table = summary.gain_table(found, found, 1, BOOTSTRAP)
    stream = table[table["setting"] == "stream"].pivot(index="part", columns="name", values="gain")
    ours = stream["calibrated"]
    assert ours["shifted"] == 25
    assert ours["none"] == 0
    assert ours["after_a_change"] == 50  # the first image of fog, and that of snow
    assert ours["first_half"] == 100  # two images of fog
    assert ours["last_half"] == 0  # two of fog, all of snow


def test_pairs_are_judged_by_the_better_of_the_two(found):
    row = summary.beside_ours(found, BOOTSTRAP).set_index("name").loc["tent"]
    # Of the images that both were asked for, ours has one of four and theirs one of four.
    assert row["lead"] == 0
    assert (row["ahead"], row["shifts"], row["lost"]) == (1, 2, "snow")
    assert row["pair"] == 50


def test_the_page_tells_how_many_images_there_were(found):
    table = summary.gain_table(found, found, 2, BOOTSTRAP)
    given = Peers(**base_parameters("peers") | {"images": 500})
    beside, of_all = summary.beside_ours(found, BOOTSTRAP), table.assign(classifier="standard")
    page = compose(table, beside, found, given, tested=4, of_all=of_all)
    assert "the same 4 test images under each of 2 shifts" in page
    assert "behind calibrated" in page
    assert "behind paper" not in page  # no peer stood there


def test_classifiers_stand_side_by_side(found):
    table = summary.gain_table(found, found, 2, BOOTSTRAP)
    halved = table.assign(classifier="augmix", gain=table["gain"] / 2)
    halved = halved[halved["name"] != "tent"]
    both = pd.concat([table.assign(classifier="standard"), halved])
    made = summary.by_classifier(both).set_index("")
    assert list(made) == ["standard (0.0%)", "augmix (0.0%)"]
    assert made.index[0] == "calibrated > tent"
    assert made.loc["tent"].tolist()[1] == ""
    assert made.loc["calibrated"].str.partition(" ")[0].tolist() == ["+25.0", "+12.5"]


def test_a_network_that_a_peer_cannot_adapt_is_refused_before_work(finished_run):
    classifiers = {"flat": nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10))}
    supervisor = Supervisor.load(finished_run.data("06_models/supervisor"))
    given = Peers(**base_parameters("peers"))
    rule, clean = EntropyRule(5.0), torch.rand(20, 3, 32, 32)
    asked = Asked(supervisor, rule, classifiers, clean, given, "float32", "cpu", 0)
    with pytest.raises(InputError, match="does not have: leave this peer out"):
        asked.refuse_what_cannot_adapt()


def test_the_oracle_takes_the_best_front_of_each_batch():
    rows = [
        {
            "classifier": "standard",
            "front": name,
            "peer": UNTOUCHED,
            "hits": np.array(hits, np.float32),
        }
        for name, hits in (("a", [1, 1, 0, 0, 0]), ("b", [1, 0, 1, 0, 1]))
    ]
    rows.append({"front": "a", "peer": "tent", "hits": np.ones(5, np.float32)})
    best = best_by_labels(rows, 2)
    assert best["front"] == ORACLE
    assert best["hits"].tolist() == [1, 1, 1, 0, 1]


def test_it_runs_after_a_plain_run_and_repeats(project_copy):
    reporting, pages = project_copy.data("08_reporting/"), []
    for _ in range(2):
        outcome = project_copy.run("--pipelines", "peers")
        assert outcome.returncode == 0, outcome.stderr
        table = pd.read_csv(reporting / "peers.csv")
        pages.append(table.drop(columns="images_a_second"))
    pd.testing.assert_frame_equal(*pages)
    assert list(table["classifier"].unique()) == ["standard", "augmix"]
    shifts = table[(table["setting"] == "shifts") & (table["classifier"] == "standard")]
    assert set(shifts["part"]) == {"gaussian_noise", "contrast", "mean", "none"}
    singles, fronts = len(PEERS) + 1, ["always dncnn", "always match_tone", "rule", ORACLE]
    counted = shifts[shifts["part"] == "mean"].groupby("front")["peer"].nunique().to_dict()
    both = dict.fromkeys(["paper", CALIBRATED, UNTOUCHED], singles)
    assert counted == both | dict.fromkeys(fronts, 1)
    best = shifts[shifts["peer"] == UNTOUCHED].pivot(index="part", columns="front", values="gain")
    assert best.drop(columns=ORACLE).le(best[ORACLE] + 1e-9, axis=0).all(axis=None)
    metrics = json.loads((reporting / "metrics/peers.json").read_text())
    assert metrics["peers.gain.standard.shifts.mean.nothing.nothing"] == 0
    page = (reporting / "peers.md").read_text()
    assert all(name.replace("_", " ") in page for name in PEERS)
    assert (reporting / "figures/peers.png").read_bytes()[:4] == b"\x89PNG"
