"""Calls that do not depend on one another, spread over processes."""

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from rich.progress import track

from superstar.parameters import Execution

Result = TypeVar("Result")

LOG_SECONDS = 60.0
"""What takes long gets a line in the log once that much time has passed since the last one."""

logger = logging.getLogger(__name__)


def spread(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    run: Execution,
    label: str,
) -> list[Result]:
    """The function's results for each of the arguments, in order.

    Args:
        function: of the module level, so that a worker finds it.
        arguments: of each call.
        run: with the number of workers, and of the threads that they share.
        label: what the progress bar and the log say.
    """
    threads = max(1, run.threads // run.workers)
    with warnings.catch_warnings(), parallel_config("loky", inner_max_num_threads=threads):
        # A worker that has grown by 300 MB is replaced, which here are the images it remembers.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        work = Parallel(n_jobs=run.workers, return_as="generator")(
            delayed(function)(*given) for given in arguments
        )
        results = []
        logged = time.monotonic()
        for result in track(work, label, total=len(arguments), transient=True):
            results.append(result)
            if time.monotonic() - logged >= LOG_SECONDS:
                logged = time.monotonic()
                logger.info("%s: %d of %d", label, len(results), len(arguments))
        return results
