import numpy as np
import pytest

from superstar.checkpoint import Checkpoint
from superstar.control.finished import FinishedRows

ROWS = [
    {"front": "paper", "hits": np.array([1, 0, np.nan], np.float32), "seconds": 0.25},
    {"front": "oracle", "hits": np.array([1, 1, 1], np.float32), "seconds": float("nan")},
]


@pytest.fixture
def finished(tmp_path):
    return FinishedRows(Checkpoint(tmp_path / "ask.unfinished", "these images"), "hits")


def test_rows_come_back_as_they_were(finished):
    finished.save("fog-3", ROWS)
    found = finished.load("fog-3")
    assert [row.keys() for row in found] == [row.keys() for row in ROWS]
    for row, expected in zip(found, ROWS, strict=True):
        assert row["front"] == expected["front"]
        assert row["hits"].dtype == np.float32
        np.testing.assert_array_equal(row["hits"], expected["hits"])
        np.testing.assert_equal(row["seconds"], expected["seconds"])
    assert finished.load("fog-5") is None


def test_rows_of_other_images_are_not_taken(finished, tmp_path):
    finished.save("fog-3", ROWS)
    others = FinishedRows(Checkpoint(tmp_path / "ask.unfinished", "other images"), "hits")
    assert others.load("fog-3") is None


def test_rows_without_arrays(tmp_path):
    finished = FinishedRows(Checkpoint(tmp_path / "try.unfinished"))
    finished.save("blur", [{"fall": 0.5}])
    assert finished.load("blur") == [{"fall": 0.5}]


def test_nothing_is_kept_where_there_is_no_place():
    nowhere = FinishedRows(None, "hits")
    nowhere.save("fog-3", ROWS)
    assert nowhere.load("fog-3") is None
