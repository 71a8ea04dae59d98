"""Where calls run: processes of this machine, a Dask cluster or a Ray cluster.

Each backend hands back results as they come. Joblib's own backends for Dask and Ray are not used:
the one waits for ever for a call whose worker died, the other hands back nothing before the end.
"""

import logging
import os
import socket
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from joblib import Parallel, delayed, parallel_config

from superstar import __version__
from superstar.errors import InputError
from superstar.parameters import Execution

Call = Callable[[], Any]
Outcomes = Generator[tuple[int, Any], None, None]
Run = Callable[[Mapping[int, Call]], Outcomes]
"""Runs numbered calls; gives each number with the result, in the order in which they come.

Raises `WorkersDied` at the end if calls were lost with their workers, and what a call raises.
"""

PACKAGES = {"dask": "distributed", "ray": "ray"}
CONNECT_SECONDS = 10.0
WORKERS_SECONDS = 10.0
# By these the libraries below learn how many threads each process has.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkersDied(Exception):  # noqa: N818
    """Workers died and took calls with them; the message is why, in a line, as far as told."""


def check_backend(run: Execution) -> None:
    """Refuse a backend that is not installed, or a cluster that is not there or not fit.

    Raises:
        InputError: what to install or to start.
    """
    _require_package(run)
    if run.address is not None:
        with connect(run):
            pass


@contextmanager
def connect(run: Execution) -> Iterator[Run]:
    """What runs calls as the parameters have it; a cluster of its own ends with the context.

    Raises:
        InputError: as `check_backend`.
    """
    _require_package(run)
    if run.backend == "dask":
        with _dask_client(run) as client:
            yield partial(_on_dask, client)
    elif run.backend == "ray":
        with _ray_session(run):
            yield _on_ray
    else:
        yield partial(_on_loky, run)


def own_process(run: Execution) -> bool:
    """Whether calls run in this very process, one after the other."""
    return run.backend == "loky" and run.workers == 1


def first_line(error: BaseException) -> str:
    """An error in a line: what an `InputError` says, of others the kind too."""
    line = next((line for line in str(error).splitlines() if line.strip()), "")
    if isinstance(error, InputError) and line:
        return line
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _require_package(run: Execution) -> None:
    package = PACKAGES.get(run.backend)
    if package is not None and find_spec(package) is None:
        raise InputError(
            f"execution.backend = {run.backend!r} needs the package {package}: "
            f"pip install superstar[{run.backend}]"
        )


def _threads(run: Execution) -> int:
    return max(1, run.threads // run.workers)


def _environment(run: Execution) -> dict[str, str]:
    return dict.fromkeys(THREADS, str(_threads(run)))


def _numbered(number: int, call: Call) -> tuple[int, Any]:
    return number, call()


def _on_loky(run: Execution, calls: Mapping[int, Call]) -> Outcomes:
    config = parallel_config("loky", inner_max_num_threads=_threads(run))
    with warnings.catch_warnings(), config:
        # A worker that has grown by 300 MB is replaced, which here are the images it remembers.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        work = Parallel(n_jobs=run.workers, return_as="generator_unordered")(
            delayed(_numbered)(number, call) for number, call in calls.items()
        )
        try:
            with closing(work):
                yield from work
        except BrokenExecutor as error:
            raise WorkersDied(first_line(error)) from error


@contextmanager
def _dask_client(run: Execution) -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    if run.address is not None:
        try:
            _knock(run.address)
            client = Client(run.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at execution.address = {run.address!r} "
                f"({first_line(error)}): start one with `dask scheduler`, or correct the address"
            ) from error
        with client:
            _check_workers(client, run.address)
            yield client
        return
    # Of a cluster of our own we tell ourselves, so its processes need not.
    environment = _environment(run) | {"DASK_LOGGING__DISTRIBUTED": "critical"}
    settings = {
        "distributed.nanny.pre-spawn-environ": environment,
        # Whose worker died is tried again by us, who count how often.
        "distributed.scheduler.allowed-failures": 0,
    }
    with (
        _silent("distributed"),
        _kept_environment(environment) as restore,
        dask.config.set(settings),
        LocalCluster(
            n_workers=run.workers,
            threads_per_worker=1,
            # A worker's share by cores would be too little on a machine with many.
            memory_limit=0,
            dashboard_address="localhost:0",
            silence_logs=logging.CRITICAL,  # we tell of workers that die
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        restore()
        yield client


@contextmanager
def _kept_environment(names: Iterable[str]) -> Iterator[Callable[[], None]]:
    """Nannies that start workers at once leave what they set for these in this process.

    Numba would take the number of threads for its own here, and fails when it changes again.
    """
    before = {name: os.environ.get(name) for name in names}

    def restore() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    try:
        yield restore
    finally:
        restore()


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Nothing of this logger and those below it; Kedro's own handlers show all that they log."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or whose workers would not do the same as this process."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError as error:
        raise InputError(
            f"the Dask cluster at {address} has no workers: start some with "
            f"`dask worker {address} --nthreads 1 --nworkers N`"
        ) from error
    threads = max(client.nthreads().values())
    if threads > 1:
        raise InputError(
            f"workers of the Dask cluster at {address} run {threads} calls in one process: start "
            "them with `--nthreads 1 --nworkers N`"
        )
    try:
        versions = client.run(_version)
    except ImportError as error:
        raise InputError(
            f"workers of the Dask cluster at {address} lack a package ({first_line(error)}): "
            "install there what is installed here"
        ) from error
    for worker, version in versions.items():
        if version != __version__:
            raise InputError(
                f"the Dask worker {worker} has superstar {version}, not {__version__}: "
                "install the same there"
            )


def _version() -> str:
    return __version__


def _on_dask(client: Any, calls: Mapping[int, Call]) -> Outcomes:
    from distributed import CancelledError, KilledWorker, as_completed

    numbers = {client.submit(call, pure=False): number for number, call in calls.items()}
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
        raise WorkersDied(first_line(died)) from died


@contextmanager
def _ray_session(run: Execution) -> Iterator[None]:
    import ray

    how: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if run.address is None:
        how |= {
            "num_cpus": run.workers,
            "include_dashboard": False,
            "runtime_env": {"env_vars": _environment(run)},
        }
    try:
        if run.address not in (None, "auto"):
            _knock(run.address)
        # Without an address Ray would take that of its variable RAY_ADDRESS.
        ray.init(run.address or "local", **how)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Ray cluster answers at execution.address = {run.address!r} "
            f"({first_line(error)}): start one with `ray start --head`, or correct the address"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise an error at once if nothing listens there; the libraries try again and again.

    Raises:
        OSError: nothing listens.
        ValueError: the address tells no host and port.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("it has no host:port")
    socket.create_connection((host, int(port)), CONNECT_SECONDS).close()


def _on_ray(calls: Mapping[int, Call]) -> Outcomes:
    import ray
    from ray.exceptions import RayError, RayTaskError

    # Whose worker died is tried again by us, who count how often.
    task = ray.remote(num_cpus=1, max_retries=0)(_numbered)
    waiting = [task.remote(number, call) for number, call in calls.items()]
    died: RayError | None = None
    while waiting:
        ready, waiting = ray.wait(waiting, num_returns=1)
        try:
            yield ray.get(ready[0])
        except RayTaskError:
            raise
        except RayError as error:
            died = error
    if died is not None:
        raise WorkersDied(type(died).__name__) from died
