from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from projects import reporting_parameters
from superstar.actions import apply_action
from superstar.control import Supervisor
from superstar.control.networks import Actor
from superstar.images import ImageSet, to_uint8
from superstar.measures import Projection
from superstar.pipelines.evaluation.examples import trace_examples
from superstar.pipelines.reporting import pictures
from superstar.pipelines.reporting.pictures import EXAMPLE_IMAGES, IMAGES_LOOKED_AT

COUNT, BATCH, TRIALS, BETA = 900, 20, 3, 1.1
ACTIONS = ("nop", "bilateral", "clahe_2_1", "clahe_2_2")
REPORTING = reporting_parameters(
    example_shift="gaussian_noise",
    example_beta_shift="contrast",
    example_beta_severity=3,
    example_beta=BETA,
)
EVALUATION = {"severities": [1], "trials": TRIALS, "batch_size": BATCH, "precision": "float32"}
EXECUTION = {
    "device": "cpu",
    "workers": 1,
    "threads": 1,
    "batch_size": 6,
    "backend": "loky",
    "address": None,
    "retries": 0,
}


@dataclass(frozen=True)
class Counted(ImageSet):
    """An image set that counts the images that it hands out."""

    handed: list[int] = field(default_factory=list)

    def batch(self, indices=slice(None)):
        images = super().batch(indices)
        self.handed.append(len(images))
        return images


class Sets:
    """A clean set and darker ones of the same 3 classes."""

    def __init__(self):
        rng = np.random.default_rng(0)
        clean = rng.integers(0, 256, (COUNT, 32, 32, 3)).astype(np.uint8)
        labels = np.arange(COUNT) % 3
        self.clean = Counted(clean, labels)
        self.shifted = Counted(clean // 3, labels)

    def load(self, shift, severity=None):
        return self.clean if shift == "none" else self.shifted

    @property
    def handed(self):
        return sum(self.clean.handed + self.shifted.handed)


class Bright(nn.Module):
    """Says 1 for an image brighter than 0.4, else 0, and counts what it is asked."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def forward(self, images):
        self.asked += len(images)
        mean = images.mean((1, 2, 3))
        return torch.stack([0.4 - mean, mean - 0.4], dim=1)


@pytest.fixture(scope="module")
def supervisor():
    """One whose every action fails β, but no other brake."""
    projection = Projection.create(
        "dct", n=32 * 32, m=20, seed=0, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25)
    )
    tree = DecisionTreeClassifier(max_depth=1).fit([[0, 0, 0], [1, 1, 1]], [1, 1])
    torch.manual_seed(0)
    return Supervisor(
        actor=Actor(len(ACTIONS)),
        tree=tree,
        denoiser=None,
        validation_points=projection(Sets().clean.batch(slice(30))),
        projection=projection,
        alpha=0.01,
        beta=0.01,
        horizon=3,
        actions=ACTIONS,
        image_size=(32, 32),
        benchmark="test",
    )


@pytest.fixture(scope="module")
def traced(supervisor):
    results = pd.DataFrame(
        {
            "controller": "paper",
            "shift": ["gaussian_noise"] * 3 + ["fog"],
            "severity": [1, 2, 5, 3],
            "trial": [0, 1, 1, 0],
            "sequence": [[], ["clahe_2_1", "clahe_2_2"], ["bilateral", "clahe_2_2"], ["nop"] * 5],
            "accuracy_shifted": 0.5,
            "accuracy_recovered": [0.5, 0.6, 0.7, 0.5],
        }
    )
    sets, classifier = Sets(), Bright()
    given = (REPORTING, EVALUATION, EXECUTION)
    stages = trace_examples(results, sets, supervisor, classifier, {}, *given, 0)
    return stages, sets, classifier


def test_an_example_is_the_longest_sequence_that_gained_most(traced):
    own = traced[0][traced[0]["example"] == "example"]
    assert own["stage"].tolist() == ["clean", "shifted", "bilateral", "clahe_2_2"]
    assert set(own["severity"]) == {5}
    assert own["passed"].all()
    assert own["distance"].isna().tolist() == [True, False, False, False]


def test_a_looser_beta_lets_actions_pass_until_one_fails(traced):
    loose = traced[0][traced[0]["example"] == "example_beta"]
    assert set(loose["beta"]) == {BETA}
    distances = loose["distance"].to_numpy()[1:]
    risen = distances[1:] / distances[:-1]
    assert len(risen) > 1
    assert (risen[loose["passed"].to_numpy()[2:]] < BETA).all()
    assert (risen[~loose["passed"].to_numpy()[2:]] >= BETA).all()


def test_no_more_than_batches_are_read_and_classified(traced):
    stages, sets, classifier = traced
    assert set(stages["images"]) == {BATCH}
    assert classifier.asked == BATCH * len(stages)
    assert sets.handed <= BATCH * (1 + TRIALS + 2)


def test_figures_need_no_classifier_and_few_images(traced, supervisor):
    stages, sets = traced[0], Sets()
    for figure, (_, rows) in zip(
        pictures.draw_examples(stages, sets, supervisor.denoiser),
        stages.groupby("example", sort=False),
        strict=True,
    ):
        grid = np.array(figure.axes).reshape(EXAMPLE_IMAGES, -1)
        assert grid.shape[1] == len(rows)
        titles = [axis.get_title().split("\n") for axis in grid[0]]
        for title, row in zip(titles, rows.itertuples(), strict=True):
            assert title[1] == f"standard {100 * row.accuracy_standard:.1f}%"
            assert row.stage in title[0] or row.stage == "shifted"
            assert ("fails β" in title[0]) is not row.passed
        assert titles[-1][-1] == f"distance {rows['distance'].iloc[-1]:.1f}"
        assert "batch of 20 images" in figure.get_supxlabel()
    assert sets.handed <= 2 * (EXAMPLE_IMAGES * IMAGES_LOOKED_AT + 2 * EXAMPLE_IMAGES)


def test_pictures_are_those_of_the_stages(traced, supervisor):
    sets = Sets()
    figure, _ = pictures.draw_examples(traced[0], sets, supervisor.denoiser)
    before, last = (figure.axes[column].images[0].get_array() for column in (1, 3))
    place = int(np.flatnonzero((sets.shifted.images == before).all((1, 2, 3)))[0])
    images = sets.shifted.batch(np.array([place]))
    for action in ("bilateral", "clahe_2_2"):
        images = apply_action(images, action)
    np.testing.assert_array_equal(last, to_uint8(images)[0])


def test_one_image_of_each_class_is_shown():
    clean = Sets().clean
    assert clean.labels[pictures.one_of_each(clean, 3)].tolist() == [0, 1, 2]
