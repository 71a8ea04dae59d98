import io
import threading
import time
import warnings

import numpy as np
import pytest
from PIL import Image
from torchvision import transforms

from superstar import decoding
from superstar.decoding import Encoded, read_batches, read_image, read_images
from superstar.errors import InputError

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (24, 36, 3), dtype=np.uint8)
# Smooth, so that JPEG keeps it nearly.
RAMP = np.stack(
    np.broadcast_arrays(
        np.linspace(20, 230, 24)[:, None], np.linspace(230, 20, 36)[None], np.full((24, 36), 90.0)
    ),
    axis=2,
).astype(np.uint8)


def write(path, image, **options):
    """An image, given as Pillow's or as an array, in the format of the file's ending."""
    picture = image if isinstance(image, Image.Image) else Image.fromarray(image)
    picture.save(path, **options)
    return path


def content(image, kind="PNG", **options):
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("ending", ["png", "bmp", "ppm", "tif", "webp"])
def test_colours_come_as_they_are(tmp_path, ending):
    options = {"lossless": True} if ending == "webp" else {}
    found = read_image(write(tmp_path / f"a.{ending}", NOISE, **options))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, NOISE)


def test_content_reads_like_a_file(tmp_path):
    path = write(tmp_path / "a.png", NOISE)
    np.testing.assert_array_equal(read_image(Encoded("row 3", path.read_bytes())), NOISE)
    np.testing.assert_array_equal(read_image(str(path)), NOISE)


def test_the_result_can_be_written_to(tmp_path):
    found = read_image(write(tmp_path / "a.png", NOISE))
    found[:] = 0
    assert found.max() == 0


def test_gray_becomes_three_equal_channels(tmp_path):
    found = read_image(write(tmp_path / "a.png", NOISE[..., 0]))
    np.testing.assert_array_equal(found, np.repeat(NOISE[..., :1], 3, axis=2))


def test_two_levels_become_black_and_white(tmp_path):
    bits = NOISE[..., 0] > 127
    found = read_image(write(tmp_path / "a.png", Image.fromarray(bits)))
    np.testing.assert_array_equal(found, np.repeat(bits[..., None] * np.uint8(255), 3, axis=2))


def test_of_16_bit_gray_the_high_byte_stays(tmp_path):
    levels = RNG.integers(0, 2**16, (24, 36), dtype=np.uint16)
    for ending in ("png", "tif", "pgm"):
        found = read_image(write(tmp_path / f"a.{ending}", levels))
        np.testing.assert_array_equal(found, np.repeat((levels >> 8)[..., None], 3, axis=2))


def test_cmyk_is_converted(tmp_path):
    ink = Image.fromarray(RAMP).convert("CMYK")
    exact = read_image(write(tmp_path / "a.tif", ink))
    np.testing.assert_array_equal(exact, np.asarray(ink.convert("RGB")))
    near = read_image(write(tmp_path / "a.jpg", ink, quality=95)).astype(int)
    assert np.abs(near - RAMP).mean() < 3


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_lies_on_white(tmp_path, mode):
    picture = Image.new(mode, (36, 24), (200,) * len(mode))
    alpha = np.zeros((24, 36), np.uint8)
    alpha[:, 12:24], alpha[:, 24:] = 102, 255
    picture.putalpha(Image.fromarray(alpha))
    found = read_image(write(tmp_path / "a.png", picture))
    assert (found[:, :12] == 255).all()
    # 0.4 of 200 and 0.6 of 255.
    np.testing.assert_allclose(found[:, 12:24], 233, atol=1)
    assert (found[:, 24:] == 200).all()


def test_palettes_become_colours(tmp_path):
    picture = Image.frombytes("P", (36, 24), (NOISE[..., 0] % 4).tobytes())
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9])
    opaque = read_image(write(tmp_path / "a.png", picture))
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]], np.uint8)
    np.testing.assert_array_equal(opaque, colours[NOISE[..., 0] % 4])
    colours[1] = 255
    for options in ({"transparency": 1}, {"transparency": bytes([255, 0, 255, 255])}):
        through = read_image(write(tmp_path / "b.png", picture, **options))
        np.testing.assert_array_equal(through, colours[NOISE[..., 0] % 4])


@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "webp"])
def test_every_orientation_of_exif_is_brought_upright(tmp_path, ending):
    plain = read_image(write(tmp_path / f"plain.{ending}", RAMP))
    expected = {
        1: plain,
        2: plain[:, ::-1],
        3: plain[::-1, ::-1],
        4: plain[::-1],
        5: plain.transpose(1, 0, 2),
        6: np.rot90(plain, -1),
        7: np.rot90(plain, 2).transpose(1, 0, 2),
        8: np.rot90(plain),
        77: plain,
    }
    for orientation, upright in expected.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        found = read_image(write(tmp_path / f"turned.{ending}", RAMP, exif=exif))
        np.testing.assert_array_equal(found, upright, err_msg=str(orientation))


def test_a_damaged_exif_block_costs_nothing(tmp_path):
    plain = read_image(write(tmp_path / "plain.jpg", RAMP))
    exif = Image.Exif()
    exif[0x0112] = 6
    block = exif.tobytes()
    for damaged in (block[:-9], block[:12], b"Exif\0\0", b"Exif\0\0" + b"\xff" * 40):
        path = write(tmp_path / "a.jpg", RAMP, exif=damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            decoding.silence_pillow()
            found = read_image(path)
        np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("ending", ["gif", "webp", "png", "tif"])
def test_of_several_frames_the_first_counts(tmp_path, ending):
    frames = [Image.fromarray(np.full((20, 20, 3), level, np.uint8)) for level in (255, 0)]
    path = tmp_path / f"a.{ending}"
    options = {"lossless": True} if ending == "webp" else {}
    frames[0].save(path, save_all=True, append_images=frames[1:], **options)
    np.testing.assert_array_equal(read_image(path), 255)


@pytest.mark.parametrize(("kind", "spared"), [("JPEG", 2), ("PNG", 24), ("BMP", 1), ("WEBP", 1)])
def test_truncated_files_are_refused_by_name(kind, spared):
    # What is spared closes the file and holds no pixels.
    whole = content(NOISE, kind)
    for kept in sorted({*range(1, len(whole) - spared, 97), len(whole) - spared - 1}):
        with pytest.raises(InputError, match=r"^row 7 ") as error:
            read_image(Encoded("row 7", whole[:kept]))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.write_bytes(b""), r"a\.png is empty"),
        (lambda p: p.write_bytes(b"<html>no such page</html>"), r"a\.png is not a readable image"),
        (lambda p: p.write_bytes(bytes(5000)), r"a\.png is not a readable image"),
        (lambda p: p.unlink(), r"a\.png does not exist"),
        (lambda p: (p.unlink(), p.mkdir()), r"a\.png is not a file, though it is named"),
        (lambda p: write(p, NOISE[:15]), r"a\.png is 15x36 pixels: at least 16x16"),
        (
            lambda p: p.write_bytes(p.read_bytes()[:45] + b"\0" * 9 + p.read_bytes()[54:]),
            r"a\.png is truncated or damaged \(",
        ),
    ],
)
def test_what_is_no_image_is_refused_by_name(tmp_path, damage, message):
    path = write(tmp_path / "a.png", NOISE)
    damage(path)
    with pytest.raises(InputError, match=message) as error:
        read_image(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_32_bit_gray_is_scaled_by_what_it_holds(tmp_path):
    levels = RNG.integers(0, 2**8, (24, 36), dtype=np.int32)
    found = read_image(write(tmp_path / "a.tif", levels))
    np.testing.assert_array_equal(found, np.repeat(levels[..., None], 3, axis=2))
    found = read_image(write(tmp_path / "b.tif", levels * 257))
    np.testing.assert_array_equal(found, np.repeat(levels[..., None], 3, axis=2))


@pytest.mark.parametrize("dtype", [np.int32, np.uint16])
def test_deep_gray_that_comes_out_nearly_black_is_named_once(tmp_path, caplog, dtype):
    dark = write(tmp_path / "dark.tif", np.linspace(0, 4095, 400).reshape(20, 20).astype(dtype))
    bright = write(tmp_path / "bright.tif", np.full((20, 20), 4096, dtype))
    for path in (dark, bright, dark):
        assert read_image(path).max() < 17
    (told,) = caplog.messages
    assert f"{dark} holds levels up to 4095 of 65,535" in told


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full((20, 20), 0.5, np.float32), "floating-point"),
        (np.full((20, 20), 70000, np.int32), "levels from 70000 to 70000"),
        (np.full((20, 20), -1, np.int32), "levels from -1 to -1"),
    ],
)
def test_more_than_16_bits_are_refused(tmp_path, values, message):
    with pytest.raises(InputError, match=rf"a\.tif holds {message}"):
        read_image(write(tmp_path / "a.tif", values))


def test_photographs_of_phones_are_read_and_larger_images_are_said_to_be_too_large(tmp_path):
    # What a phone's camera of 200 megapixels makes.
    assert 16320 * 12240 < decoding.LARGEST_IMAGE == 2 * Image.MAX_IMAGE_PIXELS
    path = tmp_path / "a.pbm"
    path.write_bytes(b"P4 16385 16384\n")
    limit = rf"a\.pbm is too large \(.*{16385 * 16384} pixels.* {decoding.LARGEST_IMAGE} pixels\)"
    with pytest.raises(InputError, match=limit) as error:
        read_image(path)
    assert "\n" not in str(error.value)


def test_of_very_large_images_one_is_decoded_at_a_time(numbered, monkeypatch):
    inside, most, lock = [0], [0], threading.Lock()
    real = decoding._turn_upright

    def noted(image):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        real(image)
        time.sleep(0.005)
        with lock:
            inside[0] -= 1

    monkeypatch.setattr(decoding, "_turn_upright", noted)
    monkeypatch.setattr(decoding, "ONE_AT_A_TIME", 16 * 18 - 1)
    (batch,) = read_batches(numbered, 11, workers=4)
    assert batch.shape == (11, 16, 18, 3)
    assert most == [1]


@pytest.mark.parametrize(
    ("height", "width"), [(37, 50), (50, 37), (40, 40), (33, 64), (100, 47), (17, 90)]
)
@pytest.mark.parametrize(("resize", "crop"), [(32, 28), (33, 28), (48, 48), (40, 31), (24, None)])
def test_resize_and_crop_are_torchvisions(height, width, resize, crop):
    image = np.random.default_rng(height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    steps = [transforms.Resize(resize), *([transforms.CenterCrop(crop)] if crop else [])]
    expected = np.asarray(transforms.Compose(steps)(Image.fromarray(image)))
    np.testing.assert_array_equal(read_image(Encoded("a", content(image)), resize, crop), expected)


def test_crop_alone_is_torchvisions():
    for height, width in ((37, 50), (50, 38), (31, 31)):
        image = np.arange(height * width * 3, dtype=np.uint16).astype(np.uint8)
        image = image.reshape(height, width, 3)
        expected = np.asarray(transforms.CenterCrop(31)(Image.fromarray(image)))
        np.testing.assert_array_equal(read_image(Encoded("a", content(image)), crop=31), expected)


def test_a_crop_that_does_not_fit_is_refused(tmp_path):
    path = write(tmp_path / "a.png", NOISE)
    with pytest.raises(InputError, match=r"a\.png is 24x36 pixels, which has no room"):
        read_image(path, crop=32)
    with pytest.raises(InputError, match="crop of 64 pixels does not fit"):
        read_image(path, resize=32, crop=64)
    with pytest.raises(InputError, match="resize must be at least 16"):
        read_image(path, resize=8)


@pytest.fixture
def numbered(tmp_path):
    """Eleven files, image i of level 20 i."""
    images = [np.full((16, 18, 3), 20 * i, np.uint8) for i in range(11)]
    return [write(tmp_path / f"{i:02}.png", image) for i, image in enumerate(images)]


@pytest.mark.parametrize("size", [1, 2, 4, 11, 50])
@pytest.mark.parametrize("workers", [1, 3, 16])
def test_batches_come_in_order_whatever_their_size_and_the_workers(numbered, size, workers):
    batches = list(read_batches(numbered, size, workers=workers))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    found = np.concatenate(batches)
    assert found.shape == (11, 16, 18, 3)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[:, 0, 0, 0], 20 * np.arange(11))


def test_all_at_once(numbered):
    np.testing.assert_array_equal(read_images(numbered)[:, 3, 3, 1], 20 * np.arange(11))
    assert read_images(numbered, resize=32, crop=24).shape == (11, 24, 24, 3)


def test_no_more_than_the_next_batch_is_read_ahead(numbered, monkeypatch):
    read, lock = [], threading.Lock()
    real = decoding.read_image

    def noted(source, resize, crop):
        with lock:
            read.append(source)
        return real(source, resize, crop)

    monkeypatch.setattr(decoding, "read_image", noted)
    batches = read_batches(numbered, 2, workers=2)
    assert read == []
    next(batches)
    batches.close()
    assert 2 <= len(read) <= 4


def test_all_bad_files_are_named_at_once_in_order(numbered):
    write(numbered[10], NOISE)
    numbered[9].write_bytes(b"")
    numbered[4].write_bytes(b"no image")
    batches = read_batches(numbered, 3, workers=4)
    assert len(next(batches)) == 3
    named = r"^3 of 11 images cannot be taken: \S*04\.png is not .*; \S*09\.png is empty.*; \S*10"
    with pytest.raises(InputError, match=named) as error:
        next(batches)
    assert "\n" not in str(error.value)


def test_of_many_bad_files_twenty_are_named(numbered):
    bad = [Encoded(f"row {i}", b"") for i in range(30)]
    with pytest.raises(
        InputError, match=r"^30 of 41 .*row 19 is empty[^;]*; and 10 more$"
    ) as error:
        read_images([*numbered, *bad])
    assert "row 20" not in str(error.value)


def test_a_first_image_that_is_bad_has_no_size_to_compare_with(numbered):
    numbered[0].write_bytes(b"")
    with pytest.raises(InputError, match=r"^\S*00\.png is empty"):
        read_images(numbered)


def test_images_of_two_sizes_are_refused_by_name(numbered):
    write(numbered[5], NOISE)
    with pytest.raises(InputError, match=r"05\.png is 24x36 pixels, but .*00\.png is 16x18"):
        list(read_batches(numbered, 4))
    assert read_images(numbered, resize=20, crop=20).shape == (11, 20, 20, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 4), "no images"),
        ((["a"], 0), "batch_size must be at least 1"),
        ((["a"], 1, None, None, 0), "workers must be at least 1"),
    ],
)
def test_bad_requests_are_refused_at_once(arguments, message):
    with pytest.raises(InputError, match=message):
        read_batches(*arguments)


def test_no_sources_at_once_are_refused():
    with pytest.raises(InputError, match="no images"):
        read_images([])
