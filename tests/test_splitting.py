import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superstar.errors import InputError
from superstar.images import ImageSet
from superstar.splitting import draw_by_class, hold_out


def sixty() -> ImageSet:
    """Images of three classes, each of which tells its place in its first value."""
    array = np.zeros((60, 16, 16, 3), np.uint8)
    array[:, 0, 0, 0] = np.arange(60)
    return ImageSet(array, np.arange(60, dtype=np.int64) % 3)


def test_images_that_occur_twice_are_not_held_out():
    images = sixty()
    images.images[1::2] = images.images[::2]
    with pytest.raises(InputError, match="only 0 of the 60 training images occur once"):
        hold_out(images, 12, None, 0)
    images = sixty()
    images.images[:20] = images.images[0]
    out, kept = hold_out(images, 12, None, 0)
    assert out.min() >= 20
    assert sorted([*out, *kept]) == list(range(60))


def test_what_equals_test_images_but_is_not_drawn_changes_no_draw():
    images = sixty()
    out, kept = hold_out(images, 12, None, 0)
    equal = np.isin(np.arange(60), kept[:5])
    for again, expected in zip(hold_out(images, 12, None, 0, equal), (out, kept), strict=True):
        np.testing.assert_array_equal(again, expected)
    equal[:] = True
    equal[out[1:]] = False
    with pytest.raises(InputError, match="only 11 of the 60 training images occur once, and not"):
        hold_out(images, 12, None, 0, equal)


@given(
    labels=st.lists(st.integers(0, 4), min_size=10, max_size=80),
    share=st.floats(0.1, 0.8),
    seed=st.integers(0, 9),
)
@settings(max_examples=40, deadline=None)
def test_each_class_gives_its_share(labels, share, seed):
    labels = np.array(labels)
    held = max(1, int(share * len(labels)))
    array = np.zeros((len(labels), 16, 16, 3), np.uint8)
    array[:, 0, 0, 0] = np.arange(len(labels))
    out, kept = hold_out(ImageSet(array, labels), held, None, seed)
    assert sorted([*out, *kept]) == list(range(len(labels)))
    counts, drawn = (np.bincount(part, minlength=5) for part in (labels, labels[out]))
    # Pairs are dealt out, so that a class may be one pair ahead or behind.
    assert (np.abs(drawn - held / len(labels) * counts) <= 4).all()
    part = draw_by_class(labels, held, seed, "test")
    assert len(part) == held
    assert (np.diff(part) > 0).all()
