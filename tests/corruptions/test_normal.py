"""Normal numbers."""

import numpy as np
import pytest
from scipy import stats

from superstar.corruptions.normal import fill_normal


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    numbers = np.full(shape, np.nan, np.float32)
    fill_normal(numbers, np.random.default_rng(seed))
    return numbers


def test_they_are_normal_and_independent():
    numbers = drawn(2, 1_000_000).astype(np.float64)
    assert stats.kstest(numbers.ravel()[:200_000], "norm").pvalue > 1e-3
    assert stats.kstest(numbers.ravel()[-200_000:], "norm").pvalue > 1e-3
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        powers = numbers**power
        assert abs(powers.mean() - moment) < 4 * powers.std() / numbers.size**0.5
    # Both numbers of a pair, their squares too, and neighbours.
    first, second = numbers
    for a, b in ((first, second), (first**2, second**2), (first[1:], first[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / len(a) ** 0.5


def test_tails_are_those_of_a_normal():
    numbers = np.abs(drawn(4_000_000))
    for beyond in (3, 4, 4.5):
        expected = 2 * stats.norm.sf(beyond) * numbers.size
        assert abs((numbers > beyond).sum() - expected) < 4 * expected**0.5
    assert numbers.max() < 6.8


def test_they_are_those_of_box_and_muller_to_the_precision_of_float32():
    numbers = drawn(2, 100_000)
    bits = np.random.default_rng(0).bit_generator.random_raw(100_000)
    distance = np.sqrt(-2 * np.log(((bits >> np.uint64(32)) + 0.5) / 2**32))
    direction = (bits & np.uint64(2**32 - 1)) * (2 * np.pi / 2**32)
    expected = distance * np.stack([np.cos(direction), np.sin(direction)])
    np.testing.assert_allclose(numbers, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (2,), (3, 5, 7), (3, 16, 16)])
def test_any_shape_is_filled_from_its_generator_alone(shape):
    numbers = drawn(*shape)
    assert np.isfinite(numbers).all()
    assert len(np.unique(numbers)) == numbers.size
    np.testing.assert_array_equal(numbers, drawn(*shape))
    assert (numbers != drawn(*shape, seed=1)).all()
