"""Calls on a Dask cluster, which makes those again whose worker died.

Joblib's own backend for Dask is not used: it waits for ever for a call whose worker died.
"""

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import CancelledError, Client, KilledWorker, LocalCluster, as_completed

from superstar import __version__
from superstar.errors import InputError
from superstar.parallel.backends import WorkersDied, first_line, tell_of_death

CONNECT_SECONDS = 10.0
WORKERS_SECONDS = 10.0
# By these the libraries below learn how many threads each process has.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def of_this_machine(workers: int, threads: int, retries: int) -> Iterator[Client]:
    """A client of a cluster that ends with the context, of processes with so many threads each.

    `retries` says how often a call is made again whose worker died.
    """
    settings = {
        "distributed.scheduler.allowed-failures": retries,
        # Where calls are many none waits at a worker, to share the blame for the worker's death.
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.nanny.pre-spawn-environ": dict.fromkeys(THREADS, str(threads))
        | {"DASK_LOGGING__DISTRIBUTED": "critical"},
    }
    with (
        _left_alone(),
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            # A worker's share by cores would be too little on a machine with many.
            memory_limit=0,
            dashboard_address="localhost:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _left_alone() -> Iterator[None]:
    """Dask sets here what the workers are to inherit, and leaves it; and it logs what we tell."""
    logger, environment = logging.getLogger("distributed"), dict(os.environ)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)


@contextmanager
def at_address(address: str) -> Iterator[Client]:
    """A client of a cluster that others started.

    Raises:
        InputError: no scheduler answers, there are no workers, or they run other versions or
            several calls in a process.
    """
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        # Refused at once where nothing listens; Dask tries again and again.
        socket.create_connection((place.hostname, place.port), CONNECT_SECONDS).close()
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at execution.address = {address!r} "
            f"({first_line(error)}): start one with `dask scheduler`, or correct the address"
        ) from error
    with client:
        _check_workers(client, address)
        yield client


def _check_workers(client: Client, address: str) -> None:
    there = f"the Dask cluster at {address}"
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError as error:
        raise InputError(
            f"{there} has no workers: start some with "
            f"`dask worker {address} --nthreads 1 --nworkers N`"
        ) from error
    threads = max(client.nthreads().values())
    if threads > 1:
        raise InputError(
            f"workers of {there} run {threads} calls in one process: start them with "
            "`--nthreads 1 --nworkers N`"
        )
    try:
        found = set(client.run(_version).values())
    except ImportError as error:
        found = {first_line(error)}
    if found != {__version__}:
        raise InputError(
            f"workers of {there} lack superstar {__version__} or a package of it "
            f"({', '.join(sorted(found))}): install there what is installed here"
        )


def _version() -> str:
    return __version__


def compute(
    client: Client, calls: Mapping[int, Callable[[], Any]]
) -> Generator[tuple[int, Any], None, None]:
    """Run numbered calls: see `superstar.parallel.backends.Run`."""

    def tell(event: tuple[float, Mapping[str, Any]]) -> None:
        lost = event[1].get("processing-tasks")
        if lost and not event[1]["expected"]:
            tell_of_death(event[1]["worker"], len(lost))

    client.subscribe_topic("all", tell)
    # All in one message, since Dask keeps at the scheduler only what it knows to be many.
    numbers = dict(zip(client.map(_make, list(calls.values()), pure=False), calls, strict=True))
    died: BaseException | None = None
    finished = as_completed(list(numbers), loop=client.loop, with_results=True, raise_errors=False)
    for future, result in finished:
        number = numbers.pop(future)
        if future.status == "finished":
            yield number, result
            continue
        error = result[1] if isinstance(result, tuple) else result
        if not isinstance(error, KilledWorker | CancelledError):
            raise error
        died = error
    if died is not None:
        raise WorkersDied(type(died).__name__) from died


def _make(call: Callable[[], Any]) -> Any:
    return call()
