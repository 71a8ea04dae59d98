import pandas as pd
import pytest

from superstar.pipelines.reporting import typesetting

COMPOSITE = "gaussian_noise+brightness"


@pytest.fixture
def table():
    rows = [
        ("none", "standard", 80.0, 80.0, 0.0, 0.0),
        ("none", "deepaugment_augmix", 75.0, 75.0, 0.0, 0.0),
        ("gaussian_noise", "standard", 50.0, 57.5, 6.0, 9.0),
        ("gaussian_noise", "deepaugment_augmix", 60.0, 59.0, -2.0, 0.0),
        (COMPOSITE, "standard", 30.0, 31.0, 0.5, 1.5),
        (COMPOSITE, "deepaugment_augmix", 40.0, 40.0, 0.0, 0.0),
    ]
    columns = ["shift", "classifier", "shifted", "recovered", "delta_low", "delta_high"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(controller="paper", delta=table["recovered"] - table["shifted"])


def test_markdown_says_what_the_table_says(table):
    single, composite = typesetting.to_markdown(table).strip().split("\n\n")
    assert "| gaussian noise |" in single
    assert "+7.50 [+6.00, +9.00]" in single
    assert single.count(" 0.00 |") == 2
    assert "+ brightness" not in single
    assert len(composite.splitlines()) == 3
    assert "| gaussian noise + brightness |" in composite


def test_latex_marks_gains_and_parts_composites(table):
    single, composite = typesetting.to_latex(table).strip().split("\n\n")
    assert r"\textcolor{red}{7.50}" in single
    assert "50.00 & 57.50" in single
    assert r"deepaugment\_augmix" in single
    assert r"\label{tab:main}" in single
    assert "gaussian noise + brightness" in composite
    assert r"\label{tab:main-composites}" in composite
    assert single.count(r"\begin{tabular}") == composite.count(r"\begin{tabular}") == 1


def test_a_table_without_composites_stays_one(table):
    alone = table[table["shift"] != COMPOSITE]
    assert typesetting.to_latex(alone).count(r"\begin{table}") == 1
    assert "\n\n" not in typesetting.to_markdown(alone).strip()


def test_every_policy_from_elsewhere_has_tables_of_its_own(table):
    mean = table[table["shift"] == "gaussian_noise"].assign(shift="mean")
    one = pd.concat([table, mean])
    both = pd.concat([one.assign(policy=name) for name in ("photos", "the_released")])
    latex = typesetting.transfer_to_latex(both)
    assert latex.count(r"\begin{table}") == 4
    assert "with the policy of photos" in latex
    assert r"with the policy of the\_released" in latex
    assert len({line for line in latex.splitlines() if r"\label" in line}) == 4
    assert latex.count("\nmean of all shifts &") == 2
    assert typesetting.transfer_to_latex(both.iloc[:0]).startswith("% No policy")
