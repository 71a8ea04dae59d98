"""Clusters that calls run on."""

import logging
import os
import socket
import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import pytest
from distributed import LocalCluster

from superstar.errors import InputError
from superstar.parameters import Execution
from superstar.pipelines import backends
from superstar.pipelines.backends import WorkersDied, check_backend, connect
from superstar.pipelines.parallel import spread


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
def cluster():
    """Starts clusters inside this process."""
    started = []

    def start(**arguments):
        how = {"processes": False, "protocol": "tcp://", "dashboard_address": "localhost:0"}
        started.append(LocalCluster(**how, **arguments))
        return started[-1].scheduler_address

    yield start
    for each in started:
        each.close()


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("dask", r"needs the package distributed: pip install superstar\[dask\]"),
        ("ray", r"needs the package ray: pip install superstar\[ray\]"),
    ],
)
def test_a_backend_that_is_not_installed_is_refused(backend, message, monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=message):
        check_backend(execution(backend))
    check_backend(execution("loky"))


def test_a_dask_scheduler_that_does_not_answer_is_refused(nowhere, monkeypatch):
    monkeypatch.setattr(backends, "CONNECT_SECONDS", 0.2)
    for address in (f"tcp://{nowhere}", "nonsense://here"):
        with pytest.raises(InputError, match=f"no Dask scheduler answers at .*{address}") as caught:
            check_backend(execution("dask", address))
        assert "\n" not in str(caught.value)


def test_dask_workers_that_are_not_fit_are_refused(cluster, monkeypatch):
    with monkeypatch.context() as impatient:
        impatient.setattr(backends, "WORKERS_SECONDS", 0.2)
        with pytest.raises(InputError, match="has no workers: start some with `dask worker tcp://"):
            check_backend(execution("dask", cluster(n_workers=0)))
    with pytest.raises(InputError, match=r"run 2 calls in one process: .* `--nthreads 1"):
        check_backend(execution("dask", cluster(n_workers=1, threads_per_worker=2)))
    fit = execution("dask", cluster(n_workers=1, threads_per_worker=1))
    check_backend(fit)
    monkeypatch.setattr(backends, "_version", lambda: "0.0.1")
    with pytest.raises(InputError, match=r"has superstar 0\.0\.1, not .*: install the same"):
        check_backend(fit)


def test_a_dask_cluster_at_an_address_does_the_calls(cluster):
    run = execution("dask", cluster(n_workers=2, threads_per_worker=1))
    assert spread(pow, [(2, 3), (3, 2), (5, 1)], run, "powers") == [8, 9, 5]
    with pytest.raises(TypeError, match="unsupported operand"):
        spread(pow, [(2, 3), (3, "2")], run, "powers")


def test_a_dask_cluster_of_this_machine_outlives_its_workers(tmp_path):
    arguments = [(number, tmp_path / "marker", False) for number in range(6)]
    assert spread(die, arguments, execution("dask"), "calls") == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "marker").exists()


def test_a_dask_cluster_leaves_this_process_as_it_was(monkeypatch, caplog):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)

    def threads():
        return {name: os.environ.get(name) for name in backends.THREADS}

    before = threads()
    with caplog.at_level(logging.INFO), connect(execution("dask")) as run:
        assert threads() == before
        told = dict(run({n: partial(os.getenv, "NUMBA_NUM_THREADS") for n in range(2)}))
        assert told == {0: "1", 1: "1"}
    assert threads() == before
    assert not [record for record in caplog.records if record.name.startswith("distributed")]


def test_a_call_that_kills_every_dask_worker_is_told(tmp_path):
    names = ["zero", "one", "two"]
    arguments = [(number, tmp_path / "marker", True) for number in range(3)]
    with pytest.raises(InputError, match=r"retries = 0 are used up, and \d of 3 .*\(zero"):
        spread(die, arguments, execution("dask", retries=0), "calls", names=names)


class StubOfRay(ModuleType):
    """Ray as far as we use it: tasks run when they are waited for."""

    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        pass

    def __init__(self):
        super().__init__("ray")
        self.exceptions = self
        self.log = []

    def init(self, address, **how):
        self.log.append(("init", address, how.get("num_cpus")))

    def shutdown(self):
        self.log.append(("shutdown",))

    def remote(self, *, num_cpus, max_retries):
        assert (num_cpus, max_retries) == (1, 0)

        return lambda function: SimpleNamespace(remote=lambda *given: (function, given))

    def wait(self, tasks, num_returns):
        return tasks[-num_returns:], tasks[:-num_returns]

    def get(self, task):
        function, given = task
        try:
            return function(*given)
        except SystemExit:
            raise self.RayError("died") from None
        except Exception as error:
            raise self.RayTaskError(str(error)) from error


@pytest.fixture
def ray(monkeypatch):
    stub = StubOfRay()
    stub.__spec__ = object()
    monkeypatch.setitem(sys.modules, "ray", stub)
    monkeypatch.setitem(sys.modules, "ray.exceptions", stub)
    return stub


def test_ray_does_the_calls(ray):
    assert spread(pow, [(2, 3), (3, 2), (5, 1)], execution("ray"), "powers") == [8, 9, 5]
    assert ray.log == [("init", "local", 2), ("shutdown",)]


def test_what_ray_lost_and_what_failed_there_are_told_apart(ray):
    with connect(execution("ray")) as start:
        found = []
        with pytest.raises(WorkersDied, match="RayError"):
            found.extend(start({0: lambda: 1, 1: sys.exit, 2: lambda: 3}))
        with pytest.raises(ray.RayTaskError):
            list(start({0: lambda: 1 // 0}))


def test_a_ray_cluster_that_does_not_answer_is_refused(ray, nowhere):
    for address in (nowhere, f"ray://{nowhere}"):
        with pytest.raises(InputError, match=f"no Ray cluster answers at .*{address}.* refused"):
            check_backend(execution("ray", address))
    assert ray.log == []
