import numpy as np
import pandas as pd
import pytest

from superstar.pipelines.reporting import tables

SHIFTS = [("none", None), ("fog", 1), ("fog", 5)]


@pytest.fixture
def results():
    rows = []
    for shift, severity in SHIFTS:
        for trial in (0, 1):
            acted = shift == "fog" and (severity == 5 or trial == 0)
            for classifier, shifted in (("standard", 0.5), ("augmix", 0.7)):
                rows.append(
                    {
                        "controller": "paper",
                        "shift": shift,
                        "severity": severity,
                        "trial": trial,
                        "classifier": classifier,
                        "sequence": ["clahe_2_1"] if acted else [],
                        "stop_reason": "alpha" if acted else "beta",
                        "distance_initial": 10.0 + (severity or 0),
                        "accuracy_shifted": shifted,
                        "accuracy_recovered": shifted + 0.1 * acted,
                        "images": 10,
                    }
                )
    return pd.DataFrame(rows).astype({"severity": "Int64"})


@pytest.fixture
def gains():
    rows = [
        {
            "controller": "paper",
            "shift": shift,
            "severity": severity,
            "classifier": classifier,
            "gain": np.repeat([0.0, 1.0], [9, 1]) * (shift == "fog"),
        }
        for shift, severity in SHIFTS
        for classifier in ("standard", "augmix")
    ]
    return pd.DataFrame(rows).astype({"severity": "Int64"})


@pytest.fixture
def main(results, gains):
    return tables.main_table(results, gains, resamples=500, confidence=0.95, seed=0)


def test_main_table_averages_over_severities_and_trials(main):
    assert main.columns[:6].tolist() == [
        "controller",
        "shift",
        "classifier",
        "shifted",
        "recovered",
        "delta",
    ]
    fog = main[(main["shift"] == "fog") & (main["classifier"] == "standard")].iloc[0]
    assert fog["shifted"] == pytest.approx(50)
    assert fog["delta"] == pytest.approx(10 * 3 / 4)
    none = main[main["shift"] == "none"]
    assert none[["delta", "delta_low", "delta_high"]].to_numpy().tolist() == [[0, 0, 0]] * 2


def test_the_interval_of_a_mean_has_the_normal_width():
    values = np.random.default_rng(0).normal(3, 1, 2000)
    low, high = tables.bootstrap_interval(values, 4000, 0.95, seed=0)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(2000), rel=0.08)


def test_a_bootstrap_in_blocks_is_the_bootstrap(monkeypatch):
    values = np.random.default_rng(0).integers(-3, 4, 500) / 3
    whole = tables.bootstrap_interval(values, 300, 0.95, seed=0, spread=0.1)
    monkeypatch.setattr(tables, "COUNTS_AT_ONCE", 70)
    assert tables.bootstrap_interval(values, 300, 0.95, seed=0, spread=0.1) == whole
    # Rounding in single precision makes no values of its own.
    single = values.astype(np.float32)
    assert tables.bootstrap_interval(single, 300, 0.95, 0, 0.1) == pytest.approx(whole, abs=1e-5)


def test_the_interval_covers_the_draw_of_trials_too(results, gains):
    # Of the fog's two severities one has trials that differ, by 10 points.
    error = 0.1 / np.sqrt(2) / np.sqrt(2) / 2
    errors = tables.trial_errors(results)
    assert errors["paper", "fog", "standard"] == pytest.approx(error)
    assert errors["paper", "none", "standard"] == 0
    assert (tables.trial_errors(results[results["trial"] == 0]) == 0).all()
    still = gains.assign(gain=[np.full(10, 0.075)] * len(gains))
    main = tables.main_table(results, still, resamples=4000, confidence=0.95, seed=0)
    fog = main[(main["shift"] == "fog") & (main["classifier"] == "standard")].iloc[0]
    width = fog["delta_high"] - fog["delta_low"]
    assert width == pytest.approx(100 * 2 * 1.96 * error, rel=0.05)
    overall = tables.overall_table(main, results, still, 4000, 0.95, 0)
    assert overall.loc[0, "delta_high"] == pytest.approx(fog["delta_high"])


def test_distances_are_told_with_what_the_definition_makes_of_them():
    levels = [(None, 0.9, 8.0), (1, 0.8, 10.0), (2, 0.7, 11.0), (3, 0.6, 12.0)]
    rows = [
        {
            "controller": "paper",
            "shift": shift if level else "none",
            "severity": level,
            "trial": trial,
            "classifier": classifier,
            "accuracy_shifted": accuracy if classifier == "standard" else 0.5,
            "distance_initial": (distance if shift == "noise" else 20 - distance) + trial,
        }
        for shift in ("noise", "blur")
        for level, accuracy, distance in levels
        for trial in (0, 1)
        for classifier in ("standard", "augmix")
        if level or shift == "noise"
    ]
    results = pd.DataFrame(rows).astype({"severity": "Int64"})
    table = tables.distance_table(results, "standard", 0.4).set_index("shift")
    assert list(table.index) == ["none", "noise", "blur"]
    levels = [f"severity_{level}" for level in (1, 2, 3)]
    assert table.loc["noise", levels].tolist() == [10.5, 11.5, 12.5]
    assert table.loc["none", "severity_0"] == 8.5
    assert table.loc["noise", "slope"] == pytest.approx(-10)
    assert table["operable"].tolist() == [pd.NA, True, False]


def test_the_worst_cells_come_first_with_what_was_done_there(results):
    results["distance_final"] = results["distance_initial"] * 0.5
    lost = (results["shift"] == "fog") & (results["classifier"] == "standard")
    results.loc[lost, "accuracy_recovered"] = 0.5 - 0.1 * results.loc[lost, "severity"].astype(int)
    table = tables.worst_cells(results, 10)
    assert table[["shift", "severity", "classifier"]].to_numpy().tolist() == [
        ["fog", 5, "standard"],
        ["fog", 1, "standard"],
    ]
    assert table["delta"].tolist() == pytest.approx([-50, -10])
    assert table["distance_change"].tolist() == pytest.approx([-50, -50])
    assert table.loc[0, "sequences"] == "clahe_2_1 (2)"
    assert set(table.loc[1, "sequences"].split(", ")) == {"clahe_2_1 (1)", "none (1)"}
    assert set(table.loc[1, "stop_reasons"].split(", ")) == {"alpha (1)", "beta (1)"}
    assert len(tables.worst_cells(results, 1)) == 1
    gained = results.assign(accuracy_recovered=results["accuracy_shifted"])
    assert tables.worst_cells(gained, 10).empty


def test_over_all_shifts_images_are_drawn_once_for_all(results, gains):
    # A shift that undoes what the other brings for each image leaves a mean without any spread.
    # All trials are alike, so that none comes from them.
    results["accuracy_recovered"] = results["accuracy_shifted"] + 0.1 * (results["shift"] == "fog")
    more = [results, results[results["shift"] == "fog"].assign(shift="snow")]
    more[1]["accuracy_recovered"] = 2 * more[1]["accuracy_shifted"] - more[1]["accuracy_recovered"]
    results = pd.concat(more)
    undone = gains[gains["shift"] == "fog"].assign(shift="snow")
    undone["gain"] = -undone["gain"]
    both = pd.concat([gains, undone])
    main = tables.main_table(results, both, resamples=500, confidence=0.95, seed=0)
    table = tables.overall_table(main, results, both, resamples=500, confidence=0.95, seed=0)
    rows = table[table["classifier"] == "standard"].set_index("figure")
    assert list(rows.index) == ["mean", "best", "worst"]
    bounds = ["delta", "delta_low", "delta_high"]
    np.testing.assert_allclose(rows.loc["mean", bounds].astype(float), 0, atol=1e-12)
    for figure, shift in (("best", "fog"), ("worst", "snow")):
        own = main[(main["shift"] == shift) & (main["classifier"] == "standard")].iloc[0]
        assert rows.loc[figure, "shift"] == shift
        assert rows.loc[figure, bounds].tolist() == own[bounds].tolist()


def test_policies_from_elsewhere_have_a_table_each_with_the_mean(results, gains, main):
    both = [
        pd.concat([table.assign(policy=name) for name in ("imagenet", "photos")])
        for table in (results, gains)
    ]
    table = tables.transfer_table(*both, resamples=500, confidence=0.95, seed=0)
    assert table.columns.tolist()[0] == "policy"
    photos = table[table["policy"] == "photos"].reset_index(drop=True)
    pd.testing.assert_frame_equal(photos.iloc[: len(main), 1:], main, check_dtype=False)
    mean = photos[(photos["shift"] == "mean") & (photos["classifier"] == "standard")].iloc[0]
    fog = main[(main["shift"] == "fog") & (main["classifier"] == "standard")].iloc[0]
    columns = ["shifted", "recovered", "delta"]
    assert mean[columns].tolist() == pytest.approx(fog[columns].tolist())
    none = tables.transfer_table(pd.DataFrame(), pd.DataFrame(), 10, 0.9, 0)
    assert none.empty
    assert none.columns.tolist() == table.columns.tolist()


def test_severities_become_columns(results):
    table = tables.severity_table(results)
    fog = table[table["classifier"] == "augmix"].iloc[0]
    assert fog["severity_1"] == pytest.approx(5)
    assert fog["severity_5"] == pytest.approx(10)
    assert "none" not in set(table["shift"])


def test_actions_are_counted_once_a_cell(results):
    table = tables.action_table(results).set_index("shift")
    assert table.loc["none", "acted"] == 0
    assert table.loc["fog", "acted"] == pytest.approx(75)
    assert table.loc["fog", "stopped_by_alpha"] == pytest.approx(75)
    assert table.loc["fog", "commonest_sequence"] == "clahe_2_1"
    stopped = table.filter(like="stopped_by_").sum(axis=1)
    np.testing.assert_allclose(stopped, 100)


def test_metrics_name_shift_and_classifier(main, results):
    metrics = tables.metrics(main, tables.action_table(results))
    assert metrics["delta.fog.standard"] == pytest.approx(7.5)
    assert metrics["mean_delta.augmix"] == pytest.approx(7.5)
    assert metrics["clean_accuracy.standard"] == pytest.approx(50)
    assert metrics["acted_percent.none"] == 0


def test_operability_table_puts_surrogates_before_shifts():
    surrogates = pd.DataFrame({"surrogate": ["median_blur"], "percent_inoperable": [80.0]})
    shifts = pd.DataFrame(
        {"shift": ["fog", "fog"], "severity": [1, 5], "percent_inoperable": [10.0, 30.0]}
    )
    table = tables.operability_table(surrogates, shifts)
    assert table["group"].tolist() == ["surrogate", "benchmark"]
    assert table["percent_inoperable"].tolist() == [80.0, 20.0]


def test_two_columns_stand_side_by_side():
    surrogates = pd.DataFrame({"surrogate": ["median_blur"], "percent_inoperable": [80.0]})
    shifts = pd.DataFrame(
        {"shift": ["none", "fog"], "severity": [None, 1], "percent_inoperable": [10.0, 30.0]}
    )
    first = pd.DataFrame(
        {"shift": ["none", "fog", "fog"], "outcome": ["beta", "inoperable", "kept"]}
    )
    table = tables.two_columns(tables.operability_table(surrogates, shifts), first)
    assert table["surrogate"].tolist()[0] == "median_blur"
    assert table.iloc[1, :2].isna().all()
    assert table["shift"].tolist() == ["none", "fog"]
    assert table["shift_inoperable"].tolist() == [10.0, 30.0]
    assert table["shift_abstained"].tolist() == [0.0, 50.0]
