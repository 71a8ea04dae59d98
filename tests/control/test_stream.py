from dataclasses import replace

import numpy as np
import pytest
import torch
from control_toys import calibrated, noisy, photographs
from test_supervisor import both, supervisor

from superstar.actions import Plan
from superstar.control import Supervisor, SupervisorStream
from superstar.control.stream import told_apart
from superstar.errors import InputError
from superstar.measures.bands import band_histograms

WINDOW = 10


def clean(count: int, seed: int = 5) -> torch.Tensor:
    return photographs(count, 24, 32, seed)


def flat(images: torch.Tensor) -> torch.Tensor:
    """Of a third of the contrast."""
    return 0.5 + (images - 0.5) / 3


@pytest.fixture(scope="module")
def ours() -> Supervisor:
    """Without the denoiser, which is slow here."""
    controller = calibrated(24, 32)
    worth = {name: w for name, w in controller.worth.items() if "dncnn" not in name}
    return supervisor(calibrated=replace(controller, worth=worth))


def run(stream: SupervisorStream, images: torch.Tensor) -> torch.Tensor:
    return torch.stack([stream.push(image) for image in images])


def test_images_at_home_pass_untouched(ours):
    alarms = []
    images = clean(2 * WINDOW + 3)
    out = run(SupervisorStream(ours, WINDOW, on_alarm=alarms.append), images)
    assert torch.equal(out, images)
    assert alarms == []


def test_a_plan_is_chosen_on_a_full_window_and_holds_from_then_on(ours):
    alarms = []
    stream = SupervisorStream(ours, WINDOW, on_alarm=alarms.append)
    images = flat(clean(2 * WINDOW))
    out = run(stream, images)
    (alarm,) = alarms
    assert (alarm.kind, alarm.images) == ("drift", WINDOW)
    assert stream.drifting
    assert stream.plan == alarm.plan != Plan()
    expected = ours.recover(images[:WINDOW], seed=WINDOW, controller="calibrated")
    assert (alarm.plan, alarm.stopped_by) == (expected.plan, expected.stopped_by)
    assert alarm.score.reading == pytest.approx(ours.score(images[:WINDOW]).reading, rel=1e-5)
    assert alarm.score.away
    assert torch.equal(out[: WINDOW - 1], images[: WINDOW - 1])
    assert torch.equal(out[WINDOW - 1 :], alarm.plan.apply(images[WINDOW - 1 :]))


def test_the_plan_ends_with_the_drift_and_changes_with_it(ours):
    alarms = []
    stream = SupervisorStream(ours, WINDOW, on_alarm=alarms.append)
    dark = clean(WINDOW, 7) * 0.3
    for images in (flat(clean(WINDOW)), flat(clean(WINDOW, 6)), dark, clean(WINDOW, 8)):
        run(stream, images)
    assert [(alarm.kind, alarm.images) for alarm in alarms] == [
        ("drift", WINDOW),
        ("change", 3 * WINDOW),
        ("end", 4 * WINDOW),
    ]
    assert alarms[1].plan != alarms[0].plan
    assert stream.plan == alarms[2].plan == Plan()
    assert not stream.drifting


def test_it_keeps_one_window_whatever_came(ours):
    stream = SupervisorStream(ours, WINDOW)

    def held() -> int:
        return sum(
            value.nbytes
            for value in vars(stream).values()
            if isinstance(value, torch.Tensor | np.ndarray)
        )

    run(stream, flat(clean(WINDOW)))
    before = held()
    run(stream, flat(clean(5 * WINDOW)))
    assert held() == before


def test_a_classifier_behind_it_sees_corrected_images(ours):
    images = flat(clean(2 * WINDOW))
    seen = []
    classify = SupervisorStream(ours, WINDOW).wrap(lambda batch: seen.append(batch) or len(batch))
    assert [classify(images[:15]), classify(images[15:])] == [15, 5]
    assert torch.equal(torch.cat(seen), run(SupervisorStream(ours, WINDOW), images))


def test_what_is_no_image_leaves_the_stream_as_it_was(ours):
    images = flat(clean(WINDOW + 1))
    one, other = SupervisorStream(ours, WINDOW), SupervisorStream(ours, WINDOW)
    expected = run(one, images)
    for place, image in enumerate(images):
        for bad in (image[None], image * 2 + 0.5, image[:, :20], image.double(), "image"):
            with pytest.raises(InputError):
                other.push(bad)
        assert torch.equal(other.push(image), expected[place])


def test_a_rate_that_the_clean_images_do_not_support_is_refused(ours):
    assert ours.calibrated.gate.images == 150
    SupervisorStream(ours, rate=1 / 151)
    with pytest.raises(InputError, match="150 clean images, drawn 300 times, do not"):
        SupervisorStream(ours, rate=0.005)
    with pytest.raises(InputError, match="must lie in"):
        SupervisorStream(ours, rate=0)


def test_a_higher_rate_alarms_at_less(ours):
    strict, lax = (SupervisorStream(ours, WINDOW, rate=rate) for rate in (0.01, 0.3))
    threshold = ours.calibrated.gate.threshold(WINDOW)
    thresholds = [each._calibrated.gate.threshold(WINDOW) for each in (strict, lax)]
    assert thresholds[0] > threshold > thresholds[1]


def test_other_arguments_are_refused():
    with pytest.raises(InputError, match="holds no controller 'calibrated'"):
        SupervisorStream(supervisor())
    with pytest.raises(InputError, match="a window must be a whole number of at least 2"):
        SupervisorStream(both(), window=1)
    with pytest.raises(InputError, match="a seed must be a whole number"):
        SupervisorStream(both(), seed=-1)


def test_a_score_is_the_reading_of_the_gate_with_its_p_value():
    ours = both()
    home, away = ours.score(clean(20)), ours.score(noisy(clean(20)))
    assert not home.away
    assert away.away
    assert home.p_value > 0.02 > away.p_value
    assert away.threshold == ours.calibrated.gate.threshold(20)
    recovery = ours.recover(noisy(clean(20)), controller="calibrated")
    assert (away.reading, away.p_value) == (recovery.distances[0], recovery.p_value)
    with pytest.raises(InputError, match="resize them"):
        ours.score(photographs(3))
    with pytest.raises(InputError, match="holds no controller"):
        supervisor().score(clean(3))


def test_sets_of_one_kind_are_told_apart_at_the_rate(ours):
    histograms = band_histograms(clean(400))
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(300):
        drawn = histograms[rng.permutation(400)[:20]]
        told += told_apart(drawn[:12], drawn[12:], ours.calibrated.ruler, 0.1, rng)
    # 30 are expected; four standard errors are 21.
    assert 9 <= told <= 51
    other = band_histograms(noisy(clean(12), 0.1))
    assert told_apart(histograms[:12], other, ours.calibrated.ruler, 0.01, rng)
