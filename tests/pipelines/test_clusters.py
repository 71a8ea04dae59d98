import numpy as np
import pandas as pd
import pytest

from projects import reporting_parameters
from superstar.images import ImageSet
from superstar.measures import FEATURES, state_features
from superstar.pipelines.reporting import clusters, nodes

COUNT = 12
SHIFTS = ["fog", "noise"]


class Sets:
    """Shifted sets: the severity brightens, the noise roughens."""

    def load(self, shift, severity):
        severity = severity or 0
        rng = np.random.default_rng(severity)
        images = np.full((COUNT, 16, 16, 3), 20 * severity, np.uint8)
        if shift == "noise":
            images = rng.integers(0, 256, images.shape).astype(np.uint8)
        return ImageSet(images, np.zeros(COUNT, np.int64))


@pytest.fixture
def surrogates():
    rng = np.random.default_rng(0)
    rows = [
        {"image": image, "surrogate": name, "severity": severity}
        for name in ("blur", "gamma")
        for severity in range(1, 6)
        for image in range(COUNT)
    ]
    table = pd.DataFrame(rows)
    for feature in FEATURES:
        table[feature] = rng.random(len(table)).astype(np.float32)
    return table


def sample(surrogates, samples=10, severities=(1, 3, 5), seed=0):
    return clusters.sample_states(surrogates, Sets(), SHIFTS, severities, samples, seed)


def test_no_image_is_taken_twice_and_severities_take_turns(surrogates):
    table = sample(surrogates)
    assert (table.groupby("shift").size() == 10).all()
    assert not table.duplicated(["shift", "image"]).any()
    fog = table.loc[table["shift"] == "fog", "severity"].value_counts()
    assert fog.to_dict() == {1: 4, 3: 3, 5: 3}
    assert set(table.loc[table["group"] == "surrogate", "shift"]) == {"blur", "gamma"}
    assert table.loc[table["shift"] == "none", "severity"].isna().all()
    assert set(table.loc[table["group"] == "benchmark", "shift"]) == {"none", *SHIFTS}


def test_all_are_taken_where_there_are_fewer(surrogates):
    assert (sample(surrogates, samples=100).groupby("shift").size() == COUNT).all()


def test_states_are_those_of_the_images_named(surrogates):
    table = sample(surrogates)
    row = table[table["shift"] == "noise"].iloc[5]
    image = Sets().load("noise", row["severity"]).batch(np.array([row["image"]]))
    expected = state_features(image)[0].numpy()
    np.testing.assert_array_equal(row[list(FEATURES)].to_numpy(float), expected)
    drawn = table[table["group"] == "surrogate"].rename(columns={"shift": "surrogate"})
    found = drawn.merge(surrogates, on=["surrogate", "severity", "image", *FEATURES])
    assert len(found) == len(drawn)


def test_the_seed_decides_the_draw(surrogates):
    assert sample(surrogates).equals(sample(surrogates))
    assert not sample(surrogates).equals(sample(surrogates, seed=1))


def test_shares_of_a_shift_sum_to_all_of_it():
    samples = pd.DataFrame(
        {
            "group": ["surrogate"] * 4 + ["benchmark"] * 2,
            "shift": ["gamma"] * 4 + ["fog"] * 2,
            "cluster": [1, 1, 2, 1, 2, 2],
        }
    )
    table = clusters.cluster_table(samples).set_index("shift")
    assert table.loc["gamma", ["cluster", "share"]].tolist() == [1, 75.0]
    assert table.loc["fog", ["cluster_1", "cluster_2"]].tolist() == [0.0, 100.0]


def test_states_are_clustered_and_drawn(surrogates):
    given = reporting_parameters(cluster_samples=10, most_clusters=4)
    evaluation = {"severities": [1, 5], "trials": 1, "batch_size": 5, "precision": "float32"}
    benchmark = {"shifts": ["fog", "gaussian_noise"], "batch_size": 1}
    samples, table, figure = nodes.cluster_samples(
        surrogates, Sets(), given, benchmark, evaluation, 0
    )
    chosen = samples["cluster"].nunique()
    assert set(samples["cluster"]) == set(range(1, chosen + 1))
    np.testing.assert_allclose(table.filter(like="cluster_").sum(axis=1), 100)
    elbow, brightness, std, bars = figure.axes
    assert "K" in elbow.get_xlabel()
    assert len(brightness.collections) == len(std.collections) == chosen
    assert len(bars.patches) == chosen * len(table)


def test_no_two_clusters_share_a_colour():
    count = 12
    samples = pd.DataFrame(
        {"entropy": range(count), "brightness": 1.0, "std": 0.1, "cluster": range(1, count + 1)}
    )
    table = pd.DataFrame({"group": ["benchmark"], "shift": ["fog"]})
    shares = {f"cluster_{cluster}": [100 / count] for cluster in samples["cluster"]}
    inertias = np.arange(count, 0, -1.0)
    figure = clusters.cluster_figure(samples, inertias, table.assign(**shares))
    _, scatter, _, bars = figure.axes
    for drawn in (scatter.collections, bars.patches):
        assert len({tuple(np.ravel(part.get_facecolor())[:3]) for part in drawn}) == count
