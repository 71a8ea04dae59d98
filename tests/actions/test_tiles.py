import numpy as np
import pytest

from superstar.actions.tiles import tiles
from superstar.errors import InputError


def test_tiles_cover_the_picture():
    picture = np.arange(40 * 50 * 3, dtype=np.uint32).reshape(40, 50, 3)
    cut = tiles([picture], side=32)
    assert cut.shape == (4, 32, 32, 3)
    assert np.isin(picture, cut).all()


def test_scales_that_leave_no_room_are_left_out():
    pictures = [np.full((64, 64, 3), 7, np.uint8), np.full((33, 100, 3), 9, np.uint8)]
    cut = tiles(pictures, side=32, scales=(1.0, 0.5))
    assert [int(tile[0, 0, 0]) for tile in cut] == [7] * 5 + [9] * 8
    with pytest.raises(InputError, match="no picture has room"):
        tiles(pictures, side=101)
    with pytest.raises(InputError, match="scales in"):
        tiles(pictures, side=32, scales=(2.0,))
