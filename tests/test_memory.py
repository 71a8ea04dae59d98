"""Freed memory stays with the process."""

import os
import platform
import subprocess
import sys

import pytest

from superstar import memory

PROGRAM = """
import resource, sys
import numpy as np
from superstar.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
np.ones(2**23)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(2**23)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's malloc")
def test_batches_take_their_pages_once():
    def faults(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how],
            env={name: value for name, value in os.environ.items() if "MALLOC" not in name},
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout)

    assert faults("keep") * 5 < faults("hand back")


@pytest.mark.parametrize("most", [2**30, 2**25, 0])
def test_both_thresholds_are_set_or_neither(most, monkeypatch):
    """As older C libraries do, which take 32 MiB at most, or nothing."""
    environment: dict[str, str] = {}
    monkeypatch.setattr(os, "environ", environment)
    taken = {}

    def mallopt(threshold, value):
        if threshold == memory._MMAP_THRESHOLD and value > most:
            return 0
        taken[threshold] = value
        return 1

    memory.set_thresholds(mallopt)
    both = {memory._MMAP_THRESHOLD: most, memory._TRIM_THRESHOLD: memory.KEPT_AT_MOST}
    assert taken == (both if most else {})
    assert environment == {memory._VARIABLES[name]: str(value) for name, value in taken.items()}


def test_what_the_user_set_stays(monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1000000")
    memory.set_thresholds(lambda *_: pytest.fail("malloc was changed"))
