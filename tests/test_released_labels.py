"""Operability labels as the paper's authors release them."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from superstar.control.operability import regression_labels, released_of
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


def write(path: Path, content, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("module", ["numpy.core", "numpy._core"])
def test_figures_are_read_in_our_names(protocol, module, tmp_path):
    file = write(tmp_path / "labels_cs.pkl", {"uniform_noise": figures(), "sigmoid": figures()}, 0)
    if protocol:
        file = write(tmp_path / "labels_cs.pkl", pickle.loads(file.read_bytes()), protocol)
    else:  # names are plain there: as NumPy 1 wrote them, or NumPy 2
        file.write_bytes(file.read_bytes().replace(b"numpy._core", module.encode()))
    table = read_labels(file)
    assert table["surrogate"].unique().tolist() == ["uniform_noise", "sigmoid_decrease"]
    assert table["severity"].tolist() == [1, 2, 3, 4, 5] * 2
    assert table["accuracy"].tolist() == [0.7, 0.6, 0.5, 0.4, 0.3] * 2
    assert table["distance"].tolist() == [80.0, 85.0, 90.0, 95.0, 100.0] * 2
    line = regression_labels(table, 0.4).iloc[0]
    assert_allclose([line["slope"], line["intercept"]], [-50, 115])


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
    with pytest.raises(InputError, match=r"it refers to \w+\.mkdir"):
        read_labels(write(tmp_path / "labels.pkl", content))
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no file of labels"),
        (b"<html>not found</html>", "no file of labels"),
        (pickle.dumps({"fog": figures()})[:-40], "no file of labels"),
        ({}, "holds no labels"),
        ([figures()], "holds no labels"),
        ({"fog": 3}, "'fog' is no shift with its figures"),
        ({3: figures()}, "3 is no shift"),
        ({"fog": {"wdists": np.ones(5)}}, "fog lacks 'accuracis'"),
        ({"fog": figures() | {"wdists": ["a"] * 5}}, "'wdists' of fog are no numbers"),
        ({"fog": figures() | {"wdists": np.ones((5, 1))}}, "no row of finite numbers"),
        ({"fog": figures(distances=[1, 2, np.nan, 4, 5])}, "no row of finite numbers"),
        ({"fog": figures(distances=[1, 2])}, "more accuracies than distances"),
        ({"fog": figures(accuracies=[70, 60, 50, 40, 30])}, r"not in \[0, 1\]"),
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


def test_the_file_is_one_or_none(tmp_path):
    absent = ReleasedLabelsDataset(filepath=None)
    absent.check()
    assert absent.load().empty
    assert absent.identity() == "none"
    with pytest.raises(InputError, match="cannot be read"):
        ReleasedLabelsDataset(filepath=str(tmp_path / "labels.pkl")).check()
    with pytest.raises(InputError, match=r"globals\.released_labels takes the path"):
        ReleasedLabelsDataset(filepath=["labels.pkl"])
    file = write(tmp_path / "labels.pkl", {"fog": figures()})
    known = ReleasedLabelsDataset(filepath=str(file)).identity()
    write(file, {"fog": figures(distances=[1, 2, 3, 4, 5])})
    assert ReleasedLabelsDataset(filepath=str(file)).identity() != known


def test_surrogates_that_were_not_released_are_named():
    released = pd.DataFrame(
        {"surrogate": ["b", "a"], "severity": 1, "accuracy": 0.5, "distance": 1.0}
    )
    assert released_of(released, ["a", "b"])["surrogate"].tolist() == ["a", "b"]
    with pytest.raises(InputError, match="know no c, only b, a: measure"):
        released_of(released, ["a", "c"])
