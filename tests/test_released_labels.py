"""Operability labels as the paper's authors release them."""

import codecs
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from superstar.control.operability import regression_labels
from superstar.corruptions import SURROGATES
from superstar.datasets import ReleasedLabelsDataset
from superstar.errors import InputError
from superstar.released_labels import read_labels

FIGURES = Path(__file__).parents[1] / "../shared/reference/released_operability_fits.csv"


def figures(accuracies=(0.7, 0.6, 0.5, 0.4, 0.3), distances=(80.0, 85.0, 90.0, 95.0, 100.0)):
    return {
        "accuracis": np.array(accuracies),
        "wdists": np.array(distances),
        "parameters": np.array([115.0, -50.0]),
        "rsquared": np.float64(1.0),
    }


RELEASED = dict.fromkeys(
    (
        "uniform_noise",
        "median_blur",
        "gamma_change",
        "gamma_decrease",
        "sigmoid_increase",
        "sigmoid",
    ),
    figures(),
)


def write(path: Path, content, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("module", [b"numpy.core", b"numpy._core"])
def test_figures_are_read_in_our_names(protocol, module, tmp_path):
    file = write(tmp_path / "labels_cs.pkl", RELEASED, protocol)
    if protocol < 4:  # names are plain there: as NumPy 1 wrote them, or NumPy 2
        file.write_bytes(file.read_bytes().replace(b"numpy._core", module))
    table = read_labels(file)
    assert table["surrogate"].unique().tolist() == list(SURROGATES)
    assert table["severity"].tolist() == [1, 2, 3, 4, 5] * 6
    assert table["accuracy"].tolist() == [0.7, 0.6, 0.5, 0.4, 0.3] * 6
    assert table["distance"].tolist() == [80.0, 85.0, 90.0, 95.0, 100.0] * 6
    line = regression_labels(table, 0.4).iloc[0]
    assert_allclose([line["slope"], line["intercept"]], [-50, 115])


def test_numbers_of_other_widths_and_byte_orders_are_read(tmp_path):
    rows = figures() | {"wdists": np.array([80, 85, 90, 95, 100], dtype=">i4")}
    rows["accuracis"] = np.array([0.5, 0.25, 0.5, 0.25, 0.5], dtype=np.float32)
    table = read_labels(write(tmp_path / "labels.pkl", {"fog": rows}))
    assert table["distance"].tolist() == [80, 85, 90, 95, 100]
    assert table["accuracy"].tolist() == [0.5, 0.25, 0.5, 0.25, 0.5]
    lists = {"accuracis": [0.5, 0.4, 0.3, 0.2, 0], "wdists": [1, 2, 3.5, 4, 5]}
    assert read_labels(write(tmp_path / "l.pkl", {"fog": lists}))["distance"].sum() == 15.5


@pytest.mark.skipif(not FIGURES.exists(), reason="the released figures are not at hand")
@pytest.mark.parametrize(("benchmark", "threshold"), [("imagenet", 0.4), ("cifar100", 0.6)])
def test_the_released_figures_give_the_released_labels(benchmark, threshold, tmp_path):
    released = pd.read_csv(FIGURES).query("benchmark == @benchmark and group == 'surrogate'")
    content = {
        shift: figures(part["accuracy"], part["wasserstein"])
        for shift, part in released.groupby("shift", sort=False)
    }
    labels = regression_labels(read_labels(write(tmp_path / "labels.pkl", content)), threshold)
    expected = released.drop_duplicates("shift")
    assert_allclose(labels["r_squared"], expected["r_squared"], atol=2e-3)
    operable = (expected["slope"] < 0) & (expected["r_squared"] > threshold)
    assert labels["operable"].tolist() == operable.tolist()
    assert labels.set_index("surrogate")["operable"]["uniform_noise"]


class Command:
    def __reduce__(self):
        return os.mkdir, ("made",)


class Reduced:
    """Whatever a pickle may ask to be called, with what state."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


# A type whose mark that it holds objects is taken away, so that bytes would count as addresses.
POINTERS = Reduced(np.dtype, ("O8", False, True), (3, "|", None, None, None, -1, -1, 0))
MARKED = Reduced(np.dtype, ("f8", False, True), (3, "|O", None, None, None, -1, -1, 63))

EMPTY = (np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"))


@pytest.mark.parametrize("place", ["whole", "value", "array"])
def test_nothing_is_run(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hidden = np.empty(1, dtype=object)
    hidden[0] = Command()
    content = {
        "whole": Command(),
        "value": {"fog": figures() | {"note": Command()}},
        "array": {"fog": figures() | {"wdists": hidden}},
    }[place]
    with pytest.raises(InputError, match=r"it (refers to \w+\.mkdir|holds arrays of something)"):
        read_labels(write(tmp_path / "labels.pkl", content))
    assert not Path("made").exists()


@pytest.mark.parametrize(
    "row",
    [
        Reduced(np.ndarray, ((5,), POINTERS, b"A" * 40)),
        Reduced(np.ndarray, ((60_000_000,), "f8")),
        Reduced(*EMPTY, (1, (5,), POINTERS, False, b"A" * 40)),
        Reduced(*EMPTY, (1, (5,), MARKED, False, b"A" * 40)),
        Reduced(*EMPTY, (1, (10**9,), np.dtype("f8"), False, b"A" * 40)),
        Reduced(np._core.multiarray.scalar, (POINTERS, b"A" * 8)),
        Reduced(codecs.encode, ("a" * 100_000, "punycode")),
        np.ones(5, dtype=complex),
        np.ones(5, dtype=bool),
        np.array(["1"] * 5),
        np.array([1] * 5, dtype="datetime64[s]"),
        np.zeros(5, dtype=[("a", "f8")]),
        [10**400] * 5,
    ],
    ids=range(13),
)  # fmt: skip
def test_what_is_no_row_of_numbers_is_refused_without_harm(row, tmp_path):
    with pytest.raises(InputError) as caught:
        read_labels(write(tmp_path / "labels.pkl", {"fog": figures() | {"wdists": row}}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no file of labels"),
        (b"<html>not found</html>", "no file of labels"),
        (b"\x80\x02K\x01r\xff\xff\xff\x0f.", "holds no labels"),  # C reserves 4 GB for it
        (b"." * (2**20 + 1), "it is too large"),
        (pickle.dumps({"fog": figures()})[:-40], "no file of labels"),
        ({}, "holds no labels"),
        ([figures()], "holds no labels"),
        ({"fog": 3}, "'fog' is no shift with its figures"),
        ({3: figures()}, "3 is no shift"),
        ({"a\nb" * 99: {}}, "lacks 'accuracis'"),
        ({"\ud800": {}}, "lacks 'accuracis'"),
        ({"sigmoid": figures(), "Sigmoid_decrease": figures()}, "'sigmoid_decrease' twice"),
        ({"fog": {"wdists": np.ones(5)}}, "'fog' lacks 'accuracis'"),
        ({"fog": figures() | {"wdists": ["a"] * 5}}, "'wdists' of 'fog' must be 5 numbers"),
        ({"fog": figures() | {"wdists": np.ones((5, 1))}}, "must be 5 numbers"),
        ({"fog": figures(distances=[1, 2])}, "must be 5 numbers"),
        ({"fog": figures(distances=[])}, "must be 5 numbers"),
        ({"fog": figures(distances=[1, 2, np.nan, 4, 5])}, "must lie in"),
        ({"fog": figures(distances=[1, 2, -3, 4, 5])}, "must lie in"),
        ({"fog": figures(accuracies=[70, 60, 50, 40, 30])}, r"must lie in \[0, 1\]"),
        ({"fog": figures()}, "has no labels of uniform_noise, median_blur, "),
    ],
)
def test_other_files_are_refused_in_one_line(content, message, tmp_path):
    file = tmp_path / "labels.pkl"
    file.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
    dataset = ReleasedLabelsDataset(filepath=str(file))
    with pytest.raises(InputError, match=message) as caught:
        dataset.check()
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_file_is_one_or_none(tmp_path):
    absent = ReleasedLabelsDataset(filepath=None)
    absent.check()
    assert absent.load().empty
    assert absent.identity() == "none"
    os.mkfifo(tmp_path / "pipe")
    for name in ("labels.pkl", "pipe", "."):
        with pytest.raises(InputError, match=r"cannot be read .* see globals\.released_labels"):
            ReleasedLabelsDataset(filepath=str(tmp_path / name)).check()
    with pytest.raises(InputError, match=r"globals\.released_labels takes the path"):
        ReleasedLabelsDataset(filepath=["labels.pkl"])
    file = write(tmp_path / "labels.pkl", RELEASED)
    dataset = ReleasedLabelsDataset(filepath=str(file))
    dataset.check()
    known = dataset.identity()
    write(file, RELEASED | {"fog": figures(distances=[1, 2, 3, 4, 5])})
    assert dataset.identity() != known
