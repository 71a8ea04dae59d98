import numpy as np
import pytest

from superstar.control import intervals
from superstar.control.intervals import Bootstrap


def test_the_interval_of_a_mean_has_the_normal_width():
    values = np.random.default_rng(0).normal(3, 1, 2000)
    low, high = Bootstrap(4000, 0.95, seed=0).interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(2000), rel=0.08)


def test_a_bootstrap_in_blocks_is_the_bootstrap(monkeypatch):
    values = np.random.default_rng(0).integers(-3, 4, 500) / 3
    bootstrap = Bootstrap(300, 0.95, seed=0)
    whole = bootstrap.interval(values, spread=0.1)
    monkeypatch.setattr(intervals, "COUNTS_AT_ONCE", 70)
    assert bootstrap.interval(values, spread=0.1) == whole
    # Rounding in single precision makes no values of its own.
    single = values.astype(np.float32)
    assert bootstrap.interval(single, spread=0.1) == pytest.approx(whole, abs=1e-5)
