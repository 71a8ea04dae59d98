import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, export_text

from superstar.control.operability import (
    auroc,
    fit_tree,
    is_operable,
    load_tree,
    percent_inoperable,
    regression_labels,
    save_tree,
    shared_reference,
)
from superstar.errors import InputError

RELEASED = Path(__file__).parents[2] / "../shared/reference/released_operability_fits.csv"


def line(name: str, accuracy, distance) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "surrogate": name,
            "severity": range(1, len(accuracy) + 1),
            "accuracy": accuracy,
            "distance": distance,
        }
    )


def surrogate_states(images: int = 200, seed: int = 0):
    """Three surrogates of each image: two apart in entropy, the third in between and mixed."""
    rng = np.random.default_rng(seed)
    base = rng.normal([1.0, 0.35, 2.0], [0.2, 0.05, 0.1], size=(images, 3))
    changes = np.array([[0, 0, 1.5], [0.4, 0, -0.5], [0.1, 0, 0.3]])
    shifted = [base + change for change in changes]
    labels = [np.ones(images), np.zeros(images), rng.integers(0, 2, images)]
    groups = np.tile(np.arange(images), 3)
    return np.concatenate(shifted), np.concatenate(labels).astype(bool), groups


@pytest.mark.skipif(not RELEASED.exists(), reason="the released figures are not at hand")
@pytest.mark.parametrize("benchmark", ["imagenet", "cifar100"])
def test_lines_are_those_the_authors_released(benchmark: str):
    released = pd.read_csv(RELEASED).query("benchmark == @benchmark")
    fits = released.rename(columns={"shift": "surrogate", "wasserstein": "distance"})
    labels = regression_labels(fits, 0.4 if benchmark == "imagenet" else 0.6)
    expected = released.drop_duplicates("shift")
    assert list(labels["surrogate"]) == list(expected["shift"])
    assert_allclose(labels["slope"], expected["slope"], rtol=2e-3)
    assert_allclose(labels["intercept"], expected["intercept"], rtol=2e-3)
    assert_allclose(labels["r_squared"], expected["r_squared"], atol=2e-3)


def test_operable_takes_a_falling_line_and_a_good_fit():
    accuracy = [0.8, 0.7, 0.6, 0.5, 0.4]
    fits = pd.concat(
        [
            line("falling", accuracy, [10, 12, 14, 16, 18]),
            line("rising", accuracy, [18, 16, 14, 12, 10]),
            line("scattered", accuracy, [14, 10, 18, 10, 14.5]),
            line("flat", accuracy, [10] * 5),
            line("same accuracy", [0.5] * 5, [10, 12, 14, 16, 18]),
        ]
    )
    labels = regression_labels(fits, 0.4).set_index("surrogate")
    assert dict(labels["operable"]) == {
        "falling": True,
        "rising": False,
        "scattered": False,
        "flat": False,
        "same accuracy": False,
    }
    assert labels.loc["falling", "slope"] == pytest.approx(-20)
    assert labels.loc["falling", "intercept"] == pytest.approx(26)
    assert labels.loc["scattered", "slope"] < 0
    assert np.isfinite(labels[["slope", "intercept", "r_squared"]].to_numpy(float)).all()


def test_r_squared_must_exceed_the_threshold():
    fits = line("s", [0.8, 0.7, 0.6, 0.5, 0.4], [10, 12, 14, 16, 18])
    assert bool(regression_labels(fits, 0.99)["operable"].item()) is True
    assert bool(regression_labels(fits, 1.0)["operable"].item()) is False


def test_bad_fits_are_refused():
    with pytest.raises(InputError, match="distance"):
        regression_labels(line("s", [0.1] * 5, [1] * 5).drop(columns="distance"), 0.4)
    with pytest.raises(InputError, match="2 severities"):
        regression_labels(line("s", [0.1, 0.2], [1, 2]), 0.4)
    with pytest.raises(InputError, match="finite"):
        regression_labels(line("s", [0.1, 0.2, np.nan], [1, 2, 3]), 0.4)
    with pytest.raises(InputError, match="threshold"):
        regression_labels(line("s", [0.1, 0.2, 0.3], [1, 2, 3]), 1.4)


def test_no_image_stands_on_both_sides_of_the_split():
    states, labels, groups = surrogate_states()
    fit = fit_tree(states, labels, groups, seed=4)
    held, kept = set(groups[fit.holdout]), set(groups[~fit.holdout])
    assert not held & kept
    assert sorted(held) == list(fit.holdout_groups)
    assert len(held) == 40
    other = fit_tree(states, labels, groups, seed=5)
    assert list(other.holdout_groups) != list(fit.holdout_groups)


def test_the_tree_is_the_shallowest_of_the_best_on_the_holdout():
    states, labels, groups = surrogate_states()
    fit = fit_tree(states, labels, groups)
    assert list(fit.sweep["depth"]) == list(range(3, 11))
    best = fit.sweep[fit.sweep["accuracy"] == fit.sweep["accuracy"].max()]
    assert fit.depth == best["depth"].min()
    assert fit.tree.max_depth == fit.depth
    assert fit.tree.criterion == "gini"
    held = fit.holdout
    accuracy = (fit.tree.predict(states[held]) == labels[held]).mean()
    assert accuracy == fit.sweep.set_index("depth").loc[fit.depth, "accuracy"]
    retrained = DecisionTreeClassifier(max_depth=fit.depth, random_state=0)
    retrained.fit(states[~held].astype(np.float32), labels[~held])
    assert_allclose(retrained.predict(states), fit.tree.predict(states))


def test_ties_go_to_the_smallest_depth_whatever_the_order():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(100, 3))
    fit = fit_tree(states, states[:, 0] > 0, np.arange(100), depths=(7, 5, 3))
    assert fit.sweep["accuracy"].nunique() == 1
    assert fit.depth == 3


def test_scores_agree_with_scikit_learn():
    states, labels, groups = surrogate_states()
    fit = fit_tree(states, labels, groups)
    held = fit.holdout
    expected = roc_auc_score(labels[held], fit.tree.predict_proba(states[held])[:, 1])
    assert auroc(fit.tree, states[held], labels[held]) == pytest.approx(expected)
    verdicts = [is_operable(fit.tree, state) for state in states[::12]]
    assert percent_inoperable(fit.tree, states[::12]) == pytest.approx(100 - 2 * sum(verdicts))
    assert 0 < sum(verdicts) < 50


@pytest.mark.parametrize("label", [True, False])
def test_one_class_gives_a_tree_that_always_says_it(label: bool, tmp_path):
    states, _, groups = surrogate_states(20)
    fit = fit_tree(states, np.full(len(states), label), groups)
    assert fit.depth == 3
    assert fit.sweep["auroc"].isna().all()
    assert auroc(fit.tree, states, np.full(len(states), label)) is None
    assert auroc(fit.tree, states, groups % 2 == 0) == 0.5
    assert percent_inoperable(fit.tree, states) == (0 if label else 100)
    save_tree(fit.tree, tmp_path / "tree.skops")
    assert is_operable(load_tree(tmp_path / "tree.skops"), states[0]) is label


def test_bad_training_data_are_refused():
    states, labels, groups = surrogate_states(10)
    for arguments, message in [
        ((states[:, :2], labels, groups), "shape"),
        ((states[:0], labels[:0], groups[:0]), "shape"),
        ((states * np.nan, labels, groups), "NaN"),
        ((states, labels[:-1], groups), "as many"),
        ((states, groups, groups), "labels"),
        ((states, labels * 0.7, groups), "labels"),
        ((states, np.where(labels, "yes", "no"), groups), "labels"),
        ((states, labels, np.zeros_like(groups)), "two images"),
    ]:
        with pytest.raises(InputError, match=message):
            fit_tree(*arguments)
    for changes, message in [
        ({"holdout": 1.0}, "held out"),
        ({"holdout": 0.999}, "leave some of the 10 images"),
        ({"depths": ()}, "depths"),
        ({"seed": -1}, "seed"),
    ]:
        with pytest.raises(InputError, match=message):
            fit_tree(states, labels, groups, **changes)
    tree = fit_tree(states, labels, groups, depths=(3, 3, 4))
    assert tree.sweep["depth"].tolist() == [3, 4]
    for wrong in (labels[:-1], labels * np.nan):
        with pytest.raises(InputError, match="labels"):
            auroc(tree.tree, states, wrong)


def test_a_tree_survives_the_disk(tmp_path):
    states, labels, groups = surrogate_states()
    tree = fit_tree(states, labels, groups).tree
    save_tree(tree, tmp_path / "tree.skops")
    loaded = load_tree(tmp_path / "tree.skops")
    assert_array_equal(loaded.predict_proba(states), tree.predict_proba(states))
    again = fit_tree(states, labels, groups).tree
    assert export_text(loaded, decimals=17) == export_text(again, decimals=17)
    for equal in (again, loaded):
        save_tree(equal, tmp_path / "again.skops")
        assert (tmp_path / "again.skops").read_bytes() == (tmp_path / "tree.skops").read_bytes()


@pytest.mark.parametrize(
    "change",
    [{"left_child": 10**6}, {"left_child": 0}, {"right_child": -1}, {"feature": 7}],
)
def test_a_tree_whose_paths_do_not_end_is_refused(tmp_path, change):
    states, labels, groups = surrogate_states(20)
    path = tmp_path / "tree.skops"
    save_tree(fit_tree(states, labels, groups).tree, path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names:
                    for field, value in change.items():
                        array[field][0] = value
                    file = io.BytesIO()
                    np.save(file, array)
                    content = file.getvalue()
            archive.writestr(name, content)
    with pytest.raises(InputError, match=r"tree\.skops is not an operability tree"):
        load_tree(path)


def test_files_that_are_no_tree_are_refused(tmp_path):
    states, labels, groups = surrogate_states(20)
    path, bad = tmp_path / "tree.skops", tmp_path / "bad.skops"
    save_tree(fit_tree(states, labels, groups).tree, path)
    content = path.read_bytes()
    with pytest.raises(InputError, match="no operability tree"):
        load_tree(bad)
    for length in (0, 10, len(content) // 2, len(content) - 1):
        bad.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"bad\.skops"):
            load_tree(bad)
    others = [
        {"a": 1},
        LogisticRegression().fit(states, labels),
        DecisionTreeClassifier(),
        DecisionTreeClassifier().fit(states[:, :2], labels),
        DecisionTreeClassifier().fit(states, labels.astype(int) + 3),
    ]
    for other in others:
        skops.io.dump(other, bad)
        with pytest.raises(InputError, match=r"bad\.skops"):
            load_tree(bad)


def test_a_share_of_the_reference_is_of_the_shifted_images_themselves():
    points, clean = torch.zeros(20, 3), torch.arange(30.0).reshape(10, 3)
    asked = []

    def own(count):
        asked.append(count)
        return clean[:count]

    reference = shared_reference(points, own, 0.2)
    assert torch.equal(reference, torch.cat([points[:16], clean[:4]]))
    assert shared_reference(points, own, 0.0) is points
    assert asked == [4]
    with pytest.raises(InputError, match=r"12 of 20 validation points .* there are 10"):
        shared_reference(points, own, 0.6)
    for share in (-0.1, 1.1):
        with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
            shared_reference(points, own, share)


def test_shared_images_are_why_the_released_noise_is_operable():
    # The authors' accuracies of uniform noise on CIFAR-100, with their distances and with those
    # between disjoint sets of 2,500 images.
    accuracies = [0.4473, 0.2358, 0.1173, 0.0486, 0.0134]
    for distances, operable in (
        ([7.537, 7.6744, 7.8378, 8.0859, 8.6991], True),
        ([7.898, 7.986, 8.112, 8.321, 8.916], False),
    ):
        table = pd.DataFrame(
            {
                "surrogate": "uniform_noise",
                "severity": range(1, 6),
                "accuracy": accuracies,
                "distance": distances,
            }
        )
        assert regression_labels(table, 0.6)["operable"].tolist() == [operable]
