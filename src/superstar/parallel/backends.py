"""Where calls run: processes of this machine or a Dask cluster."""

import logging
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from joblib import Parallel, delayed, parallel_config

from superstar.errors import InputError
from superstar.parameters import Execution

Call = Callable[[], Any]
Outcomes = Generator[tuple[int, Any], None, None]
Run = Callable[[Mapping[int, Call]], Outcomes]
"""Runs numbered calls; gives each number with the result, in the order in which they come.

A call whose worker dies (killed, out of memory) is made again. Raises `WorkersDied` at the end if
that happened too often, and at once what a call raises.
"""

logger = logging.getLogger(__name__)


class WorkersDied(Exception):  # noqa: N818
    """Workers died and took calls with them; the message is why, in a line, as far as told."""


def check_backend(run: Execution) -> None:
    """Refuse Dask where it is not installed, or a cluster that is not there or not fit.

    Raises:
        InputError: what to install or to start.
    """
    if run.backend == "dask" and find_spec("distributed") is None:
        raise InputError(
            "execution.backend = 'dask' needs the package distributed: pip install superstar[dask]"
        )
    if run.address is not None:
        with connect(run):
            pass


@contextmanager
def connect(run: Execution) -> Iterator[Run]:
    """What runs calls as the parameters have it; a cluster of its own ends with the context.

    Raises:
        InputError: the cluster at `run.address` is not there or not fit.
    """
    threads = max(1, run.threads // run.workers)
    if run.backend == "loky":
        yield partial(_on_loky, run, threads)
        return
    from superstar.parallel import cluster

    if run.address is None:
        opened = cluster.of_this_machine(run.workers, threads, run.retries)
    else:
        opened = cluster.at_address(run.address)
    with opened as client:
        yield partial(cluster.compute, client)


def tell_of_death(reason: str, calls: int) -> None:
    """Log that a worker died, and how many calls are made again for it."""
    logger.warning("a worker died (%s): %d calls are made again", reason, calls)


def first_line(error: BaseException) -> str:
    """An error in one line: its text, after its class unless it is an `InputError`."""
    line = next((line for line in str(error).splitlines() if line.strip()), "")
    if isinstance(error, InputError) and line:
        return line
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _on_loky(run: Execution, threads: int, calls: Mapping[int, Call]) -> Outcomes:
    missing = dict(calls)
    for left in reversed(range(run.retries + 1)):
        try:
            for number, result in _once(run.workers, threads, missing.copy()):
                del missing[number]
                yield number, result
        except BrokenExecutor as error:
            if missing and not left:
                raise WorkersDied(first_line(error)) from error
            if missing:
                tell_of_death(first_line(error), len(missing))
        if not missing:
            return
        # From the other end, so that a call that kills each worker stops no other for ever.
        missing = dict(reversed(missing.items()))


def _once(workers: int, threads: int, calls: Mapping[int, Call]) -> Outcomes:
    with warnings.catch_warnings(), parallel_config("loky", inner_max_num_threads=threads):
        # A worker that has grown by 300 MB is replaced, which here are the images it remembers.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        work = Parallel(n_jobs=workers, return_as="generator_unordered")(
            delayed(_numbered)(number, call) for number, call in calls.items()
        )
        with closing(work):
            yield from work


def _numbered(number: int, call: Call) -> tuple[int, Any]:
    return number, call()
