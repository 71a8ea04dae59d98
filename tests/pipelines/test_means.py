import numpy as np
import pandas as pd
import pytest

from superstar.control.intervals import Bootstrap
from superstar.corruptions import C_BAR_SHIFTS, COMPOSITES, SHIFT_SETS, SHIFTS, STANDARD_SHIFTS
from superstar.pipelines.reporting import means

IMAGES = 20
BOOTSTRAP = Bootstrap(200, 0.95, seed=0)


def results_of(accuracies, classifier="standard", severities=(1, 2, 3, 4, 5)):
    """Rows by trial from (shifted, recovered) of each shift; two trials that agree."""
    return pd.DataFrame(
        [
            {
                "controller": "paper",
                "shift": shift,
                "severity": severity,
                "trial": trial,
                "classifier": classifier,
                "accuracy_shifted": shifted,
                "accuracy_recovered": recovered,
            }
            for shift, (shifted, recovered) in accuracies.items()
            for severity in ([None] if shift == "none" else severities)
            for trial in (0, 1)
        ]
    ).astype({"severity": "Int64"})


def gains_of(results):
    """Rows by image: the first images gain, as many as make up the difference."""
    cells = results[results["trial"] == 0]
    share = cells["accuracy_recovered"] - cells["accuracy_shifted"]
    gain = [np.sign(s) * (np.arange(IMAGES) < round(abs(s) * IMAGES)) for s in share]
    columns = ["controller", "shift", "severity", "classifier"]
    return cells[columns].assign(gain=[one.astype(np.float32) for one in gain])


def own(results):
    return means.all_policies(results, pd.DataFrame()), means.all_policies(
        gains_of(results), pd.DataFrame()
    )


def test_sets_of_shifts_are_averaged_apart():
    accuracies = {"none": (0.9, 0.9)}
    accuracies |= dict.fromkeys(SHIFTS, (0.5, 0.5))
    accuracies |= {"saturate": (0.5, 1.0), "fog": (0.5, 0.25), "shot_noise": (0.5, 0.6)}
    accuracies |= dict.fromkeys(COMPOSITES, (0.2, 0.3))
    accuracies |= dict.fromkeys(C_BAR_SHIFTS, (0.4, 0.5)) | {"sparkles": (0.4, 0.4)}
    table = means.mean_table(*own(results_of(accuracies)), BOOTSTRAP).set_index("group")
    every = len({*SHIFTS, *COMPOSITES, *C_BAR_SHIFTS})
    assert table["shifts"].to_dict() == {"all": every} | {
        name: len(shifts) for name, shifts in SHIFT_SETS.items()
    }
    assert table.loc["imagenet_cp", ["shifted", "recovered"]].tolist() == pytest.approx([20, 30])
    assert table.loc["imagenet_c", "delta"] == pytest.approx((50 - 25 + 10) / 19)
    assert table.loc["imagenet_c_standard", "delta"] == pytest.approx((-25 + 10) / 15)
    assert table.loc["imagenet_c_bar", "delta"] == pytest.approx(9)
    assert table.loc["noises", "delta"] == pytest.approx(10 / 4)
    assert (table["delta_low"] < table["delta"]).all()
    assert (table["delta"] < table["delta_high"]).all()


def test_sets_that_were_not_evaluated_in_full_have_no_mean():
    accuracies = dict.fromkeys([*STANDARD_SHIFTS, *COMPOSITES[:-1]], (0.5, 0.5))
    table = means.mean_table(*own(results_of(accuracies)), BOOTSTRAP)
    # Speckle is missing, so the noises are too.
    assert table["group"].tolist() == ["all", "imagenet_c_standard"]
    few = means.mean_table(*own(results_of({"none": (0.9, 0.9), "fog": (0.5, 0.6)})), BOOTSTRAP)
    assert few.columns.tolist() == means.COLUMNS
    assert few[["group", "shifts"]].to_numpy().tolist() == [["all", 1]]
    assert few.loc[0, ["shifted", "recovered"]].tolist() == pytest.approx([50, 60])


def test_images_are_drawn_with_all_their_outcomes():
    # What one shift brings to an image another takes: the mean has no spread at all.
    accuracies = dict.fromkeys(STANDARD_SHIFTS, (0.5, 0.5))
    accuracies |= {"fog": (0.5, 0.75), "snow": (0.5, 0.25)}
    row = means.mean_table(*own(results_of(accuracies)), BOOTSTRAP).iloc[0]
    assert row[["delta", "delta_low", "delta_high"]].tolist() == pytest.approx([0, 0, 0])


def test_trials_that_differ_widen_the_interval():
    results = results_of(dict.fromkeys(STANDARD_SHIFTS, (0.5, 0.5)))
    odd = (results["shift"] == "fog") & (results["trial"] == 1)
    results.loc[odd, "accuracy_recovered"] = 0.8
    row = means.mean_table(*own(results), Bootstrap(4000, 0.95, seed=0)).iloc[0]
    # Five severities whose two trials lie 30 points apart, one shift of fifteen.
    error = 30 / 2 / np.sqrt(5) / 15
    assert row["delta_high"] - row["delta_low"] == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_the_mce_of_alexnet_itself_is_a_hundred():
    accuracies = {s: (1 - e, 1 - e / 2) for s, e in means.ALEXNET_ERRORS.items()}
    row = means.mce_table(*own(results_of(accuracies)), BOOTSTRAP).iloc[0]
    assert row["mce_shifted"] == pytest.approx(100)
    assert row["mce_recovered"] == pytest.approx(50)
    assert row["change"] == pytest.approx(-50)
    assert row["change_low"] < row["change"] < row["change_high"]


# Accuracies of an ordinary ResNet-50 in table 1 of the paper, whose mCE others give as 76.7. (The
# paper resizes images once more.)
RESNET50 = (
    *(31.11, 28.61, 26.57, 35.21, 25.55, 36.25, 36.27, 30.51, 35.16, 42.79),
    *(65.17, 35.56, 43.24, 45.51, 52.47),
)


def test_the_mce_of_a_resnet_is_near_the_published_one():
    accuracies = {s: (a / 100, a / 100) for s, a in zip(STANDARD_SHIFTS, RESNET50, strict=True)}
    row = means.mce_table(*own(results_of(accuracies)), BOOTSTRAP).iloc[0]
    assert row["mce_shifted"] == pytest.approx(76.7, abs=2)
    assert set(means.ALEXNET_ERRORS) == set(SHIFTS)


@pytest.mark.parametrize(
    ("shifts", "severities"), [(STANDARD_SHIFTS[1:], (1, 2, 3, 4, 5)), (SHIFTS, (1, 3, 5))]
)
def test_mce_needs_every_shift_and_severity(shifts, severities):
    results = results_of(dict.fromkeys(shifts, (0.5, 0.5)), severities=severities)
    table = means.mce_table(*own(results), BOOTSTRAP)
    assert table.empty
    assert table.columns.tolist() == means.MCE_COLUMNS


def test_every_policy_has_means_and_the_runs_own_become_metrics():
    results = results_of(dict.fromkeys(STANDARD_SHIFTS, (0.5, 0.6)))
    better = results.assign(policy="photos", accuracy_recovered=0.7)
    both = (
        means.all_policies(results, better),
        means.all_policies(gains_of(results), gains_of(better).assign(policy="photos")),
    )
    table, errors = means.mean_table(*both, BOOTSTRAP), means.mce_table(*both, BOOTSTRAP)
    assert errors["policy"].tolist() == ["own", "photos"]
    assert table.groupby("policy")["delta"].mean().to_dict() == pytest.approx(
        {"own": 10, "photos": 20}
    )
    metrics = means.mean_metrics(table, errors)
    assert metrics["mean_delta.imagenet_c_standard.standard"] == pytest.approx(10)
    assert metrics["mean_shifted.imagenet_c_standard.standard"] == pytest.approx(50)
    assert metrics["mce_recovered.standard"] < metrics["mce_shifted.standard"]
    without = means.mean_metrics(table, errors[:0])
    assert not any(name.startswith("mce") for name in without)
