import numpy as np
import pytest
from scipy.ndimage import maximum_filter

from superstar.errors import InputError
from superstar.photos import (
    PHOTO_COUNTS,
    PHOTO_NAMES,
    SPLITS,
    load_photo,
    patch_positions,
    photo_bands,
    photo_patches,
)

SMALL = {"train": 340, "validation": 100, "test": 85}


@pytest.mark.parametrize("name", PHOTO_NAMES)
def test_every_photograph_is_in_the_installation(name):
    photo = load_photo(name)
    assert photo.dtype == np.uint8
    assert photo.ndim == 3
    assert photo.shape[2] == 3
    assert photo.std() > 5
    assert not photo.flags.writeable


def test_unknown_photograph_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'coffee'"):
        load_photo("cofee")


def test_default_sizes_dtypes_and_labels():
    sets = photo_patches()
    assert set(sets) == set(SPLITS)
    for split, patches in sets.items():
        assert patches.images.shape == (PHOTO_COUNTS[split], 64, 64, 3)
        assert patches.images.dtype == np.uint8
        assert patches.labels.dtype == np.int64
        assert set(patches.labels) == set(range(len(PHOTO_NAMES)))


@pytest.mark.parametrize("start", [0, 1000])
def test_both_halves_of_validation_are_balanced(start):
    labels = photo_patches(counts={"validation": 2000})["validation"].labels
    occurrences = np.bincount(labels[start : start + 1000], minlength=len(PHOTO_NAMES))
    assert occurrences.max() - occurrences.min() <= 1


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("gap", [0, 8])
def test_no_pixel_and_no_gap_pixel_is_shared_between_splits(size, gap):
    positions = patch_positions(size=size, counts=SMALL, seed=3, gap=gap)

    for label, name in enumerate(PHOTO_NAMES):
        covered = {}
        for split, rows in positions.items():
            covered[split] = np.zeros(load_photo(name).shape[:2], dtype=bool)
            for _, top, left in rows[rows[:, 0] == label]:
                covered[split][top : top + size, left : left + size] = True
            assert covered[split].any()
        for split, others in (("train", ("validation", "test")), ("validation", ("test",))):
            near = maximum_filter(covered[split], size=2 * gap + 1)
            for other in others:
                assert not (near & covered[other]).any(), (name, split, other)


def test_patches_are_the_pixels_at_their_positions():
    positions = patch_positions(counts=SMALL, seed=5)
    sets = photo_patches(counts=SMALL, seed=5)
    for split, rows in positions.items():
        np.testing.assert_array_equal(sets[split].labels, rows[:, 0])
        for image, (label, top, left) in zip(sets[split].images, rows, strict=True):
            photo = load_photo(PHOTO_NAMES[label])
            np.testing.assert_array_equal(image, photo[top : top + 64, left : left + 64])


def test_no_patch_occurs_twice():
    for split, rows in patch_positions().items():
        assert len(np.unique(rows, axis=0)) == PHOTO_COUNTS[split]


def test_seed_decides_and_a_smaller_set_is_the_beginning_of_a_larger_one():
    first = patch_positions(counts=SMALL, seed=1)
    again = patch_positions(counts={"test": 40}, seed=1)
    other = patch_positions(counts=SMALL, seed=2)
    np.testing.assert_array_equal(first["test"][:40], again["test"])
    for split in SMALL:
        assert (first[split] != other[split]).any()


@pytest.mark.parametrize(("height", "width"), [(512, 512), (300, 451), (1411, 300), (330, 64)])
def test_bands_lie_inside_and_hold_a_patch(height, width):
    bands = photo_bands(height, width, size=64, gap=1)
    assert [band.split for band in bands] == ["train", "validation", "train", "test", "train"]
    for band in bands:
        assert min(band.height, band.width) >= 64
        assert band.top + band.height <= height
        assert band.left + band.width <= width


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"counts": {"tset": 5}}, "did you mean 'test'"),
        ({"counts": {"test": 0}}, "at least 1"),
        ({"size": 8}, "at least 16"),
        ({"size": 128}, "no room"),
        ({"gap": -1}, "gap must be"),
        ({"counts": {"test": 10**6}}, "smaller count"),
    ],
)
def test_impossible_requests_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        photo_patches(**arguments)
