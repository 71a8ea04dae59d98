"""Glass blur, motion blur and elastic transform beside slow ones that follow the benchmark."""

from itertools import pairwise

import cv2
import numpy as np
import pytest
import torch
from scipy import ndimage
from skimage import data, filters

from superstar.corruptions import BENCHMARKS, corrupt
from superstar.corruptions.blur import line_blur
from superstar.corruptions.constants import SEVERITIES
from superstar.corruptions.distortion import elastic_transform
from superstar.images import from_uint8, stream

NAMES = ("glass_blur", "motion_blur", "elastic_transform")
SIZES = ((16, 16), (17, 40), (64, 50))


def photo(height: int, width: int) -> np.ndarray:
    """Part of a photograph, uint8 (H, W, 3)."""
    return data.astronaut()[20 : 20 + height, 190 : 190 + width]


def corrupted(image: np.ndarray, name: str, severity: int, benchmark: str) -> np.ndarray:
    """The image at place 4 of a set under seed 1, float32 (H, W, 3)."""
    out = corrupt(from_uint8(image[None]), name, severity, benchmark, seed=1, first_index=4)
    return out[0].permute(1, 2, 0).numpy()


def slow_glass(
    image: np.ndarray, generator: np.random.Generator, sigma: float, reach: int, rounds: int
) -> np.ndarray:
    height, width = image.shape[:2]
    x = np.uint8(filters.gaussian(image / 255, sigma, channel_axis=-1) * 255 + 1e-3)
    shape = (rounds, height - 2 * reach, width - 2 * reach)
    sources = iter(generator.integers(4 * reach**2, size=shape, dtype=np.uint8).ravel())
    for _ in range(rounds):
        for h in range(height - reach, reach, -1):
            for w in range(width - reach, reach, -1):
                dy, dx = np.divmod(int(next(sources)), 2 * reach) - np.array(reach)
                # Not a swap: the right side holds views, and the first has changed by then.
                x[h, w], x[h + dy, w + dx] = x[h + dy, w + dx], x[h, w]
    return filters.gaussian(x / 255, sigma, channel_axis=-1)


@pytest.mark.parametrize(("height", "width"), SIZES[:2])
@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_glass_blur_equals_the_slow_one(
    severity: int, benchmark: str, height: int, width: int
) -> None:
    image = photo(height, width)
    constants = SEVERITIES["glass_blur"][benchmark][severity - 1]
    expected = slow_glass(image, stream(1, "glass_blur", severity, 4), *constants)
    apart = np.abs(corrupted(image, "glass_blur", severity, benchmark) - expected)
    # Where single precision reaches another level, one pixel in many is off by one level.
    assert (apart < 1e-5).mean() > 0.98
    assert apart.max() < 1.01 / 255


def test_glass_blur_without_blur_only_moves_colours() -> None:
    image = np.arange(40 * 30 * 3, dtype=np.uint32).view(np.uint8)[: 40 * 30 * 3]
    image = np.random.default_rng(0).permutation(image).reshape(40, 30, 3)
    out = np.rint(255 * corrupted(image, "glass_blur", 1, "cifar")).astype(np.uint8)
    colours = {tuple(colour) for colour in image.reshape(-1, 3)}
    assert {tuple(colour) for colour in out.reshape(-1, 3)} <= colours
    # From the lower right to the upper left, none but the first two rows and columns stays.
    np.testing.assert_array_equal(out[:2], image[:2])
    np.testing.assert_array_equal(out[:, :2], image[:, :2])
    assert (out[2:, 2:] != image[2:, 2:]).any(axis=2).mean() > 0.6


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_motion_blur_equals_the_slow_one(
    severity: int, benchmark: str, height: int, width: int
) -> None:
    image = photo(height, width)
    radius, sigma = SEVERITIES["motion_blur"][benchmark][severity - 1]
    angle = np.deg2rad(stream(1, "motion_blur", severity, 4).uniform(-45, 45))
    expected = np.zeros(image.shape)
    total = 0.0
    for i in range(2 * radius + 1):
        weight = np.exp(-(i**2) / (2 * sigma**2))
        rows = np.arange(height) + int(np.ceil(i * np.sin(angle) - 0.5))
        columns = np.arange(width) + int(np.ceil(i * np.cos(angle) - 0.5))
        rows, columns = rows.clip(0, height - 1), columns.clip(0, width - 1)
        expected += weight * image[np.ix_(rows, columns)] / 255
        total += weight
    out = corrupted(image, "motion_blur", severity, benchmark)
    np.testing.assert_allclose(out, expected / total, atol=2e-6)


def slow_elastic(
    image: np.ndarray, generator: np.random.Generator, height: float, sigma: float, reach: float
) -> np.ndarray:
    shape = image.shape[:2]
    side = min(shape)
    centre, third = np.float32(shape[::-1]) // 2, side // 3
    before = np.float32([centre + third, [centre[0] + third, centre[1] - third], centre - third])
    after = before + generator.uniform(-reach * side, reach * side, (3, 2)).astype(np.float32)
    affine = cv2.getAffineTransform(before, after)
    mapped = cv2.warpAffine(
        np.float32(image / 255), affine, shape[::-1], borderMode=cv2.BORDER_REFLECT_101
    )
    noise = 2 * generator.random((2, *shape), dtype=np.float32) - 1
    dx, dy = (
        filters.gaussian(plane, sigma * side, mode="reflect", truncate=3) * height * side
        for plane in noise.astype(np.float64)
    )
    y, x = np.mgrid[: shape[0], : shape[1]]
    planes = [
        ndimage.map_coordinates(mapped[..., c], (y + dy, x + dx), order=1, mode="reflect")
        for c in range(3)
    ]
    return np.stack(planes, axis=-1)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_elastic_transform_equals_the_slow_one(
    severity: int, benchmark: str, height: int, width: int
) -> None:
    image = photo(height, width)
    constants = SEVERITIES["elastic_transform"][benchmark][severity - 1]
    expected = slow_elastic(image, stream(1, "elastic_transform", severity, 4), *constants)
    apart = np.abs(corrupted(image, "elastic_transform", severity, benchmark) - expected)
    # OpenCV rounds the places of the affine map to 1/32 of a pixel.
    assert apart.mean() < 0.003
    assert apart.max() < 0.1

    constants = (*constants[:2], 0)
    batch = from_uint8(image[None]).numpy()
    out = elastic_transform(batch, [stream(2)], *constants)[0].transpose(1, 2, 0)
    np.testing.assert_allclose(out, slow_elastic(image, stream(2), *constants), atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_flat_images_stay_as_they_are(name: str, benchmark: str) -> None:
    colours = torch.tensor([[0, 0, 0], [255, 255, 255], [12, 130, 251]]) / 255
    images = colours[:, :, None, None].expand(3, 3, 19, 33).contiguous()
    for severity in range(1, 6):
        out = corrupt(images, name, severity, benchmark)
        torch.testing.assert_close(out, images, atol=2e-6, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_images_seeds_and_severities_differ(name: str) -> None:
    images = from_uint8(np.stack([photo(40, 40)] * 2))
    out = corrupt(images, name, 3)
    assert not torch.equal(out[0], out[1])
    assert not torch.equal(out, corrupt(images, name, 3, seed=1))
    assert torch.equal(out[1], corrupt(images[1:], name, 3, first_index=1)[0])


def change(name: str, severity: int, benchmark: str, side: int) -> float:
    images = from_uint8(np.stack([photo(side, side)] * 8))
    return float((corrupt(images, name, severity, benchmark) - images).abs().mean())


@pytest.mark.parametrize(
    ("name", "benchmark", "severities"),
    [
        # By the benchmark's constants neighbouring severities of glass blur change as much.
        ("glass_blur", "imagenet", (1, 3, 5)),
        ("glass_blur", "cifar", (1, 5)),
        ("motion_blur", "imagenet", (1, 2, 3, 4, 5)),
        ("motion_blur", "cifar", (1, 2, 3, 4, 5)),
        # The affine map is greatest at severities 1 and 2, the waves are roughest at 3 to 5.
        ("elastic_transform", "imagenet", (1, 2)),
        ("elastic_transform", "imagenet", (3, 5)),
    ],
)
def test_change_grows(name: str, benchmark: str, severities: tuple[int, ...]) -> None:
    side = 224 if benchmark == "imagenet" else 32
    changes = [change(name, severity, benchmark, side) for severity in severities]
    assert all(less < more for less, more in pairwise(changes))


@pytest.mark.parametrize(("angle", "axis"), [(0, 1), (90, 0), (180, 1)])
def test_a_blur_along_a_line_spares_what_does_not_change_along_it(angle, axis):
    stripes = np.zeros((1, 3, 24, 24), dtype=np.float32)
    rows = stripes if axis == 1 else stripes.swapaxes(2, 3)
    rows[:, :, ::2] = 1
    np.testing.assert_allclose(line_blur(stripes, 6.5, angle), stripes, atol=1e-5)
    across = line_blur(stripes, 6.0, angle + 90)
    np.testing.assert_allclose(across[..., 6:-6, 6:-6], 0.5, atol=0.1)


def test_a_line_of_one_pixel_changes_nothing():
    images = np.random.default_rng(0).random((2, 3, 16, 20), dtype=np.float32)
    np.testing.assert_allclose(line_blur(images, 1.0, 30.0), images, atol=1e-5)
