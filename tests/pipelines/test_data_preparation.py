"""Clean sets out of a data set of one's own."""

import numpy as np
import pytest
from PIL import Image

from superstar.datasets import ImageFiles, LabelledFiles, LabelledImages, list_images
from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.pipelines.data_preparation import nodes


def source(train: int = 60, test: int = 30, classes: int = 3, size: int = 16) -> LabelledImages:
    """Each image tells its place in its two first values."""

    def images(count: int, mark: int) -> ImageSet:
        array = np.full((count, size, size, 3), mark, np.uint8)
        array[:, 0, 0, 0] = np.arange(count)
        return ImageSet(array, np.arange(count, dtype=np.int64) % classes)

    return LabelledImages(images(train, 0), images(test, 9), tuple("abc"))


WHOLE = {"resize": None, "design_classes": None, "train": None, "test": None}
PARAMETERS = WHOLE | {"size": 16, "validation": 12}


def prepare(**changes):
    return nodes.prepare_clean_sets(lambda: source(), PARAMETERS | changes, 0)


def places(images: ImageSet) -> list[int]:
    return images.images[:, 0, 0, 0].tolist()


def test_validation_images_are_held_out_of_the_training_images():
    train, validation, test, names, summary = prepare()
    assert names == ["a", "b", "c"]
    assert sorted(places(train) + places(validation)) == list(range(60))
    assert places(test) == list(range(30))
    assert (train.images[:, 1, 1] == 0).all()
    assert (test.images[:, 1, 1] == 9).all()
    assert summary["validation"].tolist() == [4, 4, 4]
    assert summary["test"].tolist() == [10, 10, 10]
    again = prepare()
    assert places(again[1]) == places(validation)


def test_halves_and_beginnings_hold_every_class_as_often():
    validation = prepare()[1]
    reference, design = nodes.split_validation(validation)
    assert not set(places(reference)) & set(places(design))
    for half in (reference, design):
        assert np.bincount(half.labels).tolist() == [2, 2, 2]
        assert np.bincount(half.labels[:3]).tolist() == [1, 1, 1]


def test_numbers_that_are_asked_for_are_met_or_refused():
    train, _, test, _, summary = prepare(train=30, test=9)
    assert len(train) == 30
    assert summary["test"].tolist() == [3, 3, 3]
    assert places(test) == sorted(places(test))
    with pytest.raises(InputError, match="12 images to hold out and 50 to train on, but there are"):
        prepare(train=50)
    with pytest.raises(InputError, match="60 images to hold out and some to train on"):
        prepare(validation=60)
    with pytest.raises(InputError, match="asks for 31 images, but there are 30"):
        prepare(test=31)
    with pytest.raises(
        InputError, match=r"train images are 16x16 pixels, but data_preparation\.size"
    ):
        prepare(size=32)


def test_images_of_the_test_set_are_told_and_not_held_out(caplog):
    images = source()
    free = nodes.prepare_clean_sets(lambda: images, PARAMETERS, 0)
    assert free[4]["train_equal_to_test"].tolist() == [0, 0, 0]
    assert "equal a test image" not in caplog.text
    images.test.images[:2] = images.train.images[places(free[0])[:2]]
    images.test.images[2] = images.train.images[places(free[1])[0]]
    with caplog.at_level("INFO"):
        train, validation, test, _, summary = nodes.prepare_clean_sets(
            lambda: images, PARAMETERS, 0
        )
    held = {image.tobytes() for image in validation.images}
    assert not held & {image.tobytes() for image in test.images}
    assert np.bincount(validation.labels[::2]).tolist() == [2, 2, 2]
    assert sorted(places(train) + places(validation)) == list(range(60))
    assert summary["train_equal_to_test"].sum() == 3
    assert "3 training images equal a test image" in caplog.text


def test_photographs_need_numbers():
    parameters = WHOLE | {"size": 64, "validation": 10, "test": 10}
    with pytest.raises(InputError, match="train and test must be numbers"):
        nodes.prepare_clean_sets(None, parameters, 0)


def files(folder, classes: int, each: int) -> ImageFiles:
    """Each image tells its label."""
    for label in range(classes):
        for n in range(each):
            path = folder / f"c{label}" / f"{n}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (20, 26), (label, n, 0)).save(path)
    return list_images(folder, [f"c{label}" for label in range(classes)])


def prepare_files(source: LabelledFiles, **changes):
    parameters = WHOLE | {"size": 16, "resize": 18, "validation": 4} | changes
    return nodes.prepare_clean_sets(lambda: source, parameters, 0)


def test_files_without_a_split_are_parted_by_class(tmp_path):
    every = files(tmp_path, 6, 3)
    source = LabelledFiles(every, None, tuple("abcdef"))
    train, validation, test, _, summary = prepare_files(source, design_classes=4, train=6)
    assert (len(train), len(validation), len(test)) == (6, 4, 6)
    design = {*train.labels, *validation.labels}
    assert len(design) <= 4
    assert not design & set(test.labels)
    assert summary["test"].sum() == 6
    for images in (train, validation):
        assert images.images.shape[1:3] == (16, 16)
        assert images.images[:, 0, 0, 0].tolist() == images.labels.tolist()
    # Test images stay in their files.
    assert isinstance(test, ImageFiles)
    assert test.batch().shape == (6, 3, 16, 16)


def test_files_with_a_split_keep_it(tmp_path):
    design, test = files(tmp_path / "train", 3, 4), files(tmp_path / "val", 3, 2)
    source = LabelledFiles(design, test, tuple("abc"))
    assert len(prepare_files(source)[0]) == 8
    assert prepare_files(source)[2].names == test.names
    with pytest.raises(InputError, match="design_classes must be null"):
        prepare_files(source, design_classes=2)
    with pytest.raises(InputError, match=r"test asks for 7 images, but there are 6"):
        prepare_files(source, test=7)
    with pytest.raises(InputError, match=r"validation \+ train asks for 14 images"):
        prepare_files(source, train=10)


def test_classes_for_testing_must_remain(tmp_path):
    source = LabelledFiles(files(tmp_path, 3, 4), None, tuple("abc"))
    with pytest.raises(InputError, match=r"say in data_preparation\.design_classes"):
        prepare_files(source)
    with pytest.raises(InputError, match="design_classes = 3 leaves none of the 3 classes"):
        prepare_files(source, design_classes=3)


def test_one_folder_gives_all_three_sets(tmp_path):
    for label, name in enumerate("abc"):
        (tmp_path / name).mkdir()
        for number in range(20):
            pixels = np.full((24, 20, 3), 80 * label + 4 * number, np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{number}.png")
    found = LabelledFiles(list_images(tmp_path, "abc"), None, tuple("abc"), opened=True)
    given = PARAMETERS | {"resize": 18, "validation": 18, "test": 12}
    train, validation, test, _, summary = nodes.prepare_clean_sets(lambda: found, given, 0)
    levels = [set(places(images)) for images in (train, validation, test)]
    assert [len(each) for each in levels] == [30, 18, 12]
    assert len(set.union(*levels)) == 60
    assert summary[["train", "validation", "test"]].to_numpy().tolist() == [[10, 6, 4]] * 3
    with_tests = LabelledFiles(found.design, found.design.take(slice(9)), tuple("abc"), True)
    train, validation, test, *_ = nodes.prepare_clean_sets(
        lambda: with_tests, given | {"test": 9}, 0
    )
    assert isinstance(test, ImageSet)
    assert not set(places(validation)) & set(places(test))
