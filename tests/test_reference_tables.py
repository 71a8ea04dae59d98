from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from superstar.control.operability import regression_labels
from superstar.corruptions import COMPOSITES, SHIFTS, SURROGATES
from superstar.errors import InputError
from superstar.reference_tables import read_accuracies, read_fits, read_inoperable, shift_name

HEADER = "shift,classifier,shifted,recovered,delta\n"
GOOD = HEADER + "none,none,80,80,0\njpeg,none,60,57.0,-2.5\nGN + B,AugMix,10,12,2\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="paper.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("glass blur", "glass_blur"),
        ("elastic", "elastic_transform"),
        ("jpeg", "jpeg_compression"),
        ("SpN + S", "speckle_noise+saturate"),
        ("sigmoid type B", "sigmoid_decrease"),
        ("Gaussian_Noise+Brightness", "gaussian_noise+brightness"),
    ],
)
def test_shifts_get_our_names(theirs, ours):
    assert shift_name(theirs) == ours
    assert ours in {*SHIFTS, *COMPOSITES, "sigmoid_decrease"}


def test_accuracies_come_in_our_names_with_deltas_of_their_own(write):
    table = read_accuracies([write(GOOD)])
    assert table["classifier"].tolist() == ["standard", "standard", "augmix"]
    assert table["shift"].tolist() == ["none", "jpeg_compression", "gaussian_noise+brightness"]
    assert table["delta"].tolist() == pytest.approx([0, -3, 2])
    assert set(table["file"]) == {"paper.csv"}


def test_several_tables_are_one(write):
    second = write(HEADER + "GN + C,none,22,22.39,0\n", "more.csv")
    table = read_accuracies([write(GOOD), second])
    assert len(table) == 4
    assert table["file"].tolist() == ["paper.csv"] * 3 + ["more.csv"]


def test_a_table_is_listed_once(write):
    with pytest.raises(InputError, match=r"paper\.csv is listed twice"):
        read_accuracies([write(GOOD), write(GOOD)])


def test_what_spreadsheets_leave_does_no_harm(write):
    content = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode() + b"\r\n,,,,\r\n"
    plain = read_accuracies([write(GOOD)])
    assert read_accuracies([write(content)]).equals(plain)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("fog,none,80%,80,0", "line 5, column shifted: '80%' is not a number from 0 to 100"),
        ("fog,none,60,nan,0", "line 5, column recovered: 'nan' is not a number"),
        ("fog,none,60,,0", "line 5, column recovered: '' is not a number"),
        ("fog,none,60", "line 5, column recovered: '' is not a number"),
        ("fog,none,inf,60,0", "line 5, column shifted: 'inf' is not"),
        ("fog,none,-0.1,60,0", "line 5, column shifted: '-0.1' is not"),
        ("fog,none,60,100.5,0", "line 5, column recovered: '100.5' is not"),
        ("\nfog,none,60,sixty,0", "line 6, column recovered: 'sixty' is not"),
        (",none,60,60,0", "line 5, column shift: '' is not a name"),
        ("fog,,60,60,0", "line 5, column classifier: '' is not a name"),
        (
            "JPEG,standard,1,2,1",
            "for classifier standard is there already.*line 3",
        ),
        (
            "gn + b,augmix,1,2,1",
            "for classifier augmix is there already, in paper.csv, line 4",
        ),
        ("fog,none,60,60,0,0,0", "cannot be read.*line 5"),
    ],
)
def test_rows_are_refused_by_file_line_and_column(write, row, message):
    with pytest.raises(InputError, match=message) as caught:
        read_accuracies([write(GOOD + row + "\n")])
    assert "paper.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read"),
        ("shift,classifier,recovered\nfog,none,1\n", "lacks the columns shifted"),
        ("a,b\n", "lacks the columns shift, classifier, shifted, recovered"),
        (HEADER, "holds no rows"),
        (GOOD.replace(",delta", ",shifted"), "several columns shifted"),
        (HEADER + "fog,none,0.5,0.761,0\nnone,none,1,1,0\n", "looks like shares: give percent"),
        (b"\xff\xfe\x00shift", "cannot be read"),
    ],
)
def test_files_are_refused_in_one_line(write, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_accuracies([write(content)])
    assert "\n" not in str(caught.value)


def test_a_file_of_shares_beside_one_of_percent_is_refused(write):
    shares = write(HEADER + "GN + C,none,0.2239,0.2239,0\n", "more.csv")
    with pytest.raises(InputError, match=r"more.csv.*percent"):
        read_accuracies([write(GOOD), shares])


def test_what_is_inoperable_is_checked_likewise(write):
    rows = "group,shift,percent_inoperable\nsurrogate,Gamma type A,0\nbenchmark,fog,{}\n"
    table = read_inoperable([write(rows.format("30.18"))])
    assert table["shift"].tolist() == ["gamma_increase", "fog"]
    np.testing.assert_array_equal(table["percent_inoperable"], [0, 30.18])
    # A tree may call nothing inoperable.
    assert len(read_inoperable([write(rows.format("0"))])) == 2
    for value, message in (
        ("30%", "line 3, column percent_inoperable: '30%'"),
        ("0.3", "looks like shares"),
        ("30\nbenchmark,FOG,31", "benchmark for shift fog is there already"),
        ("30\nimagenet,snow,31", "line 4, column group: 'imagenet' is not surrogate or benchmark"),
    ):
        with pytest.raises(InputError, match=message):
            read_inoperable([write(rows.format(value))])
    with pytest.raises(InputError, match="lacks the columns group"):
        read_inoperable([write("shift,percent_inoperable\nfog,1\n")])


FITS = "shift,severity,accuracy,wasserstein,r_squared\n" + "".join(
    f"{name},{severity},{0.8 - 0.1 * severity:.1f},{75 + 5 * severity},1\n"
    for name in ("sigmoid", "fog", *SURROGATES[:3], "Gamma decrease", SURROGATES[4])
    for severity in (5, 1, 2, 3, 4)
)
FIGURES = Path(__file__).parents[1] / "../shared/reference/released_operability_fits.csv"


def test_fits_come_in_our_names_and_order_and_give_the_line(write):
    table = read_fits([write(FITS)])
    assert table["surrogate"].unique().tolist() == list(SURROGATES)
    assert table["severity"].tolist() == [1, 2, 3, 4, 5] * 6
    assert set(table["file"]) == {"paper.csv"}
    labels = regression_labels(table, 0.4)
    np.testing.assert_allclose(labels[["slope", "intercept"]], [[-50, 115]] * 6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sigmoid,5", "sigmoid,6", "line 2, column severity: '6' is not 1 or 2"),
        ("sigmoid,5", "sigmoid,1", "sigmoid_decrease for severity 1 is there already.*line 2"),
        ("sigmoid,5", "snow,5", "paper.csv lacks sigmoid_decrease 5: give five severities"),
        ("sigmoid,5,0.3", "sigmoid,5,30", "column accuracy: '30' is not a number from 0 to 1"),
        ("5,0.3,100", "5,0.3,nan", "column wasserstein: 'nan' is not a number"),
        ("5,0.3,100", "5,0.3,-1", "column wasserstein: '-1' is not a number from 0"),
        ("accuracy,wass", "accuracy,dist", "lacks the columns wasserstein"),
    ],
)
def test_bad_fits_are_refused_in_one_line(write, old, new, message):
    with pytest.raises(InputError, match=message) as caught:
        read_fits([write(FITS.replace(old, new, 1))])
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not FIGURES.exists(), reason="the released figures are not at hand")
@pytest.mark.parametrize(("benchmark", "threshold"), [("imagenet", 0.4), ("cifar100", 0.6)])
def test_the_released_figures_give_the_released_labels(write, benchmark, threshold):
    released = pd.read_csv(FIGURES).query("benchmark == @benchmark")
    table = read_fits([write(released.to_csv(index=False))])
    labels = regression_labels(table, threshold).set_index("surrogate")
    expected = released.assign(surrogate=released["shift"].map(shift_name))
    expected = expected.drop_duplicates("surrogate").set_index("surrogate").loc[labels.index]
    np.testing.assert_allclose(labels["r_squared"], expected["r_squared"], atol=2e-3)
    operable = (expected["slope"] < 0) & (expected["r_squared"] > threshold)
    assert labels["operable"].tolist() == operable.tolist()
    assert labels.loc["uniform_noise", "operable"]
