"""What ran the benchmark."""

import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numba
import torch

from benchmarks.measure import peak_flops
from benchmarks.peers import cores
from superstar.training import supports_bfloat16

PACKAGES = {
    "PyTorch": "torch",
    "numba": "numba",
    "NumPy": "numpy",
    "SciPy": "scipy",
    "scikit-image": "scikit-image",
    "OpenCV": "opencv-python-headless",
    "PyWavelets": "pywavelets",
    "POT": "pot",
    "pytorch-msssim": "pytorch-msssim",
}


@dataclass(frozen=True)
class Peaks:
    """Measured floating-point operations a second of matrix products.

    Attributes:
        float32: in single precision.
        bfloat16: in half precision; None on processors without instructions for it.
    """

    float32: float
    bfloat16: float | None


def measure_peaks() -> Peaks:
    """Measure the peaks."""
    half = peak_flops(torch.bfloat16) if supports_bfloat16() else None
    return Peaks(peak_flops(torch.float32), half)


def facts() -> dict[str, str]:
    """Names and values for the head of the report."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": _processor(),
        "cores": str(cores),
        "threads": f"{torch.get_num_threads()} of PyTorch, {numba.get_num_threads()} of numba",
        "system": f"{platform.system()}, Python {platform.python_version()}",
        "packages": ", ".join(f"{name} {version(package)}" for name, package in PACKAGES.items()),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()
