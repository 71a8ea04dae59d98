"""Seconds and peak memory of a call, and what the machine can do at best."""

import ctypes
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path

import torch
from torch import Tensor

Prepare = Callable[[int], Callable[[], object]]
"""A number of images in, the call to measure out, with all that it needs ready."""

WARM_UP = 8
"""Most images of the call that compiles and loads, which is not measured."""
LONG = 5.0
"""Seconds of measured calls after which none is repeated."""
SHORT = 0.2
"""Seconds of measured calls up to which they are repeated beyond the repeats asked for."""
MORE = 10
"""Times as many repeats of a short call at most."""


@dataclass(frozen=True)
class Measured:
    """What a call cost.

    Attributes:
        seconds: of the fastest repeat.
        megabytes: peak of the first repeat above the memory held before it; None where the system
            does not tell.
    """

    seconds: float
    megabytes: float | None


def measure(prepare: Prepare, count: int, repeats: int) -> Measured:
    """Measure the call on `count` images, after one on a few."""
    prepare(min(WARM_UP, max(1, count // 4)))()
    first = once(prepare(count))
    seconds = spent = first.seconds
    done = 1
    while (done < repeats or (spent < SHORT and done < MORE * repeats)) and spent < LONG:
        elapsed = _timed(prepare(count))
        seconds = min(seconds, elapsed)
        spent += elapsed
        done += 1
    return Measured(seconds, first.megabytes)


def once(call: Callable[[], object]) -> Measured:
    """Measure a single call."""
    held = _start_of_peak()
    seconds = _timed(call)
    return Measured(seconds, _peak_above(held))


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def read_seconds(inputs: tuple[Tensor, ...]) -> float:
    """Seconds of one read of the tensors, with all threads."""

    def read() -> None:
        for tensor in inputs:
            tensor.sum()

    return measure(lambda _: read, 1, repeats=3).seconds


def peak_flops(dtype: torch.dtype, side: int = 2048) -> float:
    """Floating-point operations a second of a product of square matrices, with all threads."""
    a, b = torch.randn(2, side, side).to(dtype)
    return 2 * side**3 / measure(lambda _: lambda: a @ b, 1, repeats=5).seconds


def peak_megabytes() -> float | None:
    """Most resident memory (RSS) that this process has held, in MB; None where nobody tells.

    Since it started, or since a call was measured.
    """
    if not Path("/proc/self/status").exists():
        return None
    return _status(os.getpid(), "VmHWM") * 1024 / 1e6


# On Linux, 5 written to clear_refs sets a process's high-water mark to what it holds.


def _start_of_peak() -> dict[int, int]:
    """Reset the high-water marks of this process and its workers; what each holds, in kB."""
    if not Path("/proc/self/clear_refs").exists():
        return {}
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    held = {}
    children = (child.pid for child in active_children() if child.pid is not None)
    for process in (os.getpid(), *children):
        Path(f"/proc/{process}/clear_refs").write_text("5")
        held[process] = _status(process, "VmRSS")
    return held


def _peak_above(held: dict[int, int]) -> float | None:
    """MB by which the processes' high-water marks exceed what they held, added up."""
    if not held:
        return None
    above = (max(0, _status(process, "VmHWM") - before) for process, before in held.items())
    return sum(above) * 1024 / 1e6


def _status(process: int, entry: str) -> int:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"^{entry}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0
