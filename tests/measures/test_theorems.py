"""Theorem 1 of the paper on spaces of a few images."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LARGEST = 6


@st.composite
def worlds(draw):
    """Two distributions over the same images, and labels and predictions for each image."""
    size = draw(st.integers(1, LARGEST))

    def each(values):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)))

    def distribution():
        weights = each(st.integers(0, 5)).astype(float)
        weights[draw(st.integers(0, size - 1))] += 1  # not all 0
        return weights / weights.sum()

    classes = st.integers(0, 2)
    return distribution(), distribution(), each(classes), each(classes)


def total_variation(clean, shifted):
    """The supremum over all events of the difference of their probabilities."""
    images = range(len(clean))
    events = chain.from_iterable(combinations(images, k) for k in range(len(clean) + 1))
    return max(abs(shifted[list(event)].sum() - clean[list(event)].sum()) for event in events)


@given(worlds())
@settings(max_examples=200, deadline=None)
def test_the_excess_error_is_at_most_the_total_variation(world):
    clean, shifted, labels, predictions = world
    errs = (labels != predictions).astype(float)
    excess = float(shifted @ errs - clean @ errs)
    distance = total_variation(clean, shifted)
    assert distance == pytest.approx(np.abs(clean - shifted).sum() / 2)
    assert excess <= errs.max() * distance + 1e-12


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_the_bound_is_reached_by_the_classifier_that_errs_where_the_shift_adds(world):
    # The excess error is the difference over the event that the classifier errs. (The printed
    # proof passes through the integral of d - d' over all images, which is 0; the bound does not
    # need it.)
    clean, shifted, *_ = world
    errs = (shifted > clean).astype(float)
    excess = float(shifted @ errs - clean @ errs)
    assert excess == pytest.approx(errs.max() * total_variation(clean, shifted), abs=1e-12)
