"""Calls that do not depend on one another, spread over processes or a cluster."""

import logging
import socket
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from rich.progress import track

from superstar.errors import InputError
from superstar.parameters import Execution
from superstar.pipelines.backends import WorkersDied, connect, first_line, own_process

Result = TypeVar("Result")

LOG_SECONDS = 60.0
"""What takes long gets a line in the log once that much time has passed since the last one."""

_HANDED_OUT = ".shared-"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shared:
    """What every call takes after its own arguments: each worker reads it once, from a file.

    Attributes:
        values: the arguments.
        folder: where the file lies while the calls run; workers elsewhere must see it too.
    """

    values: tuple[Any, ...]
    folder: Path


@dataclass(frozen=True)
class _Failure:
    """What a call raised.

    Attributes:
        reason: in a line.
        trace: where it came from; empty if the user is to blame, not the program.
    """

    reason: str
    trace: str


def spread(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    run: Execution,
    label: str,
    *,
    shared: Shared | None = None,
    names: Sequence[str] | None = None,
) -> list[Result]:
    """The function's results for each of the arguments, in order.

    A call whose worker dies (killed, out of memory) is made again, up to `run.retries` times.

    Args:
        function: of the module level, so that a worker finds it.
        arguments: of each call.
        run: with the backend, the number of workers, and of the threads that they share.
        label: what the progress bar and the log say.
        shared: further arguments, the same for all calls.
        names: of the calls, if the function keeps what it finishes, so that a later run need not
            make it again. A call that fails then does not stop the others; elsewhere it does.

    Raises:
        InputError: workers died too often; calls with names failed; or what `connect` raises.
    """
    if not arguments:
        return []
    results: dict[int, Result] = {}
    failures: dict[int, _Failure] = {}
    logged = time.monotonic()
    with _hand_out(shared, run) as shared_arguments:
        calls = {
            number: partial(_call, function, given, shared_arguments, names is not None)
            for number, given in enumerate(arguments)
        }
        with closing(_retrying(calls, run, label, names)) as work:
            for number, outcome in track(work, label, total=len(calls), transient=True):
                if isinstance(outcome, _Failure):
                    assert names is not None
                    failures[number] = outcome
                    logger.warning("%s: %s failed: %s", label, names[number], outcome.reason)
                    if outcome.trace:
                        logger.error(outcome.trace)
                else:
                    results[number] = outcome
                finished = len(results) + len(failures)
                if time.monotonic() - logged >= LOG_SECONDS:
                    logged = time.monotonic()
                    logger.info("%s: %d of %d", label, finished, len(calls))
    if failures:
        assert names is not None
        reasons: dict[str, list[str]] = {}
        for number in sorted(failures):
            reasons.setdefault(failures[number].reason, []).append(names[number])
        told = "; ".join(f"{', '.join(failed)} ({reason})" for reason, failed in reasons.items())
        raise InputError(
            f"{label}: {len(failures)} of {len(calls)} failed: {told}; all others are kept, and "
            "a run with --only-missing-outputs makes these alone"
        )
    return [results[number] for number in range(len(calls))]


def _retrying(
    calls: Mapping[int, Callable[[], Any]], run: Execution, label: str, names: Sequence[str] | None
) -> Generator[tuple[int, Any], None, None]:
    """Numbers and outcomes of the calls, those again whose workers died."""
    missing = dict(calls)
    for attempt in range(run.retries + 1):
        try:
            with connect(run) as start, closing(start(missing.copy())) as work:
                for number, outcome in work:
                    del missing[number]
                    yield number, outcome
            return
        except WorkersDied as error:
            reason = str(error)
        if not missing:
            return
        if attempt < run.retries:
            logger.warning(
                "%s: a worker died (%s): again, for the %d of %d that are missing",
                label,
                reason,
                len(missing),
                len(calls),
            )
            # From the other end, so that a call that kills each worker stops no other for ever.
            missing = dict(reversed(missing.items()))
    kept = ""
    if names is not None:
        left = ", ".join(names[number] for number in sorted(missing))
        kept = f" ({left}; a run with --only-missing-outputs makes these alone)"
    raise InputError(
        f"{label}: workers died (the last: {reason}), execution.retries = {run.retries} are used "
        f"up, and {len(missing)} of {len(calls)} are missing{kept}; fewer execution.workers leave "
        "more memory to each"
    )


def _call(
    function: Callable[..., Result],
    given: tuple[Any, ...],
    shared: Path | tuple[Any, ...],
    catch: bool,
) -> Result | _Failure:
    try:
        return function(*given, *(_read(shared) if isinstance(shared, Path) else shared))
    except Exception as error:
        if not catch:
            raise
        trace = "" if isinstance(error, InputError) else traceback.format_exc()
        return _Failure(first_line(error), trace)


@contextmanager
def _hand_out(shared: Shared | None, run: Execution) -> Iterator[Path | tuple[Any, ...]]:
    """The shared arguments, or, for other processes, the file with them."""
    if shared is None or own_process(run):
        yield () if shared is None else shared.values
        return
    shared.folder.mkdir(parents=True, exist_ok=True)
    for left in shared.folder.glob(f"{_HANDED_OUT}*"):  # by a run that was killed
        left.unlink()
    # A name of its own, since workers remember files by name.
    path = shared.folder / f"{_HANDED_OUT}{uuid4().hex}"
    import torch  # takes seconds, which few calls need

    try:
        with path.open("wb") as file:  # PyTorch takes no hidden file by its name
            torch.save(shared.values, file)
        yield path
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # results lie there
            shared.folder.rmdir()


@lru_cache(maxsize=1)
def _read(path: Path) -> tuple[Any, ...]:
    import torch

    try:
        # Written by this very run, so that what it holds is our own.
        return torch.load(path, weights_only=False)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} is not there on {socket.gethostname()}: the project's data/ must lie on a "
            "file system that all workers share"
        ) from error
