import time

import numpy as np
import pandas as pd
import pytest
from kedro.io import DatasetError

from superstar import digests
from superstar.datasets import CSVDataset, ImageSetDataset, PartitionedImageSets
from superstar.digests import Digests
from superstar.images import ImageSet


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return ImageSet(
        rng.integers(0, 256, (6, 16, 20, 3), dtype=np.uint8), np.arange(6, dtype=np.int64) % 3
    )


@pytest.fixture
def table(tmp_path):
    return CSVDataset(filepath=str(tmp_path / "deep" / "table.csv"), save_args={"index": False})


def test_an_artifact_exists_only_once_it_is_stamped(table):
    table.save(pd.DataFrame({"a": [1]}))
    assert table.location.is_file()
    assert not table.exists()
    assert table.problem() == "was not finished by a run"
    table.stamp("made from this")
    assert table.exists()
    assert table.read_stamp().made_from == "made from this"


def test_a_stamp_tells_content_apart_and_nothing_else(table, tmp_path):
    stamps = []
    for name, values in (("a", [1]), ("a", [1]), ("a", [2])):
        table.save(pd.DataFrame({name: values}))
        table.stamp("x")
        stamps.append(table.read_stamp().content)
    assert stamps[0] == stamps[1] != stamps[2]


def test_saving_again_takes_the_stamp_away(table):
    table.save(pd.DataFrame({"a": [1]}))
    table.stamp("x")
    table.save(pd.DataFrame({"a": [2]}))
    assert not table.exists()


def test_a_truncated_file_is_found_out(table):
    table.save(pd.DataFrame({"a": range(100)}))
    table.stamp("x")
    content = table.location.read_bytes()
    table.location.write_bytes(content[:50])
    assert table.problem() == f"is damaged: table.csv has 50 bytes of {len(content)}"
    assert not table.exists()


def test_a_missing_file_is_found_out_though_its_stamp_is_there(table):
    table.save(pd.DataFrame({"a": [1]}))
    table.stamp("x")
    table.location.unlink()
    assert table.problem() == "is missing"


def test_other_content_of_the_same_size_is_found_out(table):
    table.save(pd.DataFrame({"a": [1]}))
    table.stamp("x")
    table.location.write_bytes(b"?" * table.location.stat().st_size)
    assert table.problem() is None
    assert table.problem(Digests()) == ("is damaged: its content has changed since a run wrote it")


@pytest.mark.parametrize(
    "stamp",
    [
        "",
        "{",
        "{}",
        '["made_from", "content", "files"]',
        '{"made_from": "1", "content": "2", "files": 3}',
        '{"made_from": "1", "content": "2", "files": {}}',
    ],
)
def test_an_unreadable_stamp_is_no_stamp(table, stamp):
    table.save(pd.DataFrame({"a": [1]}))
    table.stamp_path.write_text(stamp)
    assert not table.exists()


def test_a_failed_save_leaves_the_earlier_version_and_nothing_beside(table):
    table.save(pd.DataFrame({"a": [1]}))
    with pytest.raises(DatasetError):
        table.save("not a table")
    assert pd.read_csv(table.location)["a"].tolist() == [1]
    assert [p.name for p in table.location.parent.iterdir()] == ["table.csv"]


def test_a_folder_replaces_the_earlier_one_whole(tmp_path, images):
    parts = PartitionedImageSets(path=str(tmp_path / "parts"))
    parts.save({"a/1": images, "a/2": images})
    parts.save({"b/1": lambda: images})
    loaded = parts.load()
    assert list(loaded) == ["b/1"]
    np.testing.assert_array_equal(loaded["b/1"]().images, images.images)


def test_a_folder_that_fails_half_way_is_not_published(tmp_path, images):
    parts = PartitionedImageSets(path=str(tmp_path / "parts"))

    def fail():
        raise RuntimeError("no more")

    with pytest.raises(DatasetError, match="no more"):
        parts.save({"a/1": images, "a/2": fail})
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_is_found_out(tmp_path, images):
    parts = PartitionedImageSets(path=str(tmp_path / "parts"))
    parts.save({"a/1": images, "a/2": images})
    parts.stamp("x")
    assert parts.exists()
    (tmp_path / "parts" / "a" / "2.safetensors").unlink()
    assert parts.problem() == "is damaged: a/2.safetensors is missing"


def test_image_sets_round_trip(tmp_path, images):
    dataset = ImageSetDataset(filepath=str(tmp_path / "set.safetensors"))
    dataset.save(images)
    loaded = dataset.load()
    np.testing.assert_array_equal(loaded.images, images.images)
    np.testing.assert_array_equal(loaded.labels, images.labels)


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\x00" * 100])
def test_what_is_no_image_set_is_named(tmp_path, content):
    path = tmp_path / "set.safetensors"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"set\.safetensors is not a whole image set"):
        ImageSetDataset(filepath=str(path)).load()


def test_what_lies_there_unchanged_is_not_read_again(table, tmp_path, monkeypatch):
    """As every run does of every input, before any work."""
    read = []
    real = digests._content
    monkeypatch.setattr(digests, "_content", lambda path: read.append(path) or real(path))
    table.save(pd.DataFrame({"a": [1]}))
    time.sleep(2 * digests.TICK / 1e9)
    table.stamp("x", Digests(tmp_path / "digests"))
    for _ in range(3):
        assert table.problem(Digests(tmp_path / "digests")) is None
    assert read == [str(table.location)]
