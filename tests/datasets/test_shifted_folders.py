"""Benchmarks in folders: sets that are made, beside published ones."""

import shutil
from functools import partial

import numpy as np
import pytest
from PIL import Image

from superstar.datasets import ExternalFoldersDataset, FolderBenchmark, ShiftedFoldersDataset
from superstar.digests import Digests
from superstar.errors import InputError

WNIDS = ("n1", "n2", "n3")
NAMES = ("n1/a.JPEG", "n3/b.JPEG")
ABSENT = "n2/z.JPEG"


def images(level: int) -> np.ndarray:
    return np.full((len(NAMES), 24, 24, 3), level, np.uint8)


def made(level: int):
    return [(NAMES, images(level))]


@pytest.fixture
def download(tmp_path):
    """A published shift, with an image that is not among ours, and other endings."""
    for severity in range(1, 6):
        for name in (*NAMES, ABSENT):
            path = tmp_path / "ImageNet-C" / "weather" / "fog" / str(severity) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(images(200 + severity)[0]).save(path.with_suffix(".jpg"))
    return tmp_path / "ImageNet-C"


@pytest.fixture
def classes(tmp_path):
    (tmp_path / "wnids.txt").write_text("\n".join(WNIDS))
    return str(tmp_path / "wnids.txt")


@pytest.fixture
def saved(tmp_path, download):
    dataset = ShiftedFoldersDataset(filepath=str(tmp_path / "sets"))
    cells = {("none", None): partial(made, 100)}
    cells |= {("contrast", severity): partial(made, severity) for severity in range(1, 6)}
    dataset.save(FolderBenchmark(cells, download, ["fog"], WNIDS))
    return dataset


def levels(files) -> list[int]:
    return (files.batch() * 255).mean((1, 2, 3)).round().int().tolist()


def test_made_and_external_sets_stand_side_by_side(saved):
    sets = saved.load()
    assert levels(sets.load("none")) == [100, 100]
    assert levels(sets.load("contrast", 4)) == [4, 4]
    fog = sets.load("fog", 3)
    assert fog.names == ("n1/a.jpg", "n3/b.jpg")
    assert levels(fog) == [203, 203]
    # Labels are places in the list of all classes, whichever of them have images.
    assert fog.labels.tolist() == sets.load("none").labels.tolist() == [0, 2]


def test_a_published_set_without_a_test_image_is_refused(saved, download):
    next((download / "weather" / "fog" / "3").rglob("a.jpg")).unlink()
    (download / "weather" / "fog" / "3" / "n1" / "other.jpg").write_bytes(b"")
    with pytest.raises(InputError, match=r"fog/3 lacks the clean test image n1/a:"):
        saved.load().load("fog", 3)


def test_an_image_that_is_there_twice_is_refused(saved, download):
    place = download / "weather" / "fog" / "3" / "n1"
    (place / "a.png").write_bytes((place / "a.jpg").read_bytes())
    with pytest.raises(InputError, match=r"fog/3 has both n1/a\.jpg and n1/a\.png: remove one"):
        saved.load().load("fog", 3)


@pytest.mark.parametrize("name", ["03", "٣", "3 "])
def test_severities_are_folders_named_1_to_5(download, classes, name):
    (download / "weather" / "fog" / "3").rename(download / "weather" / "fog" / name)
    dataset = ExternalFoldersDataset(folder=str(download), classes=classes)
    with pytest.raises(InputError, match="lacks severity 3"):
        dataset.check()


def test_a_severity_without_classes_is_refused_before_any_work(download, classes):
    shutil.rmtree(download / "weather" / "fog" / "2")
    (download / "weather" / "fog" / "2").mkdir()
    dataset = ExternalFoldersDataset(folder=str(download), classes=classes)
    with pytest.raises(InputError, match=r"2 holds no class folders.*globals\.external_sets"):
        dataset.check()


def test_published_folders_are_checked_before_any_work(download, classes):
    none = ExternalFoldersDataset(folder=None)
    none.check()
    assert none.load() is None
    dataset = ExternalFoldersDataset(folder=str(download), classes=classes)
    dataset.check()
    known = dataset.identity(Digests())
    assert dataset.identity(Digests()) == known != none.identity(Digests())
    with pytest.raises(InputError, match=r"globals\.class_list"):
        ExternalFoldersDataset(folder=str(download)).check()
    (download / "weather" / "fog" / "5").rename(download.parent / "five")
    assert dataset.identity(Digests()) != known
    with pytest.raises(InputError, match=r"fog in .* lacks severity 5; see globals"):
        dataset.check()
