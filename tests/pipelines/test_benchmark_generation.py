"""Shifted test sets: made, or taken from others."""

import numpy as np
import pytest

from superstar.corruptions.sets import shift_set
from superstar.datasets import CorruptionArrays, ExternalArraysDataset
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.pipelines.benchmark_generation import nodes

GIVEN = {"shifts": ["fog", "gaussian_noise"], "batch_size": 4}
NAMES = ["a", "b", "c"]


@pytest.fixture
def clean():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    return ImageSet(images, np.arange(6, dtype=np.int64) % 3)


@pytest.fixture
def folder(tmp_path, clean):
    """CIFAR-100-C as the archive unpacks it, with one shift, six images instead of 10,000."""
    np.save(tmp_path / "fog.npy", np.concatenate([clean.images // s for s in range(1, 6)]))
    np.save(tmp_path / "labels.npy", np.tile(clean.labels, 5).astype(np.uint8))
    return tmp_path


def test_external_shifts_are_taken_and_the_others_made(folder, clean):
    external = CorruptionArrays(folder)
    sets = nodes.generate_benchmark(clean, external, NAMES, GIVEN, "cifar", 0)
    assert list(sets) == ["none", "fog", "gaussian_noise"]
    assert list(sets["none"]()) == [clean]
    for severity, fog in enumerate(sets["fog"](), start=1):
        np.testing.assert_array_equal(fog.images, clean.images // severity)
    for severity, noisy in enumerate(sets["gaussian_noise"](), start=1):
        own = shift_set(clean, "gaussian_noise", severity, "cifar", 0)
        np.testing.assert_array_equal(noisy.images, own.images)
    described = nodes.describe_benchmark(external, GIVEN, "cifar", 0)
    assert described["shifts"] == GIVEN["shifts"]
    assert described["external"] == ["fog"]
    assert nodes.describe_benchmark(None, GIVEN, "cifar", 0)["external"] == []


@pytest.mark.parametrize("images", [5, 6])
def test_sets_of_other_images_are_refused(folder, clean, images):
    other = ImageSet(clean.images[:images], clean.labels[::-1][:images].copy())
    with pytest.raises(InputError, match=r"fog in .* has 6 images, whose labels are not those"):
        nodes.generate_benchmark(other, CorruptionArrays(folder), NAMES, GIVEN, "cifar", 0)


def test_images_of_another_size_are_refused(folder, clean):
    other = ImageSet(clean.images[:, :16, :16], clean.labels)
    with pytest.raises(InputError, match=r"images of \(32, 32\) pixels"):
        nodes.generate_benchmark(other, CorruptionArrays(folder), NAMES, GIVEN, "cifar", 0)


def test_no_folder_means_no_external_sets(folder, tmp_path):
    none = ExternalArraysDataset(folder=None)
    none.check()
    assert none.load() is None
    dataset = ExternalArraysDataset(folder=str(folder))
    dataset.check()
    known = dataset.identity(Digests())
    assert known not in (none.identity(Digests()), "")
    (folder / "fog.npy").write_bytes((folder / "fog.npy").read_bytes()[:-1])
    assert dataset.identity(Digests()) != known
    with pytest.raises(InputError, match=r"fog.npy is not a whole array.*globals.external_sets"):
        dataset.check()
    with pytest.raises(InputError, match=r"does not exist; see globals.external_sets"):
        ExternalArraysDataset(folder=str(tmp_path / "absent")).check()
