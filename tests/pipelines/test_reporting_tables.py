import numpy as np
import pandas as pd
import pytest

from superstar.control.intervals import Bootstrap, trial_errors
from superstar.pipelines.drawing import CORRECTIONS
from superstar.pipelines.reporting import figures, tables

BOOTSTRAP = Bootstrap(resamples=500, confidence=0.95, seed=0)

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
    return tables.main_table(results, gains, BOOTSTRAP)


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


def test_the_interval_covers_the_draw_of_trials_too(results, gains):
    # Of the fog's two severities one has trials that differ, by 10 points.
    error = 0.1 / np.sqrt(2) / np.sqrt(2) / 2
    errors = trial_errors(results)
    assert errors["paper", "fog", "standard"] == pytest.approx(error)
    assert errors["paper", "none", "standard"] == 0
    assert (trial_errors(results[results["trial"] == 0]) == 0).all()
    still = gains.assign(gain=[np.full(10, 0.075)] * len(gains))
    bootstrap = Bootstrap(4000, 0.95, seed=0)
    main = tables.main_table(results, still, bootstrap)
    fog = main[(main["shift"] == "fog") & (main["classifier"] == "standard")].iloc[0]
    width = fog["delta_high"] - fog["delta_low"]
    assert width == pytest.approx(100 * 2 * 1.96 * error, rel=0.05)


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
    done = CORRECTIONS["clahe_2_1"][0]
    assert table.loc[0, "sequences"] == f"{done} (2)"
    assert table.loc[1, "sequences"] in (f"{done} (1), nothing (1)", f"nothing (1), {done} (1)")
    assert set(table.loc[1, "stop_reasons"].split(", ")) == {"alpha (1)", "beta (1)"}
    assert len(tables.worst_cells(results, 1)) == 1
    gained = results.assign(accuracy_recovered=results["accuracy_shifted"])
    assert tables.worst_cells(gained, 10).empty


def test_policies_from_elsewhere_have_a_table_each(results, gains, main):
    both = [
        pd.concat([table.assign(policy=name) for name in ("imagenet", "photos")])
        for table in (results, gains)
    ]
    table = tables.transfer_table(*both, BOOTSTRAP)
    assert table["policy"].unique().tolist() == ["imagenet", "photos"]
    photos = table[table["policy"] == "photos"].reset_index(drop=True)
    own = main[[name for name in photos if name != "policy"]]
    pd.testing.assert_frame_equal(photos[own.columns], own, check_dtype=False)
    none = tables.transfer_table(pd.DataFrame(), pd.DataFrame(), BOOTSTRAP)
    assert none.empty
    assert none.columns.tolist() == table.columns.tolist()


def test_severities_become_columns(main):
    fog = main[(main["classifier"] == "augmix") & (main["shift"] == "fog")].iloc[0]
    assert fog["severity_1"] == pytest.approx(5)
    assert fog["severity_5"] == pytest.approx(10)
    assert main.loc[main["shift"] == "none", "severity_1"].isna().all()


def test_actions_are_counted_once_a_cell(results):
    table = tables.action_table(results)
    assert table.drop(columns=["controller", "share"]).to_numpy().tolist() == [
        ["none", False, "beta"],
        ["fog", True, "clahe_2_1"],
        ["fog", False, "beta"],
    ]
    assert table["share"].tolist() == pytest.approx([100, 75, 25])


def test_metrics_name_shift_and_classifier(main, results):
    metrics = tables.metrics(main, tables.action_table(results))
    assert metrics["delta.fog.standard"] == pytest.approx(7.5)
    assert metrics["mean_delta.augmix"] == pytest.approx(7.5)
    assert metrics["clean_accuracy.standard"] == pytest.approx(50)
    assert metrics["acted_percent.none"] == 0
    assert metrics["acted_percent.fog"] == pytest.approx(75)


def test_operability_is_told_of_surrogates_then_of_shifts():
    surrogates = pd.DataFrame({"surrogate": ["median_blur"], "percent_inoperable": [80.0]})
    shifts = pd.DataFrame(
        {
            "shift": ["none", "fog", "fog"],
            "severity": [None, 1, 5],
            "percent_inoperable": [10.0, 20.0, 40.0],
        }
    )
    first = pd.DataFrame(
        {"shift": ["none", "fog", "fog"], "outcome": ["beta", "inoperable", "kept"]}
    )
    table = tables.operability_table(surrogates, shifts, first, pd.DataFrame())
    assert table["group"].tolist() == ["surrogate", "benchmark", "benchmark"]
    assert table["percent_inoperable"].tolist() == [80.0, 10.0, 30.0]
    assert table["percent_abstained"].tolist()[1:] == [0.0, 50.0]
    reference = pd.DataFrame(
        {"group": ["benchmark"], "shift": ["fog"], "percent_inoperable": [7.0], "file": ["x.csv"]}
    )
    beside = tables.operability_table(surrogates, shifts, first, reference)
    assert beside.iloc[:, :4].equals(table)
    assert beside["reference_percent_inoperable"].fillna(-1).tolist() == [-1, -1, 7]


# Shift, severity, action, outcome, distance after the action (10 before), gain of `standard`.
FIRST_ACTIONS = [
    ("none", None, "clahe_2_1", "beta", 9.9, -0.02),
    ("fog", 1, "clahe_2_1", "beta", 10.5, 0.04),
    ("fog", 2, "dncnn", "inoperable", 11.0, -0.10),
    ("fog", 3, "clahe_2_1", "inoperable", 12.0, 0.20),
    ("fog", 4, "clahe_2_1", "inoperable", 13.0, 0.30),
    ("noise", 1, "dncnn", "kept", 5.0, 0.50),
]


@pytest.fixture
def first_actions():
    rows = [
        {
            "controller": "paper",
            "shift": shift,
            "severity": severity,
            "trial": 0,
            "classifier": classifier,
            "action": action,
            "outcome": outcome,
            "distance_initial": 10.0,
            "distance_first": distance,
            "accuracy_shifted": 0.4,
            "accuracy_first": 0.4 + gain * (classifier == "standard"),
        }
        for shift, severity, action, outcome, distance, gain in FIRST_ACTIONS
        for classifier in ("standard", "augmix")
    ]
    return tables.inaction_table(pd.DataFrame(rows))


def test_a_shift_has_a_row_for_each_outcome_and_action_the_commoner_first(first_actions):
    table = first_actions
    fates = [
        ("none", "beta", "clahe_2_1"),
        ("fog", "inoperable", "clahe_2_1"),
        ("fog", "inoperable", "dncnn"),
        ("fog", "beta", "clahe_2_1"),
        ("noise", "kept", "dncnn"),
    ]
    columns = ["shift", "outcome", "wanted"]
    assert list(table[columns].itertuples(index=False, name=None)) == fates
    assert table.groupby("shift")["share"].sum().tolist() == [100.0] * 3


def test_rows_tell_of_their_own_trials_alone(first_actions):
    row = first_actions.set_index(["shift", "outcome", "wanted"]).loc[
        "fog", "inoperable", "clahe_2_1"
    ]
    assert row["share"] == pytest.approx(50)
    assert row["distance_change"] == pytest.approx(25)
    assert row["delta_standard"] == pytest.approx(25)
    assert row["delta_augmix"] == pytest.approx(0)


def test_the_figure_averages_what_became_of_one_fate(first_actions):
    standard, augmix = figures.inaction_figure(first_actions).axes[:2]
    assert "standard" in standard.get_title()
    assert "augmix" in augmix.get_title()
    fates = [label.get_text() for label in standard.get_xticklabels()]
    assert fates == ["carried\nout", "tree\nforbids", "β\nstops"]
    rows = [label.get_text() for label in standard.get_yticklabels()]
    texts = [text.get_text() for text in standard.texts]
    cells = dict(zip([(row, fate) for row in rows for fate in fates], texts, strict=True))
    # 50% of the fog's cells gain 25 points, 25% lose 10.
    assert cells["fog", "tree\nforbids"] == "+13 (75%)"
    assert cells["noise", "carried\nout"] == "+50 (100%)"
    assert cells["none", "carried\nout"] == ""
