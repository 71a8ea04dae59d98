import numpy as np
import torch
from control_toys import photographs
from numpy.testing import assert_allclose

from superstar.control.observation import STATE_HIGH, STATE_LOW, observe
from superstar.measures import state_features


def test_the_state_is_the_mean_of_the_features():
    images = photographs(7)
    state = observe(images)
    assert state.dtype == np.float32
    assert state.shape == (3,)
    assert_allclose(state, np.asarray(state_features(images)).mean(0), rtol=1e-6)


def test_states_of_extreme_images_lie_within_the_bounds():
    generator = torch.Generator().manual_seed(0)
    side = 32
    rows, columns = np.mgrid[:side, :side]
    patterns = [
        np.zeros((side, side)),
        np.ones((side, side)),
        columns < side // 2,
        (rows + columns) % 2,
        columns % 2,
        rows % 4 < 2,
        torch.randint(0, 2, (side, side), generator=generator).numpy(),
    ]
    for pattern in patterns:
        image = torch.as_tensor(np.asarray(pattern, dtype=np.float32)).expand(1, 3, -1, -1)
        state = observe(image)
        assert np.isfinite(state).all()
        assert (state >= STATE_LOW).all()
        assert (state <= STATE_HIGH).all()
