import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superstar.control.severities import choose_levels, relative_change

RULE = (0.3, 1.0)


def test_severity_5_is_the_strongest_within_the_rule():
    changes = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 0.99, 1.2, 2.0])
    assert choose_levels(changes, RULE)[-1] == 6


def test_lower_severities_divide_the_change_evenly():
    changes = np.arange(1, 21) / 20
    np.testing.assert_allclose(changes[choose_levels(changes, RULE)], [0.2, 0.4, 0.6, 0.8, 1.0])


def test_without_a_strength_within_the_rule_the_nearest_is_taken():
    assert choose_levels(np.array([0.01, 0.05, 0.1, 0.15, 0.2, 0.25]), RULE)[-1] == 5
    assert choose_levels(np.array([0.5, 1.1, 1.2, 1.3, 1.5, 1.9]), RULE)[-1] == 4


@given(st.lists(st.floats(0.0, 3.0), min_size=5, max_size=12))
def test_levels_are_five_different_strengths_in_order(changes):
    levels = choose_levels(np.array(changes), RULE)
    assert len(levels) == 5
    assert levels == sorted(set(levels))
    assert levels[-1] < len(changes)


def test_a_change_counts_in_the_direction_of_the_family():
    clean, shifted = np.array([1.0, 0.2, 4.0]), np.array([1.5, 0.1, 3.0])
    assert relative_change("gamma_increase", clean, shifted) == pytest.approx(0.5)
    assert relative_change("gamma_decrease", clean, shifted) == pytest.approx(-0.5)
    assert relative_change("sigmoid_decrease", clean, shifted) == pytest.approx(0.5)
    assert relative_change("median_blur", clean, shifted) == pytest.approx(0.25)
