"""An evaluation keeps what it finishes, wherever it runs."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from superstar.checkpoint import Checkpoint, keep_in
from superstar.control import Supervisor
from superstar.control.finished import FinishedCells
from superstar.control.networks import Actor
from superstar.control.protocol import Cell, Protocol
from superstar.images import ImageSet
from superstar.measures import Projection
from superstar.pipelines.evaluation import nodes

ACTIONS = ("nop", "wavelet_visu", "clahe_2_1")
EVALUATION = {"severities": [1, 5], "trials": 2, "batch_size": 8, "precision": "float32"}
EXECUTION = {
    "device": "cpu",
    "workers": 1,
    "threads": 1,
    "batch_size": 6,
    "backend": "loky",
    "address": None,
    "retries": 0,
}
CELLS = ["none", "contrast-1", "contrast-5", "fog-1", "fog-5"]


@dataclass(frozen=True)
class Sets:
    """Shifted sets, one of which cannot be read."""

    log: Path
    broken: str = ""

    def load(self, shift, severity):
        name = Cell(shift, severity).name
        with self.log.open("a") as file:
            file.write(f"{name}\n")
        if name == self.broken:
            raise OSError(f"{name} cannot be read\nfor a reason")
        rng = np.random.default_rng(CELLS.index(name))
        images = rng.integers(40, 200, (10, 1, 1, 1)) + rng.integers(-40, 40, (10, 16, 16, 3))
        return ImageSet(images.astype(np.uint8), np.arange(10) % 2)

    @property
    def loaded(self):
        return self.log.read_text().split()


class Bright(nn.Module):
    """Says 1 for an image brighter than middle gray, else 0."""

    def forward(self, images):
        mean = images.mean((1, 2, 3))
        return torch.stack([0.5 - mean, mean - 0.5], dim=1)


@pytest.fixture(scope="module")
def supervisor():
    torch.manual_seed(0)
    projection = Projection.create("dct", n=256, m=20, seed=0, mean=(0.5,) * 3, std=(0.2,) * 3)
    return Supervisor(
        actor=Actor(len(ACTIONS)),
        tree=DecisionTreeClassifier(random_state=0).fit(np.zeros((2, 3)), [1, 1]),
        denoiser=None,
        validation_points=projection(0.4 + 0.2 * torch.rand((10, 3, 16, 16))),
        projection=projection,
        alpha=0.5,
        beta=1.0,
        horizon=2,
        actions=ACTIONS,
        image_size=(16, 16),
        benchmark="photos",
    )


def evaluate(supervisor, sets, folder, **execution):
    keep_in(None if folder is None else Checkpoint(folder))
    try:
        return nodes.evaluate(
            sets,
            supervisor,
            Bright(),
            {"augmix": Bright()},
            {"elsewhere": (Actor(len(ACTIONS)), ACTIONS)},
            EVALUATION,
            {"shifts": ["contrast", "fog"], "batch_size": 1},
            EXECUTION | execution,
            0,
        )
    finally:
        keep_in(None)


@pytest.fixture(scope="module")
def straight(supervisor, tmp_path_factory):
    """The tables of an evaluation in one process, its cells' files and what it loaded."""
    folder = tmp_path_factory.mktemp("straight")
    sets = Sets(folder / "log")
    torch.manual_seed(1)  # of the policy from elsewhere
    return evaluate(supervisor, sets, folder / "cells"), folder / "cells", sets.loaded


def assert_same(tables, others):
    for table, other in zip(tables, others, strict=True):
        assert len(table) > 0
        pd.testing.assert_frame_equal(table, other, check_exact=True)


def test_every_cell_has_a_file_once_it_is_done(straight):
    tables, folder, loaded = straight
    assert loaded == CELLS
    assert sorted(path.stem for path in folder.iterdir()) == sorted(CELLS)
    assert tables[0]["shift"].drop_duplicates().tolist() == ["none", "contrast", "fog"]


def test_what_is_finished_is_taken_as_it_was(straight, supervisor, tmp_path):
    tables, folder, _ = straight
    sets = Sets(tmp_path / "log")
    assert_same(evaluate(supervisor, sets, folder, batch_size=100), tables)
    assert not sets.log.exists()


def test_where_nothing_is_to_be_kept_nothing_is(straight, supervisor, tmp_path):
    torch.manual_seed(1)
    sets = Sets(tmp_path / "log")
    assert_same(evaluate(supervisor, sets, None, workers=2), straight[0])
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_cell_that_fails_is_told_and_made_by_the_next_run(straight, supervisor, tmp_path):
    sets, folder = Sets(tmp_path / "log", broken="contrast-5"), tmp_path / "cells"
    told = r"^evaluation: 1 of 5 failed: contrast-5 \(OSError: contrast-5 cannot be read\); all"
    torch.manual_seed(1)
    with pytest.raises(ValueError, match=told):
        evaluate(supervisor, sets, folder)
    assert sets.loaded == CELLS
    assert len(list(folder.iterdir())) == 4
    sets = Sets(tmp_path / "again")
    torch.manual_seed(1)
    assert_same(evaluate(supervisor, sets, folder), straight[0])
    assert sets.loaded == ["contrast-5"]


def test_a_dask_cluster_gives_the_same_tables(straight, supervisor, tmp_path):
    sets, folder = Sets(tmp_path / "log"), tmp_path / "cells"
    torch.manual_seed(1)
    assert_same(evaluate(supervisor, sets, folder, backend="dask", workers=2), straight[0])
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{name}.safetensors" for name in CELLS
    )


def test_the_cells_of_another_evaluation_are_not_taken(straight):
    protocol = Protocol(("paper",), 2, 8, 6, "cpu", "float32", 0)
    classifiers = ["standard", "augmix"]

    def load(protocol=protocol, names=classifiers, elsewhere=("elsewhere",), made_from=""):
        checkpoint = Checkpoint(straight[1], made_from)
        return FinishedCells.of(checkpoint, protocol, names, list(elsewhere)).load(Cell("fog", 5))

    assert load() is not None
    assert load(replace(protocol, network_batch=7)) is not None
    assert load(replace(protocol, trials=3)) is None
    assert load(replace(protocol, seed=1)) is None
    assert load(replace(protocol, controllers=("paper", "calibrated"))) is None
    assert load(names=classifiers[:1]) is None
    assert load(elsewhere=()) is None
    assert load(made_from="other images") is None
