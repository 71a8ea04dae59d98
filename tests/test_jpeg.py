"""What JPEG leaves of images."""

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from skimage import data

from superstar.corruptions import corrupt
from superstar.corruptions.sets import shift_set
from superstar.datasets.image_folders import JPEG_QUALITY, encode
from superstar.errors import InputError
from superstar.images import ImageSet, from_uint8, to_uint8
from superstar.jpeg import through_jpeg


@pytest.fixture(scope="module")
def photographs() -> ImageSet:
    astronaut = data.astronaut()
    images = np.stack([astronaut[y : y + 61, 90:167] for y in (0, 100, 200)])
    return ImageSet(images, np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("quality", [1, 60, 85, 100])
def test_the_pixels_are_those_of_pillow(photographs, quality):
    images = corrupt(photographs.batch(), "uniform_noise", 3)
    through = to_uint8(through_jpeg(images, quality))
    for picture, own in zip(to_uint8(images), through, strict=True):
        file = BytesIO()
        Image.fromarray(picture).save(file, "JPEG", quality=quality)
        with Image.open(file) as again:
            assert np.array_equal(np.asarray(again), own)


def test_a_set_of_that_quality_is_what_the_benchmarks_files_hold(photographs):
    made = shift_set(photographs, "gamma_increase", 4, "imagenet", 0, jpeg_quality=JPEG_QUALITY)
    plain = shift_set(photographs, "gamma_increase", 4, "imagenet", 0)
    files = [np.asarray(Image.open(BytesIO(encode(image)))) for image in plain.images]
    assert np.array_equal(made.images, np.stack(files))
    assert not np.array_equal(made.images, plain.images)


def test_images_stay_as_they_were(photographs):
    images = photographs.batch()
    through_jpeg(images, 50)
    assert torch.equal(images, from_uint8(photographs.images))


@pytest.mark.parametrize("quality", [0, 101, -5])
def test_qualities_are_from_1_to_100(quality):
    with pytest.raises(InputError, match=f"from 1 to 100, not {quality}"):
        through_jpeg(torch.zeros(1, 3, 16, 16), quality)
