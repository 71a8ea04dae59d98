import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from superstar.errors import InputError
from superstar.images import ImageSet, to_uint8
from superstar.measures import points_distance
from superstar.parameters import ProjectionStudy
from superstar.pipeline_registry import register_pipelines
from superstar.pipelines.projection_study import nodes, report, summary

STUDY = {
    "source": "photos",
    "images": 60,
    "size": 16,
    "dimensions": 20,
    "sample_sizes": [10, 20],
    "trials": 2,
    "strengths": {
        "gaussian_noise": [0, 0.2, 0.5],
        "impulse_noise": [0, 0.3],
        "gaussian_blur": [0, 2],
    },
}
KINDS = ["none", *summary.PROJECTIONS]


@pytest.fixture(scope="module")
def images():
    return nodes.prepare_images(lambda: pytest.fail("MNIST is not asked for"), STUDY, 0)


@pytest.fixture(scope="module")
def distances(images):
    return nodes.measure_distances(images, STUDY, 0)


def test_images_are_gray_and_of_the_size_asked_for(images):
    assert images.images.shape == (60, 16, 16, 3)
    assert (images.images == images.images[..., :1]).all()


def test_mnist_is_drawn_from_and_reduced():
    levels = np.arange(100, dtype=np.uint8)
    plain = np.broadcast_to(levels[:, None, None, None], (100, 28, 28, 3))
    mnist = ImageSet(plain, levels.astype(np.int64))
    found = nodes.prepare_images(lambda: mnist, {**STUDY, "source": "mnist"}, 0)
    assert found.images.shape == (60, 16, 16, 3)
    assert len(np.unique(found.labels)) == 60
    assert (found.images == found.labels[:, None, None, None]).all()
    with pytest.raises(InputError, match="images = 60: MNIST has 5"):
        nodes.prepare_images(lambda: mnist.take(slice(0, 5)), {**STUDY, "source": "mnist"}, 0)


def test_one_row_a_perturbation_strength_projection_sample_and_trial(distances):
    assert distances.columns.tolist() == [
        "perturbation",
        "strength",
        "trial",
        "projection",
        "sample_size",
        "distance",
        "unprojected",
    ]
    assert len(distances) == (3 + 2 + 2) * len(KINDS) * 2 * 2
    assert not distances.duplicated(distances.columns[:5].tolist()).any()
    assert distances["projection"].unique().tolist() == KINDS
    assert (distances["distance"] > 0).all()


def test_the_seed_decides_and_trials_differ(images, distances):
    pd.testing.assert_frame_equal(nodes.measure_distances(images, STUDY, 0), distances)
    first, second = (distances[distances["trial"] == t]["distance"].to_numpy() for t in (0, 1))
    assert (first != second).all()
    other = nodes.measure_distances(images, STUDY, 1)["distance"].to_numpy()
    assert (other != distances["distance"].to_numpy()).all()


def test_all_projections_see_the_same_draws(images, distances):
    # As many dimensions as pixels: orthonormal maps then keep every distance.
    whole = {**STUDY, "dimensions": 256}
    kept = nodes.measure_distances(images, whole, 0)
    kept = kept[kept["projection"].isin(summary.ORTHONORMAL)]
    np.testing.assert_allclose(kept["distance"], kept["unprojected"], rtol=1e-5)
    full = distances["projection"] == "none"
    assert distances.loc[full, "distance"].equals(distances.loc[full, "unprojected"])


def test_orthonormal_projections_never_lengthen_a_distance(distances):
    shrunk = distances[distances["projection"].isin(summary.ORTHONORMAL)]
    assert (shrunk["distance"] < shrunk["unprojected"]).all()


def test_strength_0_is_clean_against_clean(distances):
    floor = distances[distances["strength"] == 0]
    keys = ["projection", "sample_size", "trial"]
    assert (floor.groupby(keys)["distance"].nunique() == 1).all()
    assert len(floor.groupby(keys)) == len(floor) / 3


def test_samples_are_disjoint_and_whole(monkeypatch):
    """Each trial compares one half of the images with the other when it needs all of them."""
    levels = np.repeat(np.arange(40, dtype=np.uint8), 256 * 3).reshape(40, 16, 16, 3)
    pool = ImageSet(levels, np.zeros(40, np.int64))
    seen = []

    def record(a, b):
        if a.shape == (20, 256):
            seen.append((255 * a[:, 0], 255 * b[:, 0]))
        return points_distance(a, b)

    monkeypatch.setattr(nodes, "points_distance", record)
    nodes.measure_distances(pool, {**STUDY, "images": 40}, 0)
    clean, others = seen[0]
    assert sorted(torch.cat([clean, others]).round().int().tolist()) == list(range(40))
    assert len({tuple(c.tolist()) for c, _ in seen}) == STUDY["trials"]


@pytest.mark.parametrize("name", ["gaussian_noise", "impulse_noise", "gaussian_blur"])
def test_perturbations_grow_with_their_strength(name):
    gray = torch.rand(5, 1, 24, 24, generator=torch.Generator().manual_seed(0))
    before = gray.clone()
    changes = []
    for strength in (0.0, 0.1, 0.3, 0.9):
        perturbed = nodes.perturb(gray, name, strength, seed=3)
        assert perturbed.shape == gray.shape
        assert perturbed.min() >= 0
        assert perturbed.max() <= 1
        changes.append(float((perturbed - gray).abs().mean()))
    assert torch.equal(gray, before)
    assert changes[0] == 0
    assert changes == sorted(changes)
    assert changes[-1] > 0.05


def table_of(values, projection="haar", unprojected=None):
    """A long table from {sample size: {trial: [distance at strength 0, 1, 2, ...]}}."""
    rows = [
        {
            "perturbation": "gaussian_noise",
            "strength": float(strength),
            "trial": trial,
            "projection": projection,
            "sample_size": size,
            "distance": float(distance),
            "unprojected": float(distance if unprojected is None else unprojected[strength]),
        }
        for size, trials in values.items()
        for trial, curve in trials.items()
        for strength, distance in enumerate(curve)
    ]
    return pd.DataFrame(rows)


def summary_of(values, **options):
    (row,) = summary.summarise(table_of(values, **options)).to_dict("records")
    return row


def test_a_summary_by_hand():
    row = summary_of({100: {0: [1, 2, 4], 1: [3, 2, 4]}}, unprojected=[2, 4, 8])
    assert row["spearman_by_trial"] == pytest.approx((1 + 0.5) / 2)
    # Ranks of strengths 1.5 3.5 5.5, of distances 1 2.5 5.5 and 4 2.5 5.5.
    expected = np.corrcoef([1.5, 3.5, 5.5, 1.5, 3.5, 5.5], [1, 2.5, 5.5, 4, 2.5, 5.5])[0, 1]
    assert row["spearman"] == pytest.approx(expected)
    assert row["agreement"] == pytest.approx((1 + 0.5) / 2)
    assert row["loss"] == pytest.approx(1 - np.mean([0.5, 0.5, 0.5, 1.5, 0.5, 0.5]))
    assert row["rise"] == pytest.approx((3 + 1 / 3) / 2)
    assert row["variation"] == pytest.approx(np.mean([2**0.5 / 2, 0, 0]))
    assert row["ratio_variation"] == pytest.approx(np.mean([0.5**0.5, 0, 0]))


@pytest.mark.parametrize(
    ("small", "middle", "large", "expected"),
    [
        ([1, 2], [1, 2], [1, 2], 10),
        ([2, 1], [1, 2], [1, 2], 20),
        ([1, 2], [2, 1], [1, 2], 30),
        ([1, 2], [1, 2], [2, 1], None),
        ([1, 2], [1, 2], [1, 1], None),
    ],
)
def test_the_sample_from_which_on_the_order_is_right(small, middle, large, expected):
    good = [3, 4]
    row = summary_of({10: {0: good, 1: small}, 20: {0: good, 1: middle}, 30: {0: good, 1: large}})
    assert row["sample_size"] == 30
    assert (None if pd.isna(row["right_from"]) else row["right_from"]) == expected


def test_what_does_not_vary_is_not_defined():
    table = summary.summarise(table_of({100: {0: [0, 0, 0], 1: [0, 0, 0]}}))
    numbers = summary.metrics(table)
    assert numbers["projection_study.spearman.gaussian_noise.haar"] is None
    assert numbers["projection_study.loss.gaussian_noise.haar"] is None
    assert numbers["projection_study.right_from.gaussian_noise.haar"] is None


def test_the_ceiling_is_what_perfect_order_reaches(distances):
    perfect = distances.assign(distance=distances["strength"] + 0.01 * distances["trial"])
    reached = summary.summarise(perfect)["spearman"].max()
    assert summary.ceiling(distances) == pytest.approx(reached)
    assert reached < 1


def test_the_report_says_what_the_table_says(distances):
    table, numbers = nodes.summarise(distances)
    assert len(table) == 3 * len(KINDS)
    assert numbers["projection_study.spearman.impulse_noise.dct"] == pytest.approx(
        table.set_index(["perturbation", "projection"]).loc[("impulse_noise", "dct"), "spearman"]
    )
    page = nodes.write_report(table, distances, STUDY)
    for row in table.itertuples():
        assert f"{row.loss:.2f}" in page
    assert "<summary>gaussian blur</summary>" in page
    assert f"{summary.ceiling(distances):.2f} at most" in page


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        ([1, 2, 3], "it rises with the strength"),
        ([3, 2, 1], "no guide to this perturbation"),
        ([2, 3, 2.5], "it does not follow the strength"),
    ],
)
def test_the_report_says_where_the_distance_is_no_guide(curve, words):
    tables = [table_of({10: {0: curve, 1: curve}}, kind) for kind in KINDS]
    long = pd.concat(tables)
    page = report.compose(summary.summarise(long), long, ProjectionStudy.model_validate(STUDY))
    assert words in page


def test_the_figure_begins_at_one_for_every_projection(distances):
    figure = nodes.draw_distances(distances)
    smallest, largest = distances["sample_size"].agg(["min", "max"])
    shown = [axis.get_ylabel() for axis in figure.axes if axis.get_ylabel()]
    assert shown == [f"{size} images" for size in sorted({smallest, largest})]
    for axis in figure.axes:
        curves = [line.get_ydata() for line in axis.lines if len(line.get_xdata()) > 2]
        assert [curve[0] for curve in curves] == [1.0] * len(curves)


def test_a_plain_run_has_none_of_it():
    pipelines = register_pipelines()
    named = {node.name for node in pipelines["projection_study"].nodes}
    assert named
    assert not named & {node.name for node in pipelines["__default__"].nodes}


def test_runs_by_itself_and_again_when_a_parameter_changes(project_copy):
    shutil.rmtree(project_copy.root / "data")
    named = ("--pipelines", "projection_study")
    outcome = project_copy.run(*named)
    assert outcome.returncode == 0, outcome.stderr
    outcome = project_copy.run(
        *named, "--only-missing-outputs", "--params", "projection_study.trials=3"
    )
    assert outcome.returncode == 0, outcome.stderr
    assert "measure_projections done" in outcome.stderr
    # What the second run's parameters do not give was made again.
    distances = project_copy.data("07_model_output/projection_distances.parquet")
    assert pd.read_parquet(distances)["trial"].max() == 2
    reporting = project_copy.data("08_reporting/")
    assert (reporting / "figures/projection_study.png").read_bytes()[:4] == b"\x89PNG"
    assert "; 3 trials" in (reporting / "projection_study.md").read_text()
    numbers = json.loads((reporting / "metrics/projection_study.json").read_text())
    assert numbers["projection_study.loss.gaussian_noise.none"] == 0


def test_pixels_are_what_the_images_show():
    gray = torch.rand(3, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    quantised = torch.from_numpy(to_uint8(gray.expand(-1, 3, -1, -1))[..., 0]).float() / 255
    points = nodes.projections(256, 256, 0)
    full = points["none"](quantised[:, None])
    assert torch.equal(full, quantised.flatten(1))
    assert points_distance(full[:1], full[1:]) == pytest.approx(
        points_distance(*(points["dct"](part[:, None]) for part in (quantised[:1], quantised[1:]))),
        rel=1e-5,
    )
