import numpy as np
import pandas as pd
import pytest

from superstar.corruptions import STRENGTH_LABELS, SURROGATES, corrupt, preset_strengths
from superstar.images import ImageSet
from superstar.measures import state_features
from superstar.photos import load_photo
from superstar.pipelines.severity_calibration.nodes import (
    choose_severities,
    draw_severities,
    measure_grids,
)

RULE = (0.3, 1.0)
GRIDS = {
    "uniform_noise": [0.05, 0.1, 0.2, 0.3, 0.5],
    "median_blur": [2, 3, 4, 5, 6],
    "gamma_increase": [1.2, 1.5, 2, 3, 4],
    "gamma_decrease": [0.9, 0.8, 0.7, 0.6, 0.5],
    "sigmoid_increase": [7, 8, 9, 10, 11],
    "sigmoid_decrease": [8, 6, 5, 4, 3],
}
PARAMETERS = {"severities": "calibrated", "images": 10, "change": RULE, "grids": GRIDS}


@pytest.mark.parametrize(("top", "within"), [(0.9, True), (0.2, False)])
def test_the_table_says_whether_the_rule_is_met(top, within, caplog):
    grid = pd.DataFrame(
        {
            "surrogate": "median_blur",
            "strength": [2.0, 3.0, 4.0, 5.0, 6.0],
            "brightness": 0.9,
            "std": 0.3,
            "entropy": 1.0,
            "feature": "entropy",
            "clean": 1.0,
            "change": np.linspace(0.1, top, 5),
        }
    )
    strengths, table = choose_severities(grid, PARAMETERS)
    assert strengths == {"median_blur": [2.0, 3.0, 4.0, 5.0, 6.0]}
    assert table["severity_5_within_rule"].eq(within).all()
    assert table["severity_5_ends_grid"].all()
    assert ("outside 0.3 to 1" in caplog.text) is not within
    assert table["severity"].tolist() == [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def measured():
    windows = [load_photo("astronaut")[y : y + 64, 64:128] for y in range(0, 400, 40)]
    design = ImageSet(np.stack(windows), np.zeros(len(windows), np.int64))
    return design, measure_grids(design, PARAMETERS, "imagenet", None, 0)


def test_the_grids_hold_the_state_at_every_strength(measured):
    design, grids = measured
    assert len(grids) == sum(map(len, GRIDS.values()))
    row = grids[(grids["surrogate"] == "gamma_increase") & (grids["strength"] == 3)].iloc[0]
    shifted = corrupt(design.batch(), "gamma_increase", strength=3)
    expected = state_features(shifted).mean(0)
    np.testing.assert_allclose(row[["brightness", "std", "entropy"]].astype(float), expected)
    clean = float(state_features(design.batch()).mean(0)[0])
    assert row["change"] == pytest.approx((expected[0] - clean) / clean)


def test_families_change_their_entry_in_their_direction_or_it_counts_as_negative(measured):
    grids = measured[1].set_index(["surrogate", "strength"])["change"]
    assert (grids.drop("sigmoid_decrease", level="surrogate") > 0).all()
    # A gain of 8 raises contrast.
    assert grids["sigmoid_decrease", 8] < 0 < grids["sigmoid_decrease", 3]
    assert grids["sigmoid_increase", 8] == pytest.approx(-grids["sigmoid_decrease", 8])


def test_presets_are_the_papers_values_whatever_they_do(measured, caplog):
    design, _ = measured
    preset = PARAMETERS | {"severities": "preset"}
    grids = measure_grids(design, preset, "imagenet", None, 0)
    strengths, table = choose_severities(grids, preset)
    assert strengths == {name: list(preset_strengths(name)) for name in GRIDS}
    assert len(table) == 30
    wrong = table.loc[table["surrogate"].eq("sigmoid_decrease") & table["change"].lt(0), "severity"]
    named = ", ".join(map(str, wrong))
    assert f"sigmoid_decrease: at severity {named} the state changes in the other" in caplog.text


def test_the_figure_says_what_each_strength_is(measured):
    assert set(STRENGTH_LABELS) == set(SURROGATES)
    _, grids = measured
    _, chosen = choose_severities(grids, PARAMETERS)
    axes = draw_severities(grids, chosen, PARAMETERS).axes
    labels = {axis.get_title(): axis.get_xlabel() for axis in axes}
    assert labels == {
        name.replace("_", " "): STRENGTH_LABELS[name] for name in grids["surrogate"].unique()
    }
    assert labels["median blur"] == "side of the window (pixels)"
