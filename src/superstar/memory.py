"""How the C library deals with the memory of batches."""

import ctypes
import os
import sys
from collections.abc import Callable

LARGEST_KEPT = (2**30, 2**25)
"""Bytes: blocks up to this are kept when freed. Older ones of glibc take 32 MiB at most."""
KEPT_AT_MOST = 2**31 - 1
"""Bytes of freed memory at the end of the heap beyond which it goes back to the system."""

# Numbers of glibc's malloc.h, and the variables by which processes that are started learn them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_VARIABLES = {
    _MMAP_THRESHOLD: "MALLOC_MMAP_THRESHOLD_",
    _TRIM_THRESHOLD: "MALLOC_TRIM_THRESHOLD_",
}


def keep_freed_memory() -> None:
    """Let this process and those that it starts keep what they free for the next batch.

    glibc hands large blocks back at once and asks for new ones next time. The system then has to
    clear and map their pages. That takes more time than a small network's arithmetic on images of
    224x224 pixels. With other C libraries nothing happens, nor where the user has set either
    threshold.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        set_thresholds(library.mallopt)


def set_thresholds(mallopt: Callable[[int, int], int]) -> None:
    """Set both thresholds, or neither: a threshold that is set stops glibc from adapting the other.

    Args:
        mallopt: glibc's; it returns 1 if it has taken a value, 0 if not.
    """
    if any(name in os.environ for name in _VARIABLES.values()):
        return
    for largest in LARGEST_KEPT:
        if mallopt(_MMAP_THRESHOLD, largest):
            mallopt(_TRIM_THRESHOLD, KEPT_AT_MOST)
            os.environ[_VARIABLES[_MMAP_THRESHOLD]] = str(largest)
            os.environ[_VARIABLES[_TRIM_THRESHOLD]] = str(KEPT_AT_MOST)
            return
