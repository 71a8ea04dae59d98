"""How the C library deals with the memory of batches."""

import ctypes
import os
import sys

LARGEST_KEPT = 2**30
"""Bytes: blocks up to this are kept when they are freed."""
KEPT_AT_MOST = 2**31 - 1
"""Bytes of freed memory at the end of the heap beyond which it goes back to the system."""

# Numbers of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> None:
    """Let this process and those that it starts keep what they free for the next batch.

    glibc hands large blocks back at once and gets the next ones anew, whose pages the system then
    has to clear and map. That takes more time than a small network's arithmetic on images of
    224x224 pixels. With other C libraries nothing happens.
    """
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(LARGEST_KEPT))
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(KEPT_AT_MOST))
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, int(os.environ["MALLOC_MMAP_THRESHOLD_"]))
        library.mallopt(_TRIM_THRESHOLD, int(os.environ["MALLOC_TRIM_THRESHOLD_"]))
