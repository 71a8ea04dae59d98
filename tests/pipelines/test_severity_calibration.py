import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superstar.pipelines.severity_calibration.nodes import choose_severities, spread_levels

RULE = (0.3, 1.0)


def test_severity_5_is_the_strongest_within_the_rule():
    changes = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 0.99, 1.2, 2.0])
    assert spread_levels(changes, RULE)[-1] == 6


def test_lower_severities_divide_the_change_evenly():
    changes = np.arange(1, 21) / 20
    np.testing.assert_allclose(changes[spread_levels(changes, RULE)], [0.2, 0.4, 0.6, 0.8, 1.0])


def test_without_a_strength_within_the_rule_the_nearest_is_taken():
    assert spread_levels(np.array([0.01, 0.05, 0.1, 0.15, 0.2, 0.25]), RULE)[-1] == 5
    assert spread_levels(np.array([0.5, 1.1, 1.2, 1.3, 1.5, 1.9]), RULE)[-1] == 4


@given(st.lists(st.floats(0.0, 3.0), min_size=5, max_size=12))
def test_levels_are_five_different_strengths_in_order(changes):
    levels = spread_levels(np.array(changes), RULE)
    assert len(levels) == 5
    assert levels == sorted(set(levels))
    assert levels[-1] < len(changes)


@pytest.mark.parametrize(("top", "within"), [(0.9, True), (0.2, False)])
def test_the_table_says_whether_the_rule_is_met(top, within):
    grid = pd.DataFrame(
        {
            "surrogate": "median_blur",
            "strength": [2.0, 3.0, 4.0, 5.0, 6.0],
            "feature": "entropy",
            "clean": 1.0,
            "shifted": 1.0,
            "change": np.linspace(0.1, top, 5),
        }
    )
    parameters = {
        "severities": "calibrated",
        "images": 10,
        "change": RULE,
        "grids": {
            name: [1, 2, 3, 4, 5]
            for name in (
                "uniform_noise",
                "median_blur",
                "gamma_increase",
                "gamma_decrease",
                "sigmoid_increase",
                "sigmoid_decrease",
            )
        },
    }
    strengths, table = choose_severities(grid, parameters)
    assert strengths == {"median_blur": [2.0, 3.0, 4.0, 5.0, 6.0]}
    assert table["within_rule"].eq(within).all()
    assert table["severity"].tolist() == [1, 2, 3, 4, 5]
