from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from control_toys import World, level, photographs
from numpy.testing import assert_allclose
from sklearn.tree import DecisionTreeClassifier

from superstar.actions import ACTIONS
from superstar.control.algorithm import Brakes, run_algorithm
from superstar.control.networks import always
from superstar.control.thresholds import choose_beta, clean_ratios
from superstar.control.transitions import Transitions
from superstar.errors import InputError
from superstar.images import stream
from superstar.measures import Distance, Projection

TOY_ACTIONS = ("nop", "bilateral", "wavelet_bayes", "clahe_2_2")
WITHOUT_NETWORK = tuple(name for name in ACTIONS if name != "dncnn")


def ratios_of(clean, **changes):
    arguments = {
        "projection": World().projection,
        "distance": partial(Distance.create("wasserstein"), torch.zeros(1, 1)),
        "batch_size": 4,
        "draws": 3,
        "actions": TOY_ACTIONS,
    }
    return clean_ratios(clean, **(arguments | changes))


def test_beta_is_the_smallest_ratio_less_the_margin(world: World):
    ratios = ratios_of(level(0.5, count=8))
    assert choose_beta(ratios, 3.0) == pytest.approx(0.97, rel=1e-5)  # all alike in the toy world
    assert set(ratios["action"]) == set(TOY_ACTIONS) - {"nop"}
    assert len(ratios) == 9
    means = ratios.groupby("action")["ratio"].mean()
    assert_allclose(means[["bilateral", "wavelet_bayes", "clahe_2_2"]], [0.999, 0.97, 1.1], 1e-5)


def test_beta_is_at_most_one(world: World):
    ratios = ratios_of(level(0.5, count=8), actions=("clahe_2_2",))
    assert choose_beta(ratios, 3.0) == pytest.approx(1)


@pytest.mark.parametrize("distance", ["wasserstein", "sliced_wasserstein"])
def test_the_margin_counts_in_deviations_of_the_strongest_action(distance):
    clean, validation = photographs(40, 16, 16, 1), photographs(30, 16, 16, 2)
    projection = Projection.create("dct", n=256, m=30, seed=0, mean=(0.45,) * 3, std=(0.25,) * 3)
    reference = projection(validation)
    arguments = {
        "projection": projection,
        "distance": partial(Distance.create(distance), reference),
        "batch_size": 20,
        "draws": 4,
        "actions": WITHOUT_NETWORK,
    }
    ratios = ratios_of(clean, **arguments)
    beta = choose_beta(ratios, 2.0)
    strongest = ratios.loc[ratios["ratio"].idxmin(), "action"]
    deviation = np.std(ratios.loc[ratios["action"] == strongest, "ratio"], ddof=1)
    assert beta == pytest.approx(min(1, ratios["ratio"].min()) - 2 * deviation)

    pd.testing.assert_frame_equal(ratios, ratios_of(clean, **arguments))
    assert choose_beta(ratios_of(clean, seed=1, **arguments), 2.0) != beta

    # No action passes on clean images: neither on the draws nor on all of them.
    tree = DecisionTreeClassifier().fit(np.zeros((2, 3)), [1, 1])
    draw = stream(0, "calibrate_beta", 0).permutation(40)[:20]
    transitions = Transitions(
        [clean[torch.from_numpy(draw)], clean],
        reference,
        projection,
        distance=distance,
        actions=WITHOUT_NETWORK,
        memory_limit=0,
    )
    brakes, rng = Brakes(0.9, beta, tree, 5), np.random.default_rng(0)
    for batch in (0, 1):
        for action in range(len(WITHOUT_NETWORK)):
            trace = run_algorithm(transitions, batch, always(action), brakes, rng)
            assert trace.sequence == ()
            assert trace.stop_reason in ("beta", "nop")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "1 to 8"),
        ({"batch_size": 9}, "1 to 8"),
        ({"draws": 1}, "draws"),
        ({"actions": ("nop",)}, "other than"),
        ({"actions": ("dncnn",)}, "denoiser"),
        ({"clean": torch.zeros(8, 3, 16, 16)}, "distance 0"),
    ],
)
def test_bad_arguments_are_refused(world: World, changes, message: str):
    arguments = {"clean": level(0.5, count=8)} | changes
    with pytest.raises(InputError, match=message):
        ratios_of(arguments.pop("clean"), **arguments)


def test_a_margin_that_leaves_no_beta_is_refused(world: World):
    ratios = iter([10.0, 1.0, 10.0, 9.0])

    def erratic(self, reference, points) -> float:
        return next(ratios)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Distance, "__call__", erratic)
        found = ratios_of(level(0.5, count=8), draws=2, actions=("bilateral",))
    for margin in (3.0, -1.0):
        with pytest.raises(InputError, match="margin"):
            choose_beta(found, margin)
