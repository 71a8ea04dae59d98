"""One function called with many arguments, at several places at once."""

import logging
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import uuid4

from rich.progress import track

from superstar.checkpoint import own_checkpoint
from superstar.errors import InputError
from superstar.parallel.backends import WorkersDied, connect, first_line
from superstar.parameters import Execution

Result = TypeVar("Result")

LOG_SECONDS = 60.0
"""What takes long gets a line in the log once that much time has passed since the last one."""

_HANDED_OUT = ".shared-"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Failure:
    """What a call raised.

    Attributes:
        reason: in a line.
        trace: where it came from; empty if the user is to blame, not the program.
    """

    reason: str
    trace: str


def fan_out(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    run: Execution,
    label: str,
    *,
    shared: tuple[Any, ...] = (),
    names: Sequence[str] | None = None,
) -> list[Result]:
    """The function's results for each of the arguments, in order.

    A call whose worker dies (killed, out of memory) is made again, up to `run.retries` times; on a
    cluster that was there before, as often as its scheduler allows.

    Args:
        function: of the module level, so that a worker finds it.
        arguments: of each call.
        run: with the backend, the number of workers, and of the threads that they share.
        label: what the progress bar and the log say.
        shared: further arguments, the same for all calls. Each worker reads them once, from a file
            in the run's checkpoint (see `superstar.checkpoint.own_checkpoint`), if there is one.
        names: of the calls, if the function keeps what it finishes, so that a later run need not
            make it again. A call that fails then does not stop the others; elsewhere it does.

    Raises:
        InputError: workers died too often; calls with names failed; or what `connect` raises.
    """
    if not arguments:
        return []
    outcomes: dict[int, Result | _Failure] = {}
    told = [f"call {number + 1}" for number in range(len(arguments))] if names is None else names
    again = "a run with --only-missing-outputs makes these alone"
    logged = time.monotonic()
    with _hand_out(shared, run) as shared_arguments, connect(run) as start:
        calls = {
            number: partial(_call, function, given, shared_arguments, names is not None)
            for number, given in enumerate(arguments)
        }
        try:
            with closing(start(calls)) as work:
                for number, outcome in track(work, label, total=len(calls), transient=True):
                    outcomes[number] = outcome
                    if isinstance(outcome, _Failure):
                        logger.warning("%s: %s failed: %s", label, told[number], outcome.reason)
                        if outcome.trace:
                            logger.error(outcome.trace)
                    if time.monotonic() - logged >= LOG_SECONDS:
                        logged = time.monotonic()
                        logger.info("%s: %d of %d", label, len(outcomes), len(calls))
        except WorkersDied as error:
            missing = [told[number] for number in calls if number not in outcomes]
            raise InputError(
                f"{label}: workers died (the last: {error}), execution.retries = {run.retries} "
                f"are used up, and {len(missing)} of {len(calls)} are missing "
                f"({', '.join(missing)}{f'; {again}' if names else ''}); fewer execution.workers "
                "leave more memory to each"
            ) from error
    results: list[Result] = []
    failed: dict[str, list[str]] = {}
    for number, outcome in sorted(outcomes.items()):
        if isinstance(outcome, _Failure):
            failed.setdefault(outcome.reason, []).append(told[number])
        else:
            results.append(outcome)
    if failed:
        listed = "; ".join(f"{', '.join(those)} ({reason})" for reason, those in failed.items())
        raise InputError(
            f"{label}: {len(calls) - len(results)} of {len(calls)} failed: {listed}; all others "
            f"are kept, and {again}"
        )
    return results


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
def _hand_out(shared: tuple[Any, ...], run: Execution) -> Iterator[Path | tuple[Any, ...]]:
    """The shared arguments, or, for other processes, the file with them."""
    if not shared or (run.backend == "loky" and run.workers == 1):
        yield shared
        return
    import torch  # takes seconds, which few calls need

    checkpoint = own_checkpoint()
    with TemporaryDirectory() if checkpoint is None else nullcontext(checkpoint.path) as folder:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{_HANDED_OUT}*"):  # by a run that was killed
            left.unlink()
        # A name of its own, since workers remember files by name.
        path = folder / f"{_HANDED_OUT}{uuid4().hex}"
        try:
            with path.open("wb") as file:  # PyTorch takes no hidden file by its name
                torch.save(shared, file)
            yield path
        finally:
            path.unlink(missing_ok=True)
            if checkpoint is not None:
                with suppress(OSError):  # results lie there
                    folder.rmdir()


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
