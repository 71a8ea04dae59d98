"""Rounds through batches, and the stream that shifts."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from superstar.control.protocol import Cell, all_cells
from superstar.errors import InputError
from superstar.peers import UNTOUCHED, Switching, Unadapted, go_through, shifting_stream

DARK, LIGHT = torch.full((4, 3, 16, 16), 0.2), torch.full((4, 3, 16, 16), 0.8)


class Bright(nn.Module):
    """Class 1 for bright images, surer the further from gray."""

    def forward(self, batch):
        level = batch.mean((1, 2, 3)) - 0.5
        return torch.stack([-level, level], 1)


def rows_of(peers, every=None):
    fronts = {UNTOUCHED: lambda images: images, "dim": lambda images: images / 8}
    labels = [np.zeros(4, np.int64), np.ones(4, np.int64)]
    behind = {front: {"only": peers} for front in fronts}
    found = go_through([DARK, LIGHT], labels, fronts, behind, every or {})
    return {(row["front"], row["peer"]): row for row in found}


def test_a_front_changes_what_the_peer_sees():
    found = rows_of({"plain": lambda correct: Unadapted(Bright())})
    assert found[UNTOUCHED, "plain"]["hits"].tolist() == [1] * 8
    assert found["dim", "plain"]["hits"].tolist() == [1] * 4 + [0] * 4
    assert all(row["peer_seconds"] >= 0 for row in found.values())


def test_switching_chooses_between_the_image_and_what_the_front_makes_of_it():
    found = rows_of({"switching": lambda correct: Switching(Bright(), correct)})
    # Bright images become darker than they were bright, so that their corrections are surer.
    assert found["dim", "switching"]["hits"].tolist() == [1] * 4 + [0] * 4
    assert found[UNTOUCHED, "switching"]["hits"].tolist() == [1] * 8


def test_slow_peers_are_asked_for_some_images():
    found = rows_of({"plain": lambda correct: Unadapted(Bright())}, {"plain": 3})
    hits = found["dim", "plain"]["hits"]
    np.testing.assert_array_equal(hits, [1, np.nan, np.nan, 1, 0, np.nan, np.nan, 0])


CELLS = all_cells(["fog", "snow"], [2, 4])
HOW = {"segments": 12, "kinds": 3, "clean": 0.3, "shortest": 5, "longest": 9}


def test_a_stream_changes_and_comes_back():
    made = shifting_stream(CELLS, 50, **HOW, seed=3)
    cells = [segment.cell for segment in made]
    assert cells[0] == Cell("none", None)
    assert len(made) == 12
    assert all(before != after for before, after in pairwise(cells))
    assert len(set(cells)) <= 4
    assert len(set(cells)) < len(cells)
    assert all(5 <= len(segment.images) <= 9 for segment in made)
    assert all(segment.images.max() < 50 for segment in made)
    again = shifting_stream(CELLS, 50, **HOW, seed=3)
    assert [each.images.tolist() for each in made] == [each.images.tolist() for each in again]
    assert cells != [segment.cell for segment in shifting_stream(CELLS, 50, **HOW, seed=4)]


@pytest.mark.parametrize(("cells", "kinds"), [(CELLS, 5), (CELLS[1:], 3), (CELLS, 1)])
def test_a_stream_of_too_little_is_refused(cells, kinds):
    with pytest.raises(InputError, match="stream"):
        shifting_stream(cells, 50, **{**HOW, "kinds": kinds}, seed=0)
