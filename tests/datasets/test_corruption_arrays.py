import numpy as np
import pytest
import torch
from kedro.io import DatasetError

from superstar.datasets import (
    CorruptionArrays,
    CorruptionArraysDataset,
    ExternalArraysDataset,
)
from superstar.errors import InputError
from superstar.images import ImageSet

SHIFTS = ("brightness", "fog", "gaussian_noise")


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return ImageSet(
        rng.integers(0, 256, (6, 16, 20, 3), dtype=np.uint8), np.arange(6, dtype=np.int64) % 3
    )


@pytest.fixture
def download(tmp_path, images):
    """CIFAR-100-C as the archive unpacks it, six images instead of 10,000."""
    folder = tmp_path / "CIFAR-100-C"
    folder.mkdir()
    for shift in SHIFTS:
        np.save(folder / f"{shift}.npy", np.concatenate([images.images // s for s in range(1, 6)]))
    np.save(folder / "labels.npy", np.tile(images.labels, 5).astype(np.uint8))
    # What macOS leaves beside unpacked files.
    (folder / "._fog.npy").write_bytes(b"\0\5\x16\7")
    return folder


def levels(images):
    for severity in range(1, 6):
        yield ImageSet(images.images // np.uint8(severity), images.labels)


def whole(images, shifts=("none", "fog", "brightness")):
    return {
        shift: (lambda: [images]) if shift == "none" else (lambda: levels(images))
        for shift in shifts
    }


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_published_layout_is_written(tmp_path, images):
    dataset = CorruptionArraysDataset(filepath=str(tmp_path / "arrays"))
    dataset.save(whole(images))
    assert sorted(contents(tmp_path / "arrays")) == [
        "brightness.npy",
        "fog.npy",
        "labels.npy",
        "none.npy",
    ]
    published = np.load(tmp_path / "arrays" / "fog.npy")
    assert published.shape == (30, 16, 20, 3)
    assert published.dtype == np.uint8
    np.testing.assert_array_equal(published[6:12], images.images // 2)
    labels = np.load(tmp_path / "arrays" / "labels.npy")
    np.testing.assert_array_equal(labels, np.tile(images.labels, 5))


def test_bytes_are_those_of_numpy(tmp_path, images):
    dataset = CorruptionArraysDataset(filepath=str(tmp_path / "arrays"))
    dataset.save(whole(images))
    np.save(tmp_path / "fog.npy", np.concatenate([s.images for s in levels(images)]))
    written = (tmp_path / "arrays" / "fog.npy").read_bytes()
    assert written == (tmp_path / "fog.npy").read_bytes()


def test_a_round_trip_loses_nothing(tmp_path, images):
    dataset = CorruptionArraysDataset(filepath=str(tmp_path / "arrays"))
    dataset.save(whole(images))
    arrays = dataset.load()
    assert arrays.shifts == ("brightness", "fog", "none")
    np.testing.assert_array_equal(arrays.load("none", None).images, images.images)
    for shift in ("brightness", "fog"):
        for severity, expected in enumerate(levels(images), start=1):
            found = arrays.load(shift, severity)
            np.testing.assert_array_equal(found.images, expected.images)
            np.testing.assert_array_equal(found.labels, expected.labels)
            assert found.labels.dtype == np.int64


def test_the_download_is_taken_as_it_is(download, images):
    before = contents(download)
    dataset = ExternalArraysDataset(folder=str(download))
    assert dataset.exists()
    arrays = dataset.load()
    assert arrays.shifts == SHIFTS
    for severity in range(1, 6):
        found = arrays.load("gaussian_noise", severity)
        np.testing.assert_array_equal(found.images, images.images // severity)
        np.testing.assert_array_equal(found.labels, images.labels)
    assert contents(download) == before


def test_the_download_is_read_only(download):
    with pytest.raises(DatasetError, match="read only"):
        ExternalArraysDataset(folder=str(download)).save({})


def test_an_absent_download_is_named(tmp_path):
    dataset = ExternalArraysDataset(folder=str(tmp_path / "absent"))
    assert not dataset.exists()
    with pytest.raises(DatasetError, match="absent does not exist"):
        dataset.load()


def test_severities_and_places_may_be_any_kind_of_integer(download):
    arrays = CorruptionArrays(download)
    expected = arrays.load("fog", 3)
    for three in (np.int64(3), np.uint8(3), torch.tensor(3)):
        found = arrays.load("fog", three)
        np.testing.assert_array_equal(found.images, expected.images)
    for one in (1, np.int64(1), torch.tensor(1)):
        assert expected.batch(one).equal(expected.batch(slice(1, 2)))
        assert len(expected.take(one)) == 1


def test_labels_of_one_severity_do_too(download, images):
    np.save(download / "labels.npy", images.labels)
    found = CorruptionArrays(download).load("fog", 3)
    np.testing.assert_array_equal(found.labels, images.labels)


def test_images_are_mapped_and_nothing_is_opened_before_it_is_asked_for(download, images):
    (download / "brightness.npy").write_bytes(b"no array")
    arrays = CorruptionArrays(download)
    found = arrays.load("fog", 4)
    assert isinstance(found.images, np.memmap)
    assert not found.images.flags.writeable
    assert found.batch(slice(2, 4)).shape == (2, 3, 16, 20)
    with pytest.raises(InputError, match=r"brightness\.npy is not a whole array"):
        arrays.load("brightness", 1)


def edit(name, change):
    """Damage that rewrites an array of the download."""
    return lambda folder: np.save(folder / name, change(np.load(folder / name)))


def overwrite(old, new):
    """Damage within the header of an array, whose length stays."""
    assert len(old) == len(new)
    return lambda folder: (folder / "fog.npy").write_bytes(
        (folder / "fog.npy").read_bytes().replace(old, new, 1)
    )


def cut(name, size):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "labels.npy").unlink(), r"labels\.npy does not exist"),
        (edit("labels.npy", lambda a: a[:-1]), r"fog\.npy .*do not match the 29 labels of .*"),
        (edit("labels.npy", np.sort), r"labels\.npy differs from severity"),
        (edit("labels.npy", lambda a: a / 2), r"labels\.npy must hold integers .*float64"),
        (edit("labels.npy", lambda a: a[:, None]), r"labels\.npy must hold integers .*\(30, 1\)"),
        (cut("labels.npy", 140), r"labels\.npy is not a whole array"),
        (edit("fog.npy", lambda a: a[:-1]), r"fog\.npy holds 29 images, which are not 5"),
        (edit("fog.npy", lambda a: a[:-5]), r"fog\.npy holds 5 images a severity, which do not"),
        (edit("fog.npy", lambda a: np.tile(a, (4, 1, 1, 1))), r"fog\.npy holds 24 images a sev"),
        (edit("fog.npy", lambda a: a / np.float32(255)), r"fog\.npy must hold uint8 .*float32"),
        (edit("fog.npy", lambda a: a[..., 0]), r"fog\.npy must hold uint8 .*\(30, 16, 20\)"),
        (edit("fog.npy", lambda a: a.transpose(0, 3, 1, 2)), r"fog\.npy must hold uint8"),
        (edit("fog.npy", lambda a: a.astype(object)), r"fog\.npy is not a whole array"),
        (cut("fog.npy", 5000), r"fog\.npy is not a whole array"),
        (cut("fog.npy", 100), r"fog\.npy is not a whole array"),
        (cut("fog.npy", 6), r"fog\.npy is not a whole array"),
        (cut("fog.npy", 0), r"fog\.npy is not a whole array"),
        # numpy's reader raises SyntaxError, TokenError, UnicodeDecodeError, OverflowError (twice),
        # IndexError and TypeError for these.
        *(
            (overwrite(old, new), r"fog\.npy is not a whole array")
            for old, new in [
                (b"'|u1'", b"'|,1'"),
                (b"(30, 16", b"(30( 16"),
                (
                    b"NUMPY\x01\x00v\x00{'descr'",
                    b"NUMPY\x03\x00v\x00\x00\x00\xff\xfe\xff\xff\xff\xff",
                ),
                (b" 20, 3)", b"-20, 3)"),
                (b", 3), }" + b" " * 20, b", 3" + b"0" * 20 + b"), }"),
                (b"'|u1'", b"('',)"),
                (b"'descr'", b"[     ]"),
            ]
        ),
        (
            lambda d: np.savez(d / "fog.npy", a=1) or (d / "fog.npy.npz").rename(d / "fog.npy"),
            r"fog\.npy is not a whole array",
        ),
        (lambda d: (d / "fog.npy").unlink(), r"does not hold fog; there are: brightness, gauss"),
        (lambda d: [(d / f"{s}.npy").unlink() for s in SHIFTS], r"holds no <shift>\.npy"),
    ],
)
def test_damage_is_named_in_one_line(download, damage, message):
    damage(download)
    with pytest.raises(InputError, match=message) as error:
        CorruptionArrays(download).load("fog", 2)
    assert "\n" not in str(error.value)
    assert str(download) in str(error.value)


@pytest.mark.parametrize(
    ("shift", "severity", "message"),
    [
        ("none", None, r"does not hold none \(the benchmark itself lacks it: make it"),
        ("none", 1, "none has no severity"),
        ("fog", None, "severity of fog must be a whole number from 1 to 5, not None"),
        ("fog", 0, "must be a whole number from 1 to 5"),
        ("fog", 6, "must be a whole number from 1 to 5"),
        ("fog", True, "must be a whole number from 1 to 5"),
        ("fog", 3.0, "must be a whole number from 1 to 5"),
    ],
)
def test_what_is_not_there_is_told(download, shift, severity, message):
    with pytest.raises(InputError, match=message):
        CorruptionArrays(download).load(shift, severity)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (lambda i: [i] * 4, "fog has 4 sets, but 5"),
        (lambda i: [i] * 6, "fog has 6 sets, but 5"),
        (lambda i: [], "fog has 0 sets, but 5"),
        (lambda i: [i, i.take(slice(3))], "severity 2 of fog is uint8"),
        (lambda i: [i, ImageSet(i.images / 2, i.labels)], "severity 2 of fog is float64"),
        (lambda i: [i, ImageSet(i.images, i.labels[::-1])], "severity 2 of fog has other labels"),
    ],
)
def test_what_is_no_benchmark_is_not_written(tmp_path, images, sets, message):
    dataset = CorruptionArraysDataset(filepath=str(tmp_path / "arrays"))
    with pytest.raises(DatasetError, match=message):
        dataset.save({"fog": lambda: sets(images)})
    assert list(tmp_path.iterdir()) == []


def test_all_shifts_have_the_same_labels(tmp_path, images):
    other = ImageSet(images.images, images.labels + 1)
    dataset = CorruptionArraysDataset(filepath=str(tmp_path / "arrays"))
    with pytest.raises(DatasetError, match="must have the same labels"):
        dataset.save({"none": lambda: [images], "fog": lambda: [other] * 5})


def test_an_interrupted_save_goes_on_and_ends_with_the_same_bytes(tmp_path, images):
    straight = CorruptionArraysDataset(filepath=str(tmp_path / "straight"))
    straight.save(whole(images))
    dataset = CorruptionArraysDataset(filepath=str(tmp_path / "arrays"))
    made = []

    def noted(shift, stop=None):
        def make():
            for severity, part in enumerate(whole(images)[shift](), start=1):
                if severity == stop:
                    raise KeyboardInterrupt
                made.append((shift, severity))
                yield part

        return make

    dataset.begin("this")
    with pytest.raises(KeyboardInterrupt):
        dataset.save({"none": noted("none"), "fog": noted("fog", 3), "brightness": noted("fog")})
    assert not dataset.location.exists()
    assert made == [("none", 1), ("fog", 1), ("fog", 2)]
    made.clear()
    dataset.begin("this")
    dataset.save({shift: noted(shift) for shift in whole(images)})
    assert {shift for shift, _ in made} == {"fog", "brightness"}
    assert contents(dataset.location) == contents(straight.location)
    assert {p.name for p in tmp_path.iterdir()} == {
        *("arrays", "straight", ".arrays.stamp.json", ".straight.stamp.json")
    }
