import re

import pandas as pd
import pytest

from superstar.corruptions import SHIFT_SETS
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


def means_of(group, shifts):
    row = {"group": group, "shifts": shifts, "shifted": 40.0, "delta": 2.0}
    return [
        {**row, "controller": "paper", "classifier": name, "delta_low": 1.0, "delta_high": 3.0}
        for name in ("standard", "deepaugment_augmix")
    ]


def test_markdown_has_a_row_a_shift_and_the_means_last(table):
    means = pd.DataFrame([*means_of("all", 2), *means_of("imagenet_cp", 1)])
    rows = typesetting.to_markdown(table, means).splitlines()[2:]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    assert [row[0] for row in cells] == [
        "none",
        "gaussian noise",
        "gaussian noise + brightness",
        "**mean of all 2 shifts**",
        "**mean of composites (1)**",
    ]
    assert cells[0][2] == "0"
    assert cells[1][1:3] == ["50.0", "+7.5 [+6.0, +9.0]"]
    assert cells[3][1:3] == ["40.0", "+2.0 [+1.0, +3.0]"]


def test_a_set_that_holds_all_shifts_has_no_second_row(table):
    means = pd.DataFrame([*means_of("all", 1), *means_of("noises", 1)])
    assert typesetting.to_markdown(table, means).count("mean of") == 1


def test_controllers_stand_side_by_side(table):
    both = pd.concat(
        [table, table.assign(controller="calibrated", delta=0, delta_low=0, delta_high=0)]
    )
    means = pd.DataFrame(means_of("all", 1))
    means = pd.concat([means, means.assign(controller="calibrated")])
    head = typesetting.to_markdown(both, means).splitlines()[0]
    assert re.findall(r"standard [^|]*\w", head)[:3] == [
        "standard S",
        "standard Δ paper",
        "standard Δ calibrated",
    ]


def test_every_set_of_shifts_has_a_name():
    assert set(typesetting.SETS) == set(SHIFT_SETS)


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
