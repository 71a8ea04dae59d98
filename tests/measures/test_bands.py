import numpy as np
import pytest
import pywt
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage import data

from superstar.corruptions import SURROGATES, corrupt
from superstar.errors import InputError
from superstar.images import from_uint8
from superstar.measures.bands import BINS, DETAIL_EDGES, VALUE_EDGES, Bands, band_histograms
from superstar.measures.rulers import BandRuler


def patches(count: int, side: int = 64, seed: int = 0) -> torch.Tensor:
    """Crops of two photographs, smaller and larger pieces alike."""
    rng = np.random.default_rng(seed)
    sources = [data.astronaut(), data.coffee()]
    cut = []
    for place in range(count):
        picture = sources[place % 2]
        top, left = (int(rng.integers(0, extent - side)) for extent in picture.shape[:2])
        cut.append(picture[top : top + side, left : left + side])
    return from_uint8(np.stack(cut))


def ruler(count: int = 60, seed: int = 1) -> BandRuler:
    return BandRuler.of(band_histograms(patches(count, seed=seed)), Bands.of(64, 64))


def reading(images: torch.Tensor, own: BandRuler) -> float:
    return float(own.reading(band_histograms(images).mean(0), len(images)))


def test_every_histogram_sums_to_one_and_small_images_have_fewer_scales():
    for side, levels in ((16, 2), (32, 3), (64, 4), (224, 4)):
        bands = Bands.of(side, side)
        assert bands.levels == levels
        assert len(bands.names) == 2 * levels + 5
        histograms = band_histograms(torch.rand(2, 3, side, side))
        assert histograms.shape == (2, len(bands.names), BINS)
        np.testing.assert_allclose(histograms.sum(2), 1, rtol=1e-5)


def test_details_are_those_of_haar_wavelets():
    image = torch.rand(1, 3, 32, 48, generator=torch.Generator().manual_seed(0))
    luminance = torch.tensordot(torch.tensor([0.299, 0.587, 0.114]), image[0], 1).numpy()
    names = Bands.of(32, 48).names
    own = dict(zip(names, band_histograms(image)[0], strict=True))
    for scale in (1, 2, 4):
        luminance, (horizontal, vertical, diagonal) = pywt.dwt2(luminance, "haar")
        luminance, *details = (part / 2 for part in (luminance, horizontal, vertical, diagonal))
        for name, values in (
            (f"edges_{scale}", np.concatenate([details[0].ravel(), details[1].ravel()])),
            (f"diagonal_{scale}", details[2].ravel()),
        ):
            expected, _ = np.histogram(values, DETAIL_EDGES)
            # A value at an edge may fall to either side.
            assert np.abs(own[name] - expected / values.size).sum() < 0.05


def test_values_are_counted_where_they_lie():
    red = torch.zeros(1, 3, 16, 16)
    red[:, 0] = 1
    own = dict(zip(Bands.of(16, 16).names, band_histograms(red)[0], strict=True))
    for name, value in (("luminance", 0.299), ("blue", -0.299), ("red", 0.701)):
        edges = VALUE_EDGES[name]
        place = min(int(np.searchsorted(edges, value, "right")) - 1, BINS - 1)
        assert own[name][place] == 1


def test_images_too_small_are_refused():
    with pytest.raises(InputError, match="at least 16x16"):
        band_histograms(torch.rand(1, 3, 8, 8))


def test_home_reads_zero_and_clean_images_about_zero_at_every_size():
    own = ruler(200)
    assert reading(patches(200, seed=1), own) == 0
    clean = band_histograms(patches(600, seed=2))
    rng = np.random.default_rng(0)
    for size in (1, 5, 20, 100):
        signed = [
            own.by_band(clean[rng.permutation(600)[:size]].mean(0), size).mean() for _ in range(200)
        ]
        raw = own.bias(size).mean()
        # Unclipped readings scatter about 0, by no more than a third of what is taken off.
        assert abs(np.mean(signed)) < raw / 3


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_readings_rise_with_the_strength_of_every_surrogate(surrogate):
    # The weakest sigmoid_decrease raises contrast a little: its curve is steeper than the identity.
    own, clean = ruler(100), patches(60, seed=5)
    levels = [reading(corrupt(clean, surrogate, severity), own) for severity in (3, 4, 5)]
    assert levels[0] < levels[1] < levels[2]
    assert levels[2] > 0.04


def test_one_band_far_away_counts_for_more_than_many_a_little():
    far, near = np.array([[0.4, 0, 0, 0], [0.1, 0.1, 0.1, 0.1]])
    assert BandRuler.aggregate(far) > BandRuler.aggregate(near) == pytest.approx(0.1)
    # Bands that read less than clean ones do in the mean do not make up for others.
    assert BandRuler.aggregate(np.array([0.4, -9, -9, -9])) == BandRuler.aggregate(far)


@given(st.permutations(range(12)))
@settings(max_examples=10, deadline=None)
def test_order_does_not_matter_and_sets_add_up(order):
    own, images = ruler(), patches(12, seed=3)
    histograms = band_histograms(images)
    assert reading(images[list(order)], own) == pytest.approx(reading(images, own), abs=1e-6)
    parts = (histograms[:5].mean(0) * 5 + histograms[5:].mean(0) * 7) / 12
    assert float(own.reading(parts, 12)) == pytest.approx(reading(images, own), abs=1e-6)


def test_a_ruler_needs_two_images_of_the_right_size():
    histograms = band_histograms(patches(3))
    with pytest.raises(InputError, match="at least two"):
        BandRuler.of(histograms[:1], Bands.of(64, 64))
    with pytest.raises(InputError, match="bands"):
        BandRuler.of(histograms, Bands.of(32, 32))
