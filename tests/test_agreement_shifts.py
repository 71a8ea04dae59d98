from pathlib import Path

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from benchmarks.agreement.comparison import Comparison
from benchmarks.agreement.figure import shifts_figure
from benchmarks.agreement.released import read_released
from benchmarks.agreement.setups import imagenet, imagenet_files
from benchmarks.agreement.shifts import (
    Cell,
    check_extrapolation,
    compare_shifts,
    like_the_release,
    measure_shifts,
    reversals,
    unexplained,
)
from benchmarks.agreement.shifts_report import check_part, shifts_part
from benchmarks.agreement.tables import Part
from benchmarks.agreement.transport import (
    Estimate,
    blocks,
    fall,
    mean_distance,
    overlapping,
)

SHARED = Path(__file__).parents[2] / "shared"
SAMPLE = SHARED / "data" / "imagenet_sample"


def sample(seed, count, dimensions=8, shift=0.0):
    """Distances between clean points and the same points, moved."""
    points = np.random.default_rng(seed).random((count, dimensions))
    return cdist(points, points + shift)


def splits(count, draws):
    orders = [np.random.default_rng(k).permutation(count) for k in range(draws)]
    return [(order[: count // 2], order[count // 2 :]) for order in orders]


def test_mean_distance_is_that_of_pot_over_the_draws():
    cost, draws = sample(0, 40), splits(40, 3)
    weights = np.linspace(1, 2, 40)
    plain = [ot.emd2([], [], cost[np.ix_(a, b)].copy()) for a, b in draws]
    assert mean_distance(cost, draws).value == pytest.approx(np.mean(plain))
    weighted = [
        ot.emd2(weights[a] / weights[a].sum(), weights[b] / weights[b].sum(), cost[np.ix_(a, b)])
        for a, b in draws
    ]
    assert mean_distance(cost, draws, weights).value == pytest.approx(np.mean(weighted))


def whole_fall(cost, draws, size, weights):
    return fall(cost, draws, mean_distance(cost, draws, weights), size, weights)


@pytest.mark.parametrize(
    "estimate",
    [
        lambda cost, draws, weights: mean_distance(cost, draws, weights),
        lambda cost, draws, weights: whole_fall(cost, draws, 96, weights),
        lambda cost, draws, weights: whole_fall(cost, draws, 700, weights),
    ],
    ids=["distance", "fall over one step", "fall over more"],
)
def test_influence_is_the_derivative_by_an_image_s_weight(estimate):
    cost, draws = sample(1, 48, shift=0.1), splits(48, 2)
    # Unequal weights: the optimum is then unique, and so its derivative exists.
    weights = np.random.default_rng(2).uniform(1, 2, 48)
    influence = estimate(cost, draws, weights).influence
    assert influence.sum() == pytest.approx(0, abs=1e-9)
    for i in (0, 17, 40):
        step = 1e-6
        changed = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[i] *= 1 + sign * step
            changed.append(estimate(cost, draws, moved).value)
        derivative = (changed[0] - changed[1]) / (2 * step)
        assert influence[i] == pytest.approx(derivative, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_the_standard_error_is_how_far_samples_lie_from_one_another(shift):
    draws = splits(60, 10)
    found = [mean_distance(sample(seed, 60, shift=shift), draws) for seed in range(60)]
    spread = np.std([estimate.value for estimate in found])
    mean_error = np.mean([estimate.standard_error for estimate in found])
    assert 0.75 * spread < mean_error < 1.5 * spread


def test_extrapolation_meets_larger_samples():
    draws = splits(128, 5)
    costs = [sample(seed, 128, dimensions=12) for seed in range(10)]
    small = np.mean([mean_distance(cost, draws).value for cost in costs])
    larger = small + np.mean(
        [fall(cost, draws, mean_distance(cost, draws), 256).value for cost in costs]
    )
    measured = np.mean([mean_distance(sample(s, 512, 12), splits(512, 2)).value for s in range(4)])
    assert small > 1.08 * measured
    assert larger == pytest.approx(measured, rel=0.02)


def test_the_fall_goes_on_as_the_law_says():
    cost, draws = sample(3, 128), splits(128, 5)
    whole = mean_distance(cost, draws)
    quarter, sixteenth = (mean_distance(cost, blocks(draws, size)).value for size in (16, 4))
    last = whole.value - quarter
    rate = last / (quarter - sixteenth)
    falls = [fall(cost, draws, whole, size).value for size in (30, 64, 256, 1024)]
    assert falls == pytest.approx([0, 0, rate * last, (rate + rate**2) * last])


def test_too_few_images_to_extrapolate_give_no_fall():
    cost, draws = sample(4, 2), splits(2, 3)
    whole = mean_distance(cost, draws)
    assert like_the_release(cost, draws, whole) == Estimate(whole.value, pytest.approx(np.zeros(2)))


def test_blocks_are_disjoint_and_overlapping_draws_share_as_many_as_asked():
    draws = splits(50, 3)
    parts = blocks(draws, 6)
    assert len(parts) == 12
    for k in range(3):
        rows = np.concatenate([part[0] for part in parts[4 * k : 4 * k + 4]])
        assert len(set(rows)) == 24
        assert set(rows) <= set(draws[k][0])
    for clean, other in overlapping(draws, 4):
        assert len(set(clean)) == len(set(other)) == 25
        assert len(set(clean) & set(other)) == 4
    for before, after in zip(draws, overlapping(draws, 0), strict=True):
        np.testing.assert_array_equal(before, after)


class Figures:
    """Released distances, by shift and severity."""

    def __init__(self, distances):
        self.distances = distances

    def distance(self, benchmark, shift, severity):
        return self.distances[shift][severity - 1]


def test_reversals_are_found_and_near_ties_told():
    def cells_of(name, values):
        for severity, value in enumerate(values, start=1):
            # Images 0 and 1 err alike at all severities, image 2 at severity 3 alone.
            influence = np.array([9.0, 9.0, 1.0 if severity == 3 else 0.0])
            estimate = Estimate(value, influence)
            yield (name, severity), Cell(estimate, estimate, None)

    cells = dict(cells_of("fog", [1, 2, 3, 4, 5])) | dict(cells_of("snow", [5, 4, 6, 5.5, 7]))
    released = Figures({"fog": [10, 20, 30, 40, 50], "snow": [4, 5, 6, 6.5, 7]})
    found = reversals(cells, released, "imagenet")
    assert [(pair.shift, pair.severities) for pair in found] == [("snow", (1, 2)), ("snow", (3, 4))]
    assert [pair.standard_error for pair in found] == [0, 1]
    assert [pair.near_tie for pair in found] == [False, True]
    assert [pair.ours for pair in found] == [-1, -0.5]


def test_the_summary_tells_which_order_other_draws_restore():
    def cell(value, error):
        estimate = Estimate(value, np.array([error]))
        return Cell(estimate, estimate, None)

    cells = {("fog", k): cell(100 * k, 0.1 * k) for k in range(1, 6)}
    cells[("fog", 3)] = cell(190, 1)
    released = Figures({"fog": [100, 200, 300, 400, 500]})
    for value, restored in ((185, False), (320, True)):
        anew = {("fog", 2): [cell(200, 1)] * 4, ("fog", 3): [cell(value, 1)] * 4}
        note = shifts_part(cells, anew, released, "imagenet").notes[-1]
        assert "for 0 of 1 shifts. Reversed: fog 2 and 3." in note
        assert ("in the mean of 5 draws of the shift: fog 2 and 3." in note) is restored


def test_the_figure_has_a_row_a_shift_the_highest_first():
    def cells_of(name, values):
        estimates = [Estimate(value, np.array([2.0])) for value in values]
        return {(name, k): Cell(each, each, None) for k, each in enumerate(estimates, start=1)}

    cells = cells_of("fog", [95, 96, 97, 98, 90]) | cells_of("snow", [103, 101, 102, 101, 100])
    released = Figures({"fog": [100] * 5, "snow": [100] * 5})
    axis = shifts_figure(cells, released, "imagenet").axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["snow", "fog"]
    bottom, top = axis.get_ylim()
    assert bottom > top
    points, bars = [], []
    for line in axis.containers:
        points.append(np.column_stack(line.lines[0].get_data()).astype(float))
        ends = np.array([segment[:, 0] for segment in line.lines[2][0].get_segments()], float)
        bars.append(np.diff(ends, axis=1).ravel())
    np.testing.assert_allclose([point[:, 0] for point in points], _off_by(cells), atol=1e-9)
    np.testing.assert_allclose(bars, 12)
    # All severities of a shift are nearer to its name than to the next.
    assert (np.abs(np.array(points)[:, :, 1] - [0, 1]) < 0.5).all()


def _off_by(cells):
    return [[cells[name, k].like.value - 100 for name in ("snow", "fog")] for k in range(1, 6)]


def test_what_is_off_or_out_of_order_is_unexplained():
    def cells_of(name, values):
        estimates = [Estimate(value, np.array([1.0])) for value in values]
        return {(name, k): Cell(each, each, None) for k, each in enumerate(estimates, start=1)}

    cells = cells_of("fog", [100, 200, 300, 400, 530]) | cells_of("snow", [97, 96, 98, 99, 100])
    released = Figures({"fog": [100, 200, 300, 400, 500], "snow": [95, 96, 97, 98, 99]})
    assert unexplained(cells, released, "imagenet") == [("fog", 5), ("snow", 1), ("snow", 2)]
    released = Figures({"fog": [100, 200, 300, 400, 510], "snow": [97, 96, 97, 98, 99]})
    assert unexplained(cells, released, "imagenet") == []


def test_within_counts_percentages_apart_from_errors():
    assert Comparison(100, 104, 5, 0.1).within_percent
    by_error = Comparison(100, 107, 5, 3)
    assert by_error.within
    assert not by_error.within_percent


class Few:
    validation = np.zeros((10, 32, 32, 3), np.uint8)


def test_nothing_is_checked_with_too_few_images():
    assert check_extrapolation(Few()) == {}
    assert check_part({}, "cifar100") == Part()


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="no sample of ImageNet in ../shared")
def test_real_images_lie_at_the_released_distances():
    setup = imagenet(imagenet_files(SAMPLE)[::4])
    released = read_released(SHARED / "reference", ["imagenet"])
    cells = measure_shifts(setup, None, ["brightness"])
    like = {key: cell.like for key, cell in cells.items()}
    assert all(cell.within for cell in compare_shifts(like, released, "imagenet").values())
    assert reversals(cells, released, "imagenet") == []
    for cell in cells.values():
        assert cell.like.value < cell.raw.value
