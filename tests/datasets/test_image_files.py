"""Images in files by class."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from superstar.datasets import (
    ClassFoldersDataset,
    ImageFilesDataset,
    ImageFolders,
    LabelledFilesDataset,
    LabelledImagesDataset,
    list_images,
    read_class_list,
)
from superstar.datasets.image_files import list_classes
from superstar.digests import Digests
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
    with pytest.raises(InputError, match=r"pipe\.png is not a file: remove it"):
        LabelledFilesDataset(folder=str(tmp_path / "set")).identity(Digests())


def test_changes_of_images_and_of_the_list_are_noticed(tmp_path, classes):
    write(tmp_path / "set", ["n1", "n2"])
    dataset = LabelledFilesDataset(folder=str(tmp_path / "set"), classes=classes)
    first = dataset.identity(Digests())
    os.utime(tmp_path / "set" / "n1" / "0.png", (0, 0))
    assert dataset.identity(Digests()) == first
    (tmp_path / "wnids.txt").write_text("\n".join(reversed(WNIDS)))
    second = dataset.identity(Digests())
    (tmp_path / "set" / "n1" / "0.png").unlink()
    assert len({first, second, dataset.identity(Digests())}) == 3


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


def test_images_of_other_sizes_and_formats_are_listed_too(tmp_path, caplog):
    (tmp_path / WNIDS[3]).mkdir()
    for height, name in enumerate(("b.png", "a.jpg", "c.BMP"), start=16):
        Image.new("RGB", (24, height)).save(tmp_path / WNIDS[3] / name)
    (tmp_path / WNIDS[3] / "notes.txt").write_text("not an image")
    found = replace(list_images(tmp_path, WNIDS), resize=20, crop=16)
    assert [name.partition("/")[2] for name in found.names] == ["a.jpg", "b.png", "c.BMP"]
    assert found.batch().shape == (3, 3, 16, 16)
    assert "1 files are left out" in caplog.text
    assert str(tmp_path / WNIDS[3] / "notes.txt") in caplog.text
    with pytest.raises(InputError, match="resize and crop them to one size"):
        list_images(tmp_path, WNIDS).batch()


def test_the_identity_of_a_folder_is_that_of_its_images(tmp_path):
    write(tmp_path / "set", ["n1", "n3"])
    folder = tmp_path / "set"

    def identity():
        return ClassFoldersDataset(folder=str(folder)).identity(Digests())

    first = identity()
    (folder / "n1" / ".DS_Store").touch()
    (folder / "n1" / "notes.txt").touch()
    assert identity() == first
    shutil.copy(folder / "n3" / "0.png", folder / "n1" / "one_more.png")
    assert identity() != first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"n1\nn2\nn1\n", "names 'n1' twice"),
        (b"\xff\xfe\0n", "is not text"),
    ],
)
def test_bad_lists_of_classes_are_named(tmp_path, content, message):
    (tmp_path / "wnids.txt").write_bytes(content)
    with pytest.raises(InputError, match=rf"wnids\.txt {message}"):
        read_class_list(tmp_path / "wnids.txt")


def test_the_list_of_classes_is_read_in_order(classes, tmp_path):
    assert read_class_list(tmp_path / "wnids.txt") == WNIDS
    (tmp_path / "wnids.txt").write_bytes(b" n2\r\nn1\r\n\r\n")
    assert read_class_list(tmp_path / "wnids.txt") == ("n2", "n1")
    with pytest.raises(InputError, match=r"absent\.txt does not exist"):
        read_class_list(tmp_path / "absent.txt")


@pytest.mark.parametrize("name", [" cat", "a\nb"])
def test_class_folders_that_no_list_can_name_are_refused(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="cannot be named in a list of classes") as error:
        list_classes(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("place", ["n1/caf\udce9.png", "caf\udce9/0.png"])
@pytest.mark.parametrize(
    "door",
    [
        lambda folder: ClassFoldersDataset(folder=str(folder)).check(),
        lambda folder: LabelledFilesDataset(folder=str(folder)).check(),
        lambda folder: list_images(folder, WNIDS),
        lambda folder: LabelledImagesDataset(folder=str(folder.parent)).load()(),
        lambda folder: ImageFolders(folder.parent.parent, WNIDS).load("set", 1),
    ],
)
def test_names_that_are_not_utf_8_are_refused_readably_before_any_work(tmp_path, place, door):
    """As what `cat/caf\\xe9.png` holds, which no list, table or stamp could."""
    write(tmp_path / "set" / "train", ["n1"])
    (tmp_path / "set" / "1").symlink_to(tmp_path / "set" / "train")
    (tmp_path / "set" / "test").symlink_to(tmp_path / "set" / "train")
    path = tmp_path / "set" / "train" / place
    path.parent.mkdir(exist_ok=True)
    (tmp_path / "set" / "train" / "n1" / "0.png").rename(path)
    with pytest.raises(InputError, match=r"caf\\xe9(\.png)? is not text in UTF-8: rename") as error:
        door(tmp_path / "set" / "train")
    str(error.value).encode()


def test_one_image_is_a_batch_by_any_kind_of_integer(tmp_path):
    write(tmp_path / "set", ["n1", "n2"])
    files = list_images(tmp_path / "set", WNIDS)
    for one in (1, np.int64(1), torch.tensor(1), np.array([1])):
        assert files.batch(one).equal(files.batch(slice(1, 2)))
        assert files.take(one).names == ("n1/1.png",)
