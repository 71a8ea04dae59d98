"""Clean images in files by class."""

import os

import numpy as np
import pytest
from PIL import Image

from superstar.datasets import ImageFilesDataset, LabelledFilesDataset
from superstar.errors import InputError

WNIDS = ("n1", "n2", "n3", "n4")


def write(folder, classes, count=2):
    for wnid in classes:
        (folder / wnid).mkdir(parents=True)
        for n in range(count):
            image = np.full((20, 20, 3), 10 * WNIDS.index(wnid) + n, np.uint8)
            Image.fromarray(image).save(folder / wnid / f"{n}.png")


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "wnids.txt"
    path.write_text("\n".join(WNIDS))
    return str(path)


def test_a_subset_of_the_classes_keeps_its_labels(tmp_path, classes):
    write(tmp_path / "set", ["n4", "n2"])
    dataset = LabelledFilesDataset(folder=str(tmp_path / "set"), classes=classes)
    dataset.check()
    found = dataset.load()()
    assert found.class_names == WNIDS
    assert found.test is None
    assert found.design.labels.tolist() == [1, 1, 3, 3]
    assert (found.design.batch() * 255).mean((1, 2, 3)).round().tolist() == [10, 11, 30, 31]


@pytest.mark.parametrize("test", ["val", "test"])
def test_a_split_of_its_own_is_kept(tmp_path, test):
    write(tmp_path / "train", ["n1", "n2"])
    write(tmp_path / test, ["n2", "n3"], count=1)
    found = LabelledFilesDataset(folder=str(tmp_path)).load()()
    assert found.class_names == ("n1", "n2", "n3")
    assert found.design.labels.tolist() == [0, 0, 1, 1]
    assert found.test is not None
    assert found.test.labels.tolist() == [1, 2]


def test_what_is_missing_is_told(tmp_path, classes):
    with pytest.raises(InputError, match=r"globals\.clean_images"):
        LabelledFilesDataset(folder=None).check()
    with pytest.raises(InputError, match=r"absent does not exist: put images there"):
        LabelledFilesDataset(folder=str(tmp_path / "absent")).check()
    write(tmp_path / "half" / "train", ["n1"])
    with pytest.raises(InputError, match=r"holds train: it needs train and one of val and test"):
        LabelledFilesDataset(folder=str(tmp_path / "half")).check()
    write(tmp_path / "odd", ["n1"])
    (tmp_path / "odd" / "n1").rename(tmp_path / "odd" / "cat")
    with pytest.raises(InputError, match=r"cat is the folder of none of the 4 classes"):
        LabelledFilesDataset(folder=str(tmp_path / "odd"), classes=classes).check()


def test_a_pipe_among_the_images_is_refused_rather_than_read(tmp_path):
    write(tmp_path / "set", ["n1", "n2"])
    os.mkfifo(tmp_path / "set" / "n1" / "pipe.png")
    with pytest.raises(InputError, match=r"pipe\.png is no file: remove it"):
        LabelledFilesDataset(folder=str(tmp_path / "set")).identity()


def test_changes_of_images_and_of_the_list_are_noticed(tmp_path, classes):
    write(tmp_path / "set", ["n1", "n2"])
    dataset = LabelledFilesDataset(folder=str(tmp_path / "set"), classes=classes)
    first = dataset.identity()
    os.utime(tmp_path / "set" / "n1" / "0.png", (0, 0))
    assert dataset.identity() == first
    (tmp_path / "wnids.txt").write_text("\n".join(reversed(WNIDS)))
    second = dataset.identity()
    (tmp_path / "set" / "n1" / "0.png").unlink()
    assert len({first, second, dataset.identity()}) == 3


def test_a_list_of_files_brings_the_same_images_back(tmp_path):
    write(tmp_path / "set", ["n1", "n2"])
    files = LabelledFilesDataset(folder=str(tmp_path / "set")).load()().design
    dataset = ImageFilesDataset(filepath=str(tmp_path / "list.json"))
    dataset.save(files.take(np.array([3, 0])))
    dataset.stamp("made from")
    known = dataset.read_stamp()
    again = dataset.load()
    assert again.labels.tolist() == [1, 0]
    assert (again.batch() == files.batch(np.array([3, 0]))).all()
    # An image that changes makes another list.
    Image.new("RGB", (20, 20), "white").save(tmp_path / "set" / "n1" / "0.png")
    dataset.save(files.take(np.array([3, 0])))
    dataset.stamp("made from")
    assert dataset.read_stamp() != known
