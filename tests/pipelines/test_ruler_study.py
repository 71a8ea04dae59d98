import json

import numpy as np
import pandas as pd
import pytest
import torch

from superstar.measures import Distance, Projection
from superstar.measures.rulers import PointRuler
from superstar.parameters import RulerStudy
from superstar.pipelines.ruler_study import nodes, report, summary


@pytest.fixture(scope="module")
def given():
    return RulerStudy(
        distances=["wasserstein"],
        test_severities=[5],
        telling=2.0,
        severity=3,
        sizes=[10, 25, 50],
        draws=20,
        rate=0.05,
        detected=0.95,
    )


def readings(falls, gains, clean_falls=(0.0, 0.0)):
    """One ruler, one shift: a correction each, and the same on clean images."""
    rows = [
        {"shift": shift, "severity": severity, "candidate": str(place), "ruler": "toy"}
        | {"before": 1.0, "after": 1.0 - fall, "gain": float(gain)}
        for shift, severity, some, all_gains in (
            ("none", None, clean_falls, [0.0] * len(clean_falls)),
            ("fog", 3, falls, gains),
        )
        for place, (fall, gain) in enumerate(zip(some, all_gains, strict=True))
    ]
    return pd.DataFrame(rows)


def detection(shares, sizes=(10, 25, 50)):
    return pd.DataFrame(
        {"ruler": "toy", "batch": sizes, "detected": shares, "milliseconds": [1.0, 2.0, 3.0]}
    )


def table_of(given, falls, gains, clean_falls=(0.0, 0.0), shares=(0.5, 1.0, 1.0)):
    found = readings(falls, gains, clean_falls)
    return summary.ruler_table({"surrogates": found}, detection(shares), given).iloc[0]


def test_a_ruler_that_orders_corrections_by_gain_is_right_throughout(given):
    row = table_of(given, [0.1, 0.3, -0.2], [3, 9, -6])
    assert row["rank_correlation"] == pytest.approx(1)
    assert row["right_signs"] == 1
    assert row["gain"] == row["best"] == 9
    assert row["loss"] == 0


def test_a_ruler_that_orders_them_backwards_harms(given):
    row = table_of(given, [0.1, -0.1, 0.3], [3, 9, -6])
    assert row["rank_correlation"] == pytest.approx(-1)
    assert row["right_signs"] == pytest.approx(1 / 3)
    assert (row["gain"], row["best"], row["loss"], row["worst"]) == (-6, 9, 6, -6)


def test_gains_too_small_to_tell_count_for_no_sign(given):
    row = table_of(given, [0.1, 0.3], [-0.9 * given.telling, given.telling])
    assert row["right_signs"] == 1


def test_a_fall_that_clean_images_show_too_is_not_taken(given):
    row = table_of(given, [0.1, 0.3], [3, 9], clean_falls=(0.0, 0.4))
    assert row["gain"] == 0


@pytest.mark.parametrize(
    ("shares", "images"),
    [((0.96, 0.5, 0.97), 50), ((0.96, 0.97, 1.0), 10), ((1.0, 1.0, 0.9), np.nan)],
)
def test_images_are_the_smallest_batch_from_which_on_enough_are_told(given, shares, images):
    row = table_of(given, [0.1, 0.3], [3, 9], shares=shares)
    assert row["images"] == images or (np.isnan(images) and np.isnan(row["images"]))
    assert row["milliseconds"] == 3


def test_a_distance_between_projected_images_is_a_ruler():
    rng = torch.Generator().manual_seed(0)
    clean, others = (torch.rand(20, 3, 16, 16, generator=rng) for _ in range(2))
    projection = Projection.create("dct", n=256, m=10, mean=[0.5] * 3, std=[0.2] * 3)
    distance = Distance.of("sliced_wasserstein")
    ruler = PointRuler(distance, projection, projection(clean))
    assert ruler.name == "sliced_wasserstein"
    assert ruler.read(clean) == pytest.approx(0, abs=1e-6)
    assert ruler.read(others / 2) > ruler.read(others) > 0
    assert ruler.read(others) == distance(projection(clean), projection(others))


def test_it_runs_after_a_plain_run(project_copy):
    outcome = project_copy.run("--pipelines", "ruler_study")
    assert outcome.returncode == 0, outcome.stderr
    reporting = project_copy.data("08_reporting/")
    table = pd.read_csv(reporting / "ruler_study.csv")
    assert table.groupby("shifts")["ruler"].apply(list).to_dict() == {
        "surrogates": ["bands", "wasserstein"],
        "test": ["bands", "wasserstein"],
    }
    assert table["best"].ge(table["gain"]).all()
    assert table["rank_correlation"].between(-1, 1).all()
    # Both rulers judge the same corrections.
    assert table.groupby("shifts")["best"].nunique().eq(1).all()
    found = pd.read_parquet(project_copy.data("07_model_output/ruler_on_surrogates.parquet"))
    gains = found.groupby(["shift", "severity", "candidate"], dropna=False)["gain"]
    assert gains.nunique().eq(1).all()
    metrics = json.loads((reporting / "metrics/ruler_study.json").read_text())
    assert metrics["ruler_study.gain.test.bands"] == pytest.approx(
        table.set_index(["shifts", "ruler"]).loc[("test", "bands"), "gain"]
    )
    assert (reporting / "figures/ruler_study.png").read_bytes()[:4] == b"\x89PNG"


def test_the_page_names_the_ruler_that_surrogates_prefer(given):
    good, bad = readings([0.1, 0.3], [3, 9]), readings([0.3, 0.1], [3, 9]).assign(ruler="other")
    both = pd.concat([good, bad])
    shares = pd.concat([detection((1.0, 1.0, 1.0)), detection((1.0,) * 3).assign(ruler="other")])
    table = summary.ruler_table({"surrogates": both, "test": both}, shares, given)
    page = report.compose(table, shares, given)
    assert "On surrogates `toy` orders corrections best, and `toy` gains most" in page


def test_the_figure_has_a_panel_a_ruler():
    found = pd.concat([readings([0.1], [3]), readings([0.2], [3]).assign(ruler="other")])
    figure = nodes.draw_rulers(found, found)
    assert [axis.get_title() for axis in figure.axes if axis.get_visible()] == ["toy", "other"]
