"""Clusters that calls run on."""

import logging
import os
import socket
from functools import partial

import pytest
from distributed import LocalCluster

from superstar.errors import InputError
from superstar.parallel import backends, check_backend, cluster, fan_out
from superstar.parallel.backends import connect
from superstar.parameters import Execution


def execution(backend, address=None, retries=1):
    return Execution(
        device="cpu",
        workers=2,
        threads=2,
        batch_size=1,
        backend=backend,
        address=address,
        retries=retries,
    )


def die(number, marker, always):
    if number == (0 if always else 1) and (always or not marker.exists()):
        marker.touch()
        os._exit(1)
    return number


@pytest.fixture
def nowhere():
    """An address of this machine where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return f"127.0.0.1:{port}"


@pytest.fixture
def workers():
    """Starts clusters inside this process."""
    started = []

    def start(**arguments):
        how = {"processes": False, "protocol": "tcp://", "dashboard_address": "localhost:0"}
        started.append(LocalCluster(**how, **arguments))
        return started[-1].scheduler_address

    yield start
    for each in started:
        each.close()


def test_dask_that_is_not_installed_is_refused(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the package distributed: .* superstar\[dask\]"):
        check_backend(execution("dask"))
    check_backend(execution("loky"))


def test_a_dask_scheduler_that_does_not_answer_is_refused(nowhere, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    for address in (f"tcp://{nowhere}", "nonsense://here"):
        with pytest.raises(InputError, match=f"no Dask scheduler answers at .*{address}") as caught:
            check_backend(execution("dask", address))
        assert "\n" not in str(caught.value)


def test_dask_workers_that_are_not_fit_are_refused(workers, monkeypatch):
    with monkeypatch.context() as impatient:
        impatient.setattr(cluster, "WORKERS_SECONDS", 0.2)
        with pytest.raises(InputError, match="has no workers: start some with `dask worker tcp://"):
            check_backend(execution("dask", workers(n_workers=0)))
    with pytest.raises(InputError, match=r"run 2 calls in one process: .* `--nthreads 1"):
        check_backend(execution("dask", workers(n_workers=1, threads_per_worker=2)))
    fit = execution("dask", workers(n_workers=1, threads_per_worker=1))
    check_backend(fit)
    monkeypatch.setattr(cluster, "_version", lambda: "0.0.1")
    with pytest.raises(InputError, match=r"lack superstar .* \(0\.0\.1\): install there"):
        check_backend(fit)


def test_a_dask_cluster_at_an_address_does_the_calls(workers):
    run = execution("dask", workers(n_workers=2, threads_per_worker=1))
    assert fan_out(pow, [(2, 3), (3, 2), (5, 1)], run, "powers") == [8, 9, 5]
    with pytest.raises(TypeError, match="unsupported operand"):
        fan_out(pow, [(2, 3), (3, "2")], run, "powers")


def test_a_dask_cluster_of_this_machine_outlives_its_workers(tmp_path, caplog):
    arguments = [(number, tmp_path / "marker", False) for number in range(6)]
    assert fan_out(die, arguments, execution("dask"), "calls") == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "marker").exists()
    (told,) = caplog.messages
    assert told.startswith("a worker died (tcp://")
    assert told.endswith("): 1 calls are made again")


def test_a_dask_cluster_leaves_this_process_as_it_was(monkeypatch, caplog):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)

    def threads():
        return {name: os.environ.get(name) for name in cluster.THREADS}

    before = threads()
    with caplog.at_level(logging.INFO), connect(execution("dask")) as run:
        told = dict(run({n: partial(os.getenv, "NUMBA_NUM_THREADS") for n in range(2)}))
        assert told == {0: "1", 1: "1"}
    assert threads() == before
    assert not [record for record in caplog.records if record.name.startswith("distributed")]


def test_a_call_that_kills_every_dask_worker_is_told(tmp_path):
    names = ["zero", "one", "two", "three", "four", "five"]
    arguments = [(number, tmp_path / "marker", True) for number in range(6)]
    with pytest.raises(InputError, match=r"retries = 1 are used up, and 1 of 6 .*\(zero;"):
        fan_out(die, arguments, execution("dask"), "calls", names=names)
