from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from superstar.control.regulariser import penalty

SIMILARITIES = st.floats(-1, 1)
THRESHOLDS = st.floats(0, 1)


@given(SIMILARITIES, THRESHOLDS)
def test_the_papers_form_is_that_of_section_4(similarity, threshold):
    expected = log(1 - similarity) if similarity < threshold else 0
    assert penalty("paper", similarity, threshold) == expected


@given(SIMILARITIES, SIMILARITIES, THRESHOLDS)
def test_the_monotone_form_falls_with_similarity(first, second, threshold):
    low, high = sorted((first, second))
    less, more = (penalty("monotone", s, threshold) for s in (low, high))
    assert less <= more <= 0
    if -0.999 < low < high - 1e-6 and high < threshold:
        assert less < more


@given(st.floats(0.001, 1))
def test_the_monotone_form_is_continuous_at_the_threshold_and_the_papers_jumps(threshold):
    just_below = threshold - 1e-9
    assert penalty("monotone", threshold, threshold) == 0
    assert penalty("monotone", just_below, threshold) == pytest.approx(0, abs=1e-8)
    assert penalty("paper", just_below, threshold) < -1e-4


def test_the_papers_form_punishes_small_changes_most():
    assert penalty("paper", 0.99, 0.994) < penalty("paper", 0.5, 0.994) < 0
    assert penalty("monotone", 0.5, 0.994) < penalty("monotone", 0.99, 0.994) < 0


def test_the_monotone_form_is_finite_at_the_least_similarity():
    assert penalty("monotone", -1, 1) == pytest.approx(-14.5, abs=0.01)
    assert penalty("monotone", -1, 1) == penalty("monotone", -1 - 1e-7, 1)
