import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from skimage import data

from superstar.actions import ACTIONS, EXTENDED, Correction, Plan, apply_action
from superstar.actions.appearance import COARSE, Appearance, coarse, luminance_of
from superstar.actions.fitted import FITTED, KNOTS
from superstar.corruptions import corrupt
from superstar.errors import InputError
from superstar.images import from_uint8


@pytest.fixture(scope="module")
def clean() -> torch.Tensor:
    pictures = [data.astronaut(), data.coffee(), data.chelsea()]
    cut = [p[top : top + 64, left : left + 64] for p in pictures for top, left in POSITIONS]
    return from_uint8(np.stack(cut))


POSITIONS = [(60, 60), (100, 150), (180, 90), (200, 220)]


def corrected(name: str, images: torch.Tensor, clean: torch.Tensor) -> torch.Tensor:
    numbers = FITTED[name].fit(Appearance.of(images), Appearance.of(clean))
    return Correction(name, numbers).apply(images)


@pytest.mark.parametrize("name", [name for name in FITTED if name != "median_3"])
def test_what_looks_like_home_stays_as_it_is(name, clean):
    after = corrected(name, clean, clean)
    assert (after - clean).abs().max() < (0.02 if name == "match_tone" else 1e-4)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("match_contrast", lambda x: x.mean((2, 3), keepdim=True) * 0.6 + 0.4 * x),
        ("match_local_contrast", lambda x: x.mean((2, 3), keepdim=True) * 0.6 + 0.4 * x),
        ("match_brightness", lambda x: x - 0.5 * luminance(x) + 0.3),
        ("match_tone", lambda x: x**2),
        ("match_colour", lambda x: torch.lerp(luminance(x), x, 0.4)),
    ],
)
def test_each_undoes_what_it_is_made_for(name, change, clean):
    shifted = change(clean).clamp(0, 1)
    after = corrected(name, shifted, clean)
    assert (after - clean).abs().mean() < 0.35 * (shifted - clean).abs().mean()


def luminance(images: torch.Tensor) -> torch.Tensor:
    planes = [luminance_of(image) for image in images.numpy()]
    return torch.from_numpy(np.stack(planes))[:, None]


def test_sharpening_and_dehazing_bring_the_statistics_back(clean):
    home = Appearance.of(clean)
    soft = corrupt(clean, "gaussian_blur", 1)
    assert (
        Appearance.of(soft).sharpness
        < Appearance.of(corrected("match_sharpness", soft, clean)).sharpness
    )
    hazy = (0.6 * clean + 0.4).clamp(0, 1)
    after = Appearance.of(corrected("match_veil", hazy, clean))
    assert abs(after.veil - home.veil) < 0.2 * abs(Appearance.of(hazy).veil - home.veil)


def test_the_median_is_scipys(clean):
    after = Correction("median_3").apply(clean)
    expected = ndimage.median_filter(clean.numpy(), size=(1, 1, 3, 3), mode="nearest")
    np.testing.assert_array_equal(after.numpy(), expected)


@given(
    arrays(np.float32, (2, 3, 16, 18), elements=st.floats(0, 1, width=32)),
    arrays(np.float32, (3, 3, 16, 18), elements=st.floats(0, 1, width=32)),
)
@settings(max_examples=25, deadline=None)
def test_any_images_stay_images_and_numbers_are_finite(batch, home):
    images, clean = torch.from_numpy(batch), Appearance.of(torch.from_numpy(home))
    for name, correction in FITTED.items():
        numbers = correction.fit(Appearance.of(images), clean)
        after = Correction(name, numbers).apply(images)
        assert np.isfinite(numbers).all()
        assert after.shape == images.shape
        assert after.min() >= 0
        assert after.max() <= 1


def test_the_curve_of_tones_never_falls(clean):
    numbers = FITTED["match_tone"].fit(Appearance.of(1 - clean), Appearance.of(clean))
    assert len(numbers) == KNOTS
    assert (np.diff(numbers) >= 0).all()


def test_statistics_of_parts_add_up_and_come_back_from_json(clean):
    whole = Appearance.of(clean)
    pooled = Appearance.pooled([Appearance.of(clean[:5]), Appearance.of(clean[5:])], [5, 7])
    again = Appearance.from_dict(json.loads(json.dumps(whole.to_dict())))
    for name in vars(whole):
        np.testing.assert_allclose(getattr(pooled, name), getattr(whole, name), atol=1e-6)
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    with pytest.raises(InputError, match="damaged"):
        Appearance.from_dict({"luminance": [1.0]})


def test_the_papers_library_keeps_its_order_and_the_extended_one_has_it_all():
    assert ACTIONS[:2] == ("nop", "dncnn")
    assert len(ACTIONS) == 8
    assert set(EXTENDED) == {*FITTED, *ACTIONS} - {"nop"}


def test_a_plan_is_applied_in_order_to_any_images_and_comes_back_from_json(clean):
    plan = Plan((Correction("match_contrast", (2.0, 1.5, 1.0)), Correction("clahe_2_1")))
    stretched = Correction("match_contrast", (2.0, 1.5, 1.0)).apply(clean)
    expected = apply_action(stretched, "clahe_2_1")
    torch.testing.assert_close(plan.apply(clean), expected, rtol=0, atol=0)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert hash(again) == hash(plan)
    one_by_one = torch.cat([again.apply(image[None]) for image in clean])
    torch.testing.assert_close(one_by_one, expected, rtol=0, atol=0)
    assert str(plan) == "match_contrast(2, 1.5, 1) > clahe_2_1"
    assert plan.names[1] == "clahe_2_1"


def test_an_empty_plan_hands_out_other_memory(clean):
    after = Plan().apply(clean)
    assert torch.equal(after, clean)
    assert after.data_ptr() != clean.data_ptr()
    assert str(Plan()) == "nothing"
    assert Plan.from_json(Plan().to_json()) == Plan()


def test_a_plan_is_one_short_line_however_it_is_printed(clean):
    look = Appearance.of(clean)
    curve = Correction("match_tone", FITTED["match_tone"].fit(look, look))
    plan = Plan((curve, Correction("match_colour", (1.25,)), Correction("median_3")))
    assert str(plan) == "match_tone(...) > match_colour(1.25) > median_3"
    assert repr(plan) == "Plan(corrections=(match_tone(...), match_colour(1.25), median_3))"


@pytest.mark.parametrize("size", [(64, 64), (111, 112), (129, 224), (301, 224), (512, 640)])
def test_coarse_structure_is_what_a_gaussian_leaves(size):
    noise = 0.2 * np.random.default_rng(0).normal(size=size)
    plane = np.float32(data.astronaut()[: size[0], : size[1], 1] / 255)
    plane = np.pad(plane, [(0, 0), (0, size[1] - plane.shape[1])], mode="reflect")
    given = np.clip(plane + noise, 0, 1).astype(np.float32)
    expected = ndimage.gaussian_filter(given, min(size) / COARSE, mode="reflect")
    assert np.abs(coarse(given) - expected).max() < 0.002
    assert coarse(np.full(size, 0.5, np.float32)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("numbers", ["[1.0]", "[1, 2, NaN]", "[1, 2, 3, 4]"])
def test_a_plan_with_other_numbers_than_its_corrections_take_is_refused(numbers):
    with pytest.raises(InputError, match="match_contrast takes 3 finite numbers"):
        Plan.from_json(f'[{{"name": "match_contrast", "numbers": {numbers}}}]')
    with pytest.raises(InputError, match="clahe_2_1 takes 0"):
        Plan.from_json('[{"name": "clahe_2_1", "numbers": [1]}]')
    with pytest.raises(InputError, match="match_tone takes 33 finite numbers"):
        Plan.of(["match_tone", "dncnn"])


def test_every_correction_gives_as_many_numbers_as_it_says(clean):
    look = Appearance.of(clean)
    for correction in FITTED.values():
        assert len(correction.fit(look, look)) == correction.count


def test_the_packaged_denoiser_stands_behind_a_plan_without_one():
    noisy = corrupt(from_uint8(data.astronaut()[None, 100:164, 100:164]), "gaussian_noise", 3)
    after = Plan.of(["dncnn"]).apply(noisy)
    assert (after - noisy).abs().mean() > 0


@pytest.mark.parametrize(
    "text", ["", "{}", '[{"name": "clahe_2_1"}]', '[{"name": "none", "numbers": []}]', "[1]"]
)
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(InputError, match=r"plan|unknown correction"):
        Plan.from_json(text if text != "{}" else '{"name": 1}')
