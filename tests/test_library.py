"""The library without what its extra `pipelines` brings: Kedro, MLflow and what belongs to them."""

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
WITHOUT = """
import sys
from importlib.machinery import PathFinder

blocked = set(sys.argv[1].split(","))


class Others(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in blocked:
            return super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Others
"""
LIBRARY = """
from importlib import import_module
from pkgutil import walk_packages

import superstar

WITH_KEDRO = {"cli", "configuration", "custom", "datasets", "hooks", "pipeline_registry"}
LEFT_OUT = WITH_KEDRO | {"__main__", "parallel", "pipelines", "service", "settings"}
names = [
    module.name
    for module in walk_packages(superstar.__path__, "superstar.", onerror=lambda name: None)
    if module.name.split(".")[1] not in LEFT_OUT
]
for name in names:
    import_module(name)

import torch

from superstar.actions import packaged_denoiser
from superstar.actions.appearance import Appearance
from superstar.control.calibrated import Calibrated, Limits
from superstar.control.gate import calibrate_gate
from superstar.control.worth import Worth
from superstar.corruptions import corrupt
from superstar.images import from_uint8
from superstar.measures.bands import Bands, band_histograms
from superstar.measures.rulers import BandRuler
from superstar.photos import photo_patches

sets = {k: from_uint8(v.images) for k, v in photo_patches(32, {"train": 136, "test": 34}).items()}
home = sets["train"]
ruler = BandRuler.of(band_histograms(home[::2]), Bands.of(32, 32))
gate = calibrate_gate(ruler, band_histograms(home[1::2]), rate=0.05, draws=50, sizes=(1, 10, 34))
worth = {"dncnn": Worth(0.0, (0.0, 1.0), (0.1, 0.9))}
limits = Limits(horizon=1, sample=34, least_fall=0.1, most_rise=1.0, least_gain=0.05)
controller = Calibrated(ruler, Appearance.of(home), gate, worth, limits)
noisy = corrupt(sets["test"], "gaussian_noise", severity=5, benchmark="imagenet")
choice = controller.choose(noisy, packaged_denoiser())
before, after = (
    (images - sets["test"]).square().mean() for images in (noisy, choice.plan.apply(noisy))
)
print(len(names), bool(after < before))
"""


@pytest.fixture(scope="module")
def pipelines() -> str:
    """Modules of the packages that the extra brings."""
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    wanted = {canonicalize_name(Requirement(each).name) for each in extras["pipelines"]}
    found = {
        module: {canonicalize_name(name) for name in names} & wanted
        for module, names in packages_distributions().items()
    }
    assert set().union(*found.values()) == wanted
    return ",".join(sorted(module for module, names in found.items() if names))


def without(pipelines: str, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + code, pipelines]
    return subprocess.run(command, capture_output=True, text=True)


def test_it_imports_and_corrects_a_batch(pipelines):
    done = without(pipelines, LIBRARY)
    assert done.returncode == 0, done.stderr
    modules, better = done.stdout.split()
    assert int(modules) > 90
    assert better == "True"


def test_commands_say_what_they_need(pipelines):
    done = without(pipelines, "from superstar.__main__ import main\nmain()")
    assert done.returncode == 1
    assert done.stderr == (
        "error: the commands need Kedro and MLflow: pip install 'superstar[pipelines]'\n"
    )
