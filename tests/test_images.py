import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from superstar.errors import InputError, unknown_name
from superstar.images import ImageSet, check_images, from_uint8, stream, to_uint8


def batch(*shape, fill=0.5):
    return torch.full(shape, fill)


def with_value(value):
    images = batch(3, 3, 16, 16)
    images[1, 2, 4, 5] = value
    return images


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((1, 3, 16, 16), np.float32), "must be a torch.Tensor, not ndarray"),
        (batch(1, 3, 16, 16).double(), "must be float32"),
        (torch.zeros(1, 3, 16, 16, dtype=torch.uint8), "must be float32"),
        (batch(3, 16, 16), "must have shape (N, 3, H, W), not (3, 16, 16)"),
        (batch(1, 1, 16, 16), "must have shape (N, 3, H, W)"),
        (batch(1, 16, 16, 3), "must have shape (N, 3, H, W)"),
        (batch(0, 3, 16, 16), "is empty"),
        (batch(1, 3, 15, 16), "at least 16x16 pixels, not 15x16"),
        (with_value(float("nan")), "NaN or infinite values, first in image 1"),
        (with_value(float("inf")), "NaN or infinite values, first in image 1"),
        (with_value(1.5), "must lie in [0, 1], but runs from 0.5 to 1.5"),
        (with_value(-0.1), "must lie in [0, 1], but runs from -0.1 to 0.5"),
    ],
)
def test_what_is_no_batch_is_refused_in_one_line(images, message):
    with pytest.raises(InputError) as error:
        check_images(images, "photos")
    assert str(error.value).startswith("photos ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_batch_passes_unchanged():
    images = batch(1, 3, 16, 40)
    assert check_images(images) is images


def test_bytes_survive_the_way_to_a_batch_and_back():
    array = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 16, 16, 3)
    images = from_uint8(array)
    assert images.shape == (1, 3, 16, 16)
    assert images.dtype == torch.float32
    assert images.is_contiguous()
    assert (images.min(), images.max()) == (0, 1)
    np.testing.assert_array_equal(to_uint8(images), array)


def test_conversion_leaves_its_input_alone():
    array = np.full((2, 16, 16, 3), 7, np.uint8)
    array.setflags(write=False)
    images = from_uint8(array)
    images.fill_(1)
    assert (array == 7).all()
    to_uint8(images)
    assert (images == 1).all()


@pytest.mark.parametrize(
    "array",
    [np.zeros((1, 16, 16, 3)), np.zeros((1, 3, 16, 16), np.uint8), np.zeros((16, 16, 3), np.uint8)],
)
def test_other_arrays_are_refused(array):
    with pytest.raises(InputError, match="must be uint8 of shape"):
        from_uint8(array)


def test_a_set_takes_and_batches_in_the_order_asked_for():
    array = np.arange(4, dtype=np.uint8)[:, None, None, None] * np.ones((1, 16, 16, 3), np.uint8)
    images = ImageSet(array, np.arange(4))
    part = images.take(np.array([3, 1]))
    assert part.labels.tolist() == [3, 1]
    assert to_uint8(images.batch(np.array([2, 0])))[:, 0, 0, 0].tolist() == [2, 0]
    assert len(images) == 4


def test_a_set_needs_a_label_an_image():
    with pytest.raises(InputError, match="2 images but 3 labels"):
        ImageSet(np.zeros((2, 16, 16, 3), np.uint8), np.arange(3))
    with pytest.raises(InputError, match="at least one image"):
        ImageSet(np.zeros((0, 16, 16, 3), np.uint8), np.arange(0))


@given(st.integers(0, 2**32), st.text(max_size=8), st.integers(0, 10**6))
def test_a_stream_follows_from_its_keys_alone(seed, name, index):
    first, again = stream(seed, name, index), stream(seed, name, index)
    assert first.integers(2**60) == again.integers(2**60)


def test_streams_of_different_keys_differ():
    keys = [(0, "a", 0), (1, "a", 0), (0, "b", 0), (0, "a", 1), (0, "a")]
    draws = {stream(*key).integers(2**60) for key in keys}
    assert len(draws) == len(keys)


def test_an_unknown_name_comes_with_a_suggestion():
    error = unknown_name("action", "dncn", ["nop", "dncnn"])
    assert str(error) == "unknown action 'dncn'; did you mean 'dncnn'? (known: nop, dncnn)"
    assert "did you mean" not in str(unknown_name("action", "zzz", ["nop"]))
