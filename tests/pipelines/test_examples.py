import numpy as np
import pytest
import torch
from torch import nn

from superstar.actions import apply_action
from superstar.images import ImageSet, to_uint8
from superstar.parameters import Execution
from superstar.pipelines.reporting.examples import EXAMPLE_IMAGES, one_of_each, stages_figure

RUN = Execution(
    device="cpu", workers=1, threads=1, batch_size=4, backend="loky", address=None, retries=0
)
ACTIONS = ("clahe_2_1", "clahe_2_2")


class Bright(nn.Module):
    """Says 1 for an image brighter than middle gray, else 0."""

    def forward(self, images):
        mean = images.mean((1, 2, 3))
        return torch.stack([0.5 - mean, mean - 0.5], dim=1)


def image_set(low, high, seed=0):
    rng = np.random.default_rng(seed)
    return ImageSet(
        rng.integers(low, high, (6, 16, 16, 3)).astype(np.uint8), np.array([0, 1, 0, 1, 0, 1])
    )


@pytest.fixture
def drawn():
    shifted = image_set(100, 120, seed=1)
    figure = stages_figure(
        "fog 5", image_set(0, 256), shifted, ACTIONS, None, {"bright": Bright()}, RUN, "float32",
        [10.0, 11.0, 13.5], failed=1,
    )  # fmt: skip
    return shifted, np.array(figure.axes).reshape(EXAMPLE_IMAGES, -1)


def test_stages_are_named_with_accuracy_and_distance(drawn):
    titles = [axis.get_title().split("\n") for axis in drawn[1][0]]
    assert [lines[0] for lines in titles] == [
        "clean",
        "fog 5",
        "+ clahe_2_1",
        "(clahe_2_2: fails β)",
    ]
    # All images are darker than middle gray, so half of the labels are met.
    assert titles[1][1:] == ["bright 50.0%", "distance 10.0"]
    assert titles[3][2] == "distance 13.5"
    assert len(titles[0]) == 2


def test_pictures_are_those_of_the_stages(drawn):
    shifted, grid = drawn
    before, last = (grid[0, column].images[0].get_array() for column in (1, 3))
    place = int(np.flatnonzero((shifted.images == before).all((1, 2, 3)))[0])
    images = shifted.batch(np.array([place]))
    for action in ACTIONS:
        images = apply_action(images, action)
    np.testing.assert_array_equal(last, to_uint8(images)[0])


def test_one_image_of_each_class_is_shown():
    images = image_set(0, 256)
    assert images.labels[one_of_each(images, 2)].tolist() == [0, 1]
