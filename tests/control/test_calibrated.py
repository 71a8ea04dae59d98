import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from control_toys import LIMITS, WORTHY, calibrated, photographs
from safetensors.torch import load_file

from superstar.actions import Plan
from superstar.actions.plan import Correction
from superstar.control.calibrated import Calibrated
from superstar.control.calibrated_files import ARRAYS, SPEC, load_calibrated, save_calibrated
from superstar.control.candidates import fit_candidates, try_candidates
from superstar.control.trials import LINE_BLUR, shift_by, surrogate_shifts, try_on
from superstar.control.worth import Worth, find_worth, lendable, uncontradicted
from superstar.corruptions import corrupt
from superstar.errors import InputError
from superstar.measures.bands import band_histograms
from superstar.weights import save_tensors


@pytest.fixture(scope="module")
def controller() -> Calibrated:
    return calibrated(32, 32)


def darker(images: torch.Tensor) -> torch.Tensor:
    return images**2.5


# The gate.


def test_clean_batches_pass_the_gate_at_about_the_rate(controller):
    fresh = band_histograms(photographs(1500, 32, 32, seed=3))
    for size in (1, 10, 50):
        batches = fresh[: len(fresh) // size * size].reshape(-1, size, *fresh.shape[1:]).mean(1)
        above = controller.ruler.reading(batches, size) > controller.gate.threshold(size)
        # At rate 0.02: of 1,500, 150 and 30 batches.
        assert above.mean() <= {1: 0.04, 10: 0.08, 50: 0.14}[size]


def test_sizes_between_take_the_next_smaller(controller):
    gate = controller.gate
    assert gate.threshold(9) == gate.threshold(1) > gate.threshold(10) > gate.threshold(50)
    assert gate.threshold(10_000) == gate.threshold(50)


def test_p_values_fall_as_readings_rise_and_never_below_what_images_support(controller):
    gate = controller.gate
    values = [gate.p_value(reading, 10) for reading in (0.0, gate.threshold(10), 99.0)]
    assert values[0] == 1
    assert values[0] > values[1] > values[2] == gate.smallest_rate == 1 / 151


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1])
def test_rates_out_of_range_are_refused(controller, rate):
    with pytest.raises(InputError, match="rate"):
        replace(controller.gate, rate=rate)


def test_a_rate_that_so_few_images_do_not_support_is_refused_with_how_many_would(controller):
    with pytest.raises(InputError, match="at least 999 of both"):
        replace(controller.gate, rate=0.001)


# What corrections are worth.


def trials(name: str, falls, gains, clean: float = 0.0) -> pd.DataFrame:
    """The reading is 1 everywhere, and noise costs half of all answers."""
    rows = {"candidate": name, "fall": [0.0, *falls], "gain": [clean, *gains], "reading": 1.0}
    shifts, accuracy = ["none", *["noise"] * len(falls)], [1.0, *[0.5] * len(falls)]
    return pd.DataFrame(rows).assign(shift=shifts, accuracy=accuracy)


def test_the_margin_lies_above_the_falls_that_went_with_losses():
    falls = np.linspace(0.05, 1, 20)
    found = find_worth(
        trials("a", falls, np.where(falls > 0.5, 5, -5)),
        bound=0.5,
        clean_bound=1.0,
        confidence=0.95,
    )
    assert 0.45 < found["a"].margin <= 0.6
    assert found["a"].gain(0.9) == pytest.approx(0.1)
    assert found["a"].gain(0.1) < 0
    gains = [found["a"].gain(fall) for fall in np.linspace(-1, 2, 50)]
    assert (np.diff(gains) >= 0).all()


def test_what_loses_everywhere_or_costs_clean_images_something_has_no_place():
    falls = [0.2, 0.4, 0.6, 0.8]
    table = pd.concat([trials("a", falls, [-3] * 4), trials("b", falls, [9] * 4, clean=-2)])
    assert find_worth(table, bound=0.5, clean_bound=1.0, confidence=0.95) == {}
    # A point, as sums of tenths leave it.
    just = trials("b", falls, [9] * 4, clean=-1.0000000000000009)
    assert list(find_worth(just, bound=0.5, clean_bound=1.0, confidence=0.95)) == ["b"]


def test_falls_that_a_candidate_never_saw_promise_what_others_gave():
    table = pd.concat([trials("a", [0.1] * 4, [10] * 4), trials("b", [0.1, 0.9] * 3, [10, 40] * 3)])
    found = find_worth(table, bound=0.5, clean_bound=1.0, confidence=0.95)
    assert found["a"].gain(0.1) == found["b"].gain(0.1) == pytest.approx(0.2)
    assert found["a"].gain(0.9) == pytest.approx((0.2 + 0.8) / 2)
    assert found["b"].gain(0.9) == pytest.approx(0.8)


def test_surrogates_that_cost_nothing_tell_nothing_of_shares():
    table = trials("a", [0.2, 0.4, 0.6, 0.8], [9, 9, 9, 9])
    free = table.assign(accuracy=1.0, gain=0.0, fall=0.5, shift=["none"] + ["free"] * 4)
    both = find_worth(pd.concat([table, free]), bound=0.5, clean_bound=1.0, confidence=0.95)
    assert both == find_worth(table, bound=0.5, clean_bound=1.0, confidence=0.95)
    assert find_worth(free, bound=0.5, clean_bound=1.0, confidence=0.95) == {}


# The search.


def test_clean_images_are_left_as_they_are(controller):
    clean = photographs(50, 32, 32, seed=4)
    choice = controller.choose(clean, None)
    assert choice.plan == Plan()
    assert choice.stopped_by == "clean"
    assert len(choice.readings) == 1
    assert choice.readings[0] <= choice.threshold


def test_a_shift_is_undone_by_the_correction_that_is_made_for_it(controller):
    clean = photographs(50, 32, 32, seed=4)
    shifted = darker(clean)
    choice = controller.choose(shifted, None)
    assert choice.plan.names[0] == "match_tone"
    assert choice.p_value == controller.gate.smallest_rate
    after = choice.plan.apply(shifted)
    assert (after - clean).abs().mean() < 0.4 * (shifted - clean).abs().mean()
    assert list(choice.readings) == sorted(choice.readings, reverse=True)
    again = controller.choose(shifted, None)
    assert again.plan == choice.plan
    assert again.readings == choice.readings


@pytest.mark.parametrize(
    "changes", [{"least_fall": 0.999}, {"least_gain": 0.99}, {"most_rise": -1.0}]
)
def test_what_does_not_pass_is_not_taken(controller, changes):
    strict = replace(controller, limits=replace(LIMITS, **changes))
    choice = strict.choose(darker(photographs(50, 32, 32, seed=4)), None)
    assert choice.plan == Plan()
    assert choice.stopped_by == "no_gain"


def test_a_margin_holds_a_correction_back(controller):
    held = replace(controller, worth={"match_tone": replace(WORTHY, margin=9.0)})
    assert held.choose(darker(photographs(50, 32, 32, seed=4)), None).stopped_by == "no_gain"


def test_the_horizon_ends_a_plan(controller):
    short = replace(controller, limits=replace(LIMITS, horizon=1))
    images = corrupt(darker(photographs(50, 32, 32, seed=4)), "gaussian_noise", 5)
    choice = short.choose(images, None)
    assert choice.stopped_by in {"horizon", "home"}
    assert len(choice.readings) == 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_images_will_do(controller, count):
    choice = controller.choose(darker(darker(photographs(count, 32, 32, seed=4))), None)
    assert np.isfinite(choice.readings).all()


def test_numbers_come_from_one_half_and_readings_from_the_other(controller):
    dark, bright = darker(photographs(30, 32, 32, seed=5)), photographs(30, 32, 32, seed=6)
    unlike = torch.stack([dark, bright], 1).flatten(0, 1)
    fitted = [controller.appearance, controller.ruler, None]
    mixed, alike = (
        try_candidates(images, ["match_tone"], *fitted)[0].bands.mean() for images in (unlike, dark)
    )
    # Halves that differ: what fits the one does not fit the other, and the reading shows it.
    assert mixed > 1.3 * alike


def test_two_corrections_may_be_one_candidate(controller):
    noisy = corrupt(darker(photographs(30, 32, 32, seed=5)), "gaussian_noise", 3)
    (tried,) = try_candidates(
        noisy, ["match_tone > dncnn"], controller.appearance, controller.ruler, None
    )
    assert [step.name for step in tried.corrections] == ["match_tone", "dncnn"]
    assert tried.corrections[0].numbers
    assert not tried.corrections[1].numbers


def test_trials_say_how_far_the_reading_falls_and_what_accuracy_gains(controller):
    images = darker(photographs(30, 32, 32, seed=5))
    (row,) = try_on(
        images,
        ["match_tone"],
        controller.appearance,
        controller.ruler,
        None,
        lambda some: some.mean(dim=(1, 2, 3)).numpy() > 0.3,
    )
    after = controller.ruler.reading(band_histograms(images).mean(0), 30)
    assert row["reading"] == pytest.approx(float(after))
    assert 0 < row["fall"] <= row["reading"]
    assert 0 < row["gain"] <= 100 * row["changed"] / row["images"]


def test_own_labels_may_speak_against_what_is_borrowed():
    worth = dict.fromkeys(
        ["harms", "harms_one", "helps", "unsure", "untried"], Worth(0.1, (0.0,), (5.0,))
    )
    cells = {
        "harms": {"median_blur": (-8, -6), "line_blur": (-8, -6)},
        "harms_one": {"median_blur": (8, 8), "line_blur": (-8, -8)},
        "helps": {"median_blur": (-2, 8), "line_blur": (8, 4)},
        "unsure": {"median_blur": (-2, -2), "line_blur": (2, -4)},
        "untried": {"median_blur": (-10, -10), "line_blur": (-10, -10)},
    }
    own = pd.DataFrame(
        [
            {"shift": shift, "candidate": name, "gain": gain}
            | {"fall": 0.05 if name == "untried" else 0.2, "changed": 10, "images": 100}
            for name, shifts in cells.items()
            for shift, gains in shifts.items()
            for gain in gains
        ]
    )
    assert list(uncontradicted(worth, own, veto=0.2)) == ["helps", "unsure", "untried"]
    # Two images say too little, though both are lost.
    few = own.assign(gain=-2, changed=2).drop_duplicates(["shift", "candidate"])
    assert list(uncontradicted(worth, few, veto=0.2)) == list(worth)
    # Costs on clean images are what the gate is for.
    assert "harms" in uncontradicted(worth, own.assign(shift="none"), veto=0.2)


def test_what_depends_on_the_network_is_not_lent():
    worth = dict.fromkeys(["a", "a > b", "b > c", "ab"], Worth(0.1, (0.0, 1.0), (0.0, 5.0)))
    assert list(lendable(worth, ["b"])) == ["a", "ab"]
    assert lendable(worth, []) == worth


def test_a_blur_along_a_line_has_severities_of_its_own():
    cells = surrogate_shifts(["median_blur"], [1, 5], [], 3)
    assert [cell for cell in cells if cell and cell[0][0] == LINE_BLUR] == [
        (("line_blur", level),) for level in (1, 2, 3)
    ]
    images = photographs(4, 32, 32)
    strengths = {LINE_BLUR: [0.1, 0.3]}
    mild, strong = (
        shift_by(images, ((LINE_BLUR, level),), strengths, "imagenet", 0) for level in (1, 2)
    )
    changes = [float((blurred - images).abs().mean()) for blurred in (mild, strong)]
    assert 0 < changes[0] < changes[1]
    assert torch.equal(mild, shift_by(images, ((LINE_BLUR, 1),), strengths, "imagenet", 0))


def test_pairs_are_of_unlike_surrogates():
    cells = surrogate_shifts(["gamma_increase", "gamma_decrease", "median_blur"], [1, 5], [3])
    assert cells[0] == ()
    assert len(cells) == 1 + 3 * 2 + 2
    assert (("gamma_increase", 3), ("median_blur", 3)) in cells


# Files.


def test_what_is_written_comes_back(controller, tmp_path):
    save_calibrated(controller, tmp_path)
    again = load_calibrated(tmp_path)
    shifted = darker(photographs(50, 32, 32, seed=4))
    before, after = controller.choose(shifted, None), again.choose(shifted, None)
    assert after == before
    assert again.worth == controller.worth
    assert again.limits == controller.limits


def test_damaged_files_are_told(controller, tmp_path):
    save_calibrated(controller, tmp_path)
    text = (tmp_path / SPEC).read_text()
    (tmp_path / SPEC).write_text(text.replace('"match_tone"', '"match_none"'))
    with pytest.raises(InputError, match="match_none"):
        load_calibrated(tmp_path)
    (tmp_path / SPEC).write_text(text[:-20])
    with pytest.raises(InputError, match=SPEC):
        load_calibrated(tmp_path)
    spec = json.loads(text) | {"image_size": [128, 128]}
    (tmp_path / SPEC).write_text(json.dumps(spec))
    with pytest.raises(InputError, match="does not fit"):
        load_calibrated(tmp_path)
    (tmp_path / SPEC).write_text(json.dumps(json.loads(text) | {"version": 1}))
    with pytest.raises(InputError, match="another version"):
        load_calibrated(tmp_path)
    for limit, value in (("horizon", 0), ("sample", 1)):
        spec = json.loads(text)
        spec["limits"][limit] = value
        (tmp_path / SPEC).write_text(json.dumps(spec))
        with pytest.raises(InputError, match=f"damaged .limits.*the {limit} must be"):
            load_calibrated(tmp_path)
    (tmp_path / SPEC).write_text(text)
    arrays = load_file(tmp_path / ARRAYS)
    save_tensors(arrays | {"clean": arrays["clean"] * torch.nan}, tmp_path / ARRAYS)
    with pytest.raises(InputError, match="damaged: clean holds NaN"):
        load_calibrated(tmp_path)
    (tmp_path / ARRAYS).unlink()
    with pytest.raises(InputError, match="damaged"):
        load_calibrated(tmp_path)


@pytest.mark.parametrize("side", [16, 48])  # with fewer bands, and with as many
def test_images_of_another_size_than_home_are_refused(controller, side):
    with pytest.raises(InputError, match=rf"images are {side}x{side} .* home is of 32x32"):
        controller.choose(photographs(10, side, side), None)


def test_a_denoiser_that_leaves_a_few_images_is_not_asked_about_the_rest(controller, monkeypatch):
    asked = []
    real = Plan.apply
    monkeypatch.setattr(Plan, "apply", lambda p, i: (asked.append(len(i)), real(p, i))[1])
    clean = photographs(60, 32, 32, seed=4)
    (_, fitted), *_ = fit_candidates(clean, ["dncnn"], controller.appearance, None)
    assert sum(asked) <= 10
    assert fitted.corrections == (Correction("dncnn"),)
    assert torch.equal(fitted.images, clean)
    noisy = corrupt(clean, "gaussian_noise", 5)
    (_, fitted), *_ = fit_candidates(noisy, ["dncnn"], controller.appearance, None)
    assert torch.equal(fitted.images, real(Plan((Correction("dncnn"),)), noisy))


def test_the_denoiser_is_not_asked_where_it_could_not_be_worth_most(controller, monkeypatch):
    asked = []
    real = Plan.apply

    def apply(plan, images):
        asked.extend(plan.names)
        return real(plan, images)

    monkeypatch.setattr(Plan, "apply", apply)
    dark = darker(photographs(50, 32, 32, seed=4))
    small = replace(WORTHY, gains=(0.0, 0.1))
    once = replace(controller, limits=replace(LIMITS, horizon=1))
    cheap = replace(once, worth={**controller.worth, "dncnn": small})
    choice = cheap.choose(dark, None)
    assert "match_tone" in choice.plan.names
    assert "dncnn" not in asked
    once.choose(dark, None)
    assert "dncnn" in asked
