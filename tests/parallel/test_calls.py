"""One function called with many arguments, at several places at once."""

import os
import time

import pytest
import torch

from superstar.checkpoint import Checkpoint, keep_in
from superstar.errors import InputError
from superstar.parallel import calls, fan_out
from superstar.parameters import Execution


def execution(workers=1, retries=0):
    return Execution(
        device="cpu",
        workers=workers,
        threads=2,
        batch_size=1,
        backend="loky",
        address=None,
        retries=retries,
    )


def halve(number):
    if number % 2:
        raise InputError(f"{number} is odd")
    return 4 // number


def die_once(number, marker):
    if number == 1 and not marker.exists():
        marker.touch()
        os._exit(1)
    return number


def die_always(number, folder):
    if number == 0:
        time.sleep(0.5)
        os._exit(1)
    (folder / str(number)).touch()
    return number


def interrupt(number):
    raise KeyboardInterrupt


def add(number, tensor, others):
    (shared,) = others.glob(".shared-*")
    return number + int(tensor.sum()), shared.name


def add_here(number, tensor, others):
    assert not others.exists()
    return number, id(tensor)


@pytest.fixture
def kept(tmp_path):
    """The folder in which a run keeps how far it has come."""
    keep_in(Checkpoint(tmp_path / "cells"))
    yield tmp_path / "cells"
    keep_in(None)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_calls(workers):
    run = execution(workers)
    assert fan_out(pow, [(2, 3), (3, 2), (5, 1)], run, "powers") == [8, 9, 5]
    assert fan_out(pow, [], run, "powers") == []


def test_what_takes_long_tells_how_far_it_is(monkeypatch, caplog):
    monkeypatch.setattr(calls, "LOG_SECONDS", 0.0)
    with caplog.at_level("INFO", logger=calls.__name__):
        fan_out(pow, [(2, 3), (3, 2)], execution(), "powers")
    assert caplog.messages == ["powers: 1 of 2", "powers: 2 of 2"]


def test_what_calls_share_goes_to_workers_as_one_file_that_is_removed(kept):
    kept.mkdir()
    (kept / ".shared-left").write_text("by a run that was killed")
    found = fan_out(add, [(1,), (2,)], execution(2), "sums", shared=(torch.ones(3), kept))
    assert [total for total, _ in found] == [4, 5]
    assert len({name for _, name in found}) == 1
    assert not kept.exists()


def test_outside_a_run_what_calls_share_lies_with_the_temporary_files():
    ones = torch.ones(3)
    assert (
        fan_out(torch.add, [(ones,), (ones,)], execution(2), "sums", shared=(ones,))[1].sum() == 6
    )


def test_in_one_process_nothing_is_written(kept):
    tensor = torch.ones(3)
    found = fan_out(add_here, [(1,), (2,)], execution(), "sums", shared=(tensor, kept))
    assert found == [(1, id(tensor)), (2, id(tensor))]


def test_a_file_that_workers_do_not_see_is_told(tmp_path):
    with pytest.raises(InputError, match=r"absent is not there on \S+: .* all workers share"):
        calls._read(tmp_path / "absent")


@pytest.mark.parametrize("workers", [1, 2])
def test_calls_with_names_that_fail_are_told_after_all_others(workers, caplog):
    with pytest.raises(InputError) as caught:
        fan_out(
            halve,
            [(2,), (1,), (0,), (4,), (1,)],
            execution(workers),
            "halves",
            names=["two", "one", "none", "four", "one again"],
        )
    assert str(caught.value) == (
        "halves: 3 of 5 failed: one, one again (1 is odd); none (ZeroDivisionError: integer "
        "division or modulo by zero); all others are kept, and a run with --only-missing-outputs "
        "makes these alone"
    )
    # A fault of the program is to be found in the log.
    (trace,) = [r.message for r in caplog.records if r.levelname == "ERROR"]
    assert "return 4 // number" in trace


def test_a_call_without_a_name_that_fails_ends_all(kept):
    with pytest.raises(ZeroDivisionError):
        fan_out(divmod, [(2,), (0,)], execution(2), "halves", shared=(0,))
    assert not kept.exists()


def test_calls_whose_worker_died_are_made_again(tmp_path, caplog):
    arguments = [(number, tmp_path / "marker") for number in range(6)]
    assert fan_out(die_once, arguments, execution(2, retries=1), "calls") == [0, 1, 2, 3, 4, 5]
    assert [r.message for r in caplog.records if "a worker died" in r.message]


def test_a_call_that_kills_every_worker_stops_no_other(tmp_path):
    names = [str(number) for number in range(12)]
    with pytest.raises(
        InputError, match=r"retries = 2 are used up, and \d+ of 12 .*\(0[,;]"
    ) as caught:
        fan_out(
            die_always,
            [(number, tmp_path) for number in range(12)],
            execution(2, retries=2),
            "calls",
            names=names,
        )
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])


def test_an_interrupt_is_not_kept_for_later(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fan_out(interrupt, [(1,), (2,)], execution(), "calls", names=["one", "two"])
