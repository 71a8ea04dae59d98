"""Calls spread over processes."""

import pytest

from superstar.parameters import Execution
from superstar.pipelines import parallel
from superstar.pipelines.parallel import spread


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_calls(workers):
    run = Execution(device="cpu", workers=workers, threads=2, batch_size=1)
    assert spread(pow, [(2, 3), (3, 2), (5, 1)], run, "powers") == [8, 9, 5]
    assert spread(pow, [], run, "powers") == []


def test_what_takes_long_tells_how_far_it_is(monkeypatch, caplog):
    monkeypatch.setattr(parallel, "LOG_SECONDS", 0.0)
    run = Execution(device="cpu", workers=1, threads=1, batch_size=1)
    with caplog.at_level("INFO", logger=parallel.__name__):
        spread(pow, [(2, 3), (3, 2)], run, "powers")
    assert caplog.messages == ["powers: 1 of 2", "powers: 2 of 2"]
