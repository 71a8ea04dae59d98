import pandas as pd
import pytest

from superstar.pipelines.reporting import inaction

# Shift, severity, action, outcome, distance after the action (10 before), gain of `standard`.
TRIALS = [
    ("none", None, "clahe_2_1", "beta", 9.9, -0.02),
    ("fog", 1, "clahe_2_1", "beta", 10.5, 0.04),
    ("fog", 2, "dncnn", "inoperable", 11.0, -0.10),
    ("fog", 3, "clahe_2_1", "inoperable", 12.0, 0.20),
    ("fog", 4, "clahe_2_1", "inoperable", 13.0, 0.30),
    ("noise", 1, "dncnn", "kept", 5.0, 0.50),
]


@pytest.fixture
def table():
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
        for shift, severity, action, outcome, distance, gain in TRIALS
        for classifier in ("standard", "augmix")
    ]
    return inaction.inaction_table(pd.DataFrame(rows))


def test_a_shift_has_a_row_for_each_outcome_and_action_the_commoner_first(table):
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


def test_rows_tell_of_their_own_trials_alone(table):
    row = table.set_index(["shift", "outcome", "wanted"]).loc["fog", "inoperable", "clahe_2_1"]
    assert row["share"] == pytest.approx(50)
    assert row["distance_change"] == pytest.approx(25)
    assert row["delta_standard"] == pytest.approx(25)
    assert row["delta_augmix"] == pytest.approx(0)


def test_the_figure_has_a_bar_a_row_and_names_what_happened(table):
    figure = inaction.inaction_figure(table, beta=0.97)
    distance, standard, augmix = figure.axes
    for axis, column in zip(
        figure.axes, ["distance_change", "delta_standard", "delta_augmix"], strict=True
    ):
        assert [bar.get_width() for bar in axis.patches[:5]] == table[column].tolist()
    named = [label.get_text() for label in distance.get_yticklabels()]
    assert named[1] == "fog (50%): clahe_2_1"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "carried out",
        "forbidden by the tree",
        "stopped by β",
    ]
    assert "standard" in standard.get_xlabel()
    assert "augmix" in augmix.get_xlabel()
