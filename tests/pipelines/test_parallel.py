"""Calls spread over processes."""

import pytest

from superstar.parameters import Execution
from superstar.pipelines.parallel import spread


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_calls(workers):
    run = Execution(device="cpu", workers=workers, threads=2, batch_size=1)
    assert spread(pow, [(2, 3), (3, 2), (5, 1)], run, "powers") == [8, 9, 5]
    assert spread(pow, [], run, "powers") == []
