import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

from superstar.pipelines import pages


def test_names_are_readable():
    assert pages.readable("gaussian_noise+brightness") == "gaussian noise + brightness"
    assert pages.readable("fog") == "fog"


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (1.005, {}, "1.00"),
        (2, {"digits": 1, "sign": True}, "+2.0"),
        (-0.001, {"sign": True}, "0.00"),
        (float("nan"), {}, ""),
        (pd.NA, {"missing": "not defined"}, "not defined"),
        (None, {}, ""),
    ],
)
def test_numbers_have_their_digits(value, options, text):
    assert pages.number(value, **options) == text


def test_differences_stand_with_what_is_known_of_them():
    table = pd.DataFrame({"delta": [1.5, 0.0], "delta_low": [-0.5, 0.0], "delta_high": [2.0, 0.0]})
    assert pages.intervals(table, "delta") == ["+1.5 [-0.5, +2.0]", "0"]
    assert pages.with_errors([1, -2, 3, np.nan], [0.5, 0, np.nan, np.nan]) == [
        "+1.00 ± 0.50",
        "-2.00",
        "3.00",
        "",
    ]
    assert pages.ranges([1, 2], [1.25, 2]) == ["1.0 to 1.2", ""]


def test_a_table_says_what_it_holds_and_nothing_where_nothing_is():
    table = pd.DataFrame(
        {
            "the_shift": ["fog", "snow"],
            "severity": pd.array([1, None], dtype="Int64"),
            "gain": [1.234, np.nan],
            "share": np.array([12.3, 4.5], np.float32),
            "operable": pd.array([True, None], dtype="boolean"),
        }
    )
    head, sides, *rows = pages.table(table, share=0).splitlines()
    assert head.startswith("| the shift ")
    assert [cell.endswith(":") for cell in sides.split("|")[1:-1]] == [0, 1, 1, 1, 0]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    assert cells == [["fog", "1", "1.23", "12", "True"], ["snow", "", "", "4", ""]]
    assert len(pages.table(table[:0]).splitlines()) == 2


def test_a_page_that_lacks_a_value_is_refused():
    with pytest.raises(UndefinedError):
        pages.render("sensitivity.md")
