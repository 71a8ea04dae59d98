"""Agreement with other implementations, and with what theory says of the noises."""

from io import BytesIO

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage, stats
from skimage import color, data, exposure, filters
from skimage.util import random_noise

from superstar.corruptions import BENCHMARKS, corrupt, noise, preset_strengths
from superstar.images import from_uint8, to_uint8

SIGMAS = {"imagenet": (1, 2, 3, 4, 6), "cifar": (0.4, 0.6, 0.7, 0.8, 1)}
OFFSETS = {"imagenet": (0.1, 0.2, 0.3, 0.4, 0.5), "cifar": (0.05, 0.1, 0.15, 0.2, 0.3)}
SATURATIONS = {
    "imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    "cifar": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
}
QUALITIES = {"imagenet": (25, 18, 15, 10, 7), "cifar": (80, 65, 58, 50, 40)}
SHARES = {"imagenet": (0.6, 0.5, 0.4, 0.3, 0.25), "cifar": (0.95, 0.9, 0.85, 0.75, 0.65)}


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    """Part of a photograph, uint8 (97, 120, 3): odd, non-square, with gray and black pixels."""
    part = data.astronaut()[20:117, 150:270].copy()
    part[:5] = 0
    part[5:10] = 128
    return part


@pytest.fixture(scope="module")
def images(photo: np.ndarray) -> torch.Tensor:
    return from_uint8(photo[None])


def channels_last(images: torch.Tensor) -> np.ndarray:
    return images[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 9, 16])
@pytest.mark.parametrize("shape", [(2, 3, 16, 16), (1, 3, 33, 18)])
def test_median_equals_scipy(size: int, shape: tuple[int, ...]) -> None:
    batch = torch.rand(shape, generator=torch.Generator().manual_seed(size))
    expected = ndimage.median_filter(batch.numpy(), size=(1, 1, size, size), mode="nearest")
    np.testing.assert_array_equal(corrupt(batch, "median_blur", strength=size).numpy(), expected)


@pytest.mark.parametrize("name", ["gamma_increase", "gamma_decrease"])
def test_gamma_equals_scikit_image(name: str, images: torch.Tensor) -> None:
    for severity, gamma in enumerate(preset_strengths(name), start=1):
        expected = exposure.adjust_gamma(images.numpy().astype(np.float64), 1 / gamma)
        np.testing.assert_allclose(corrupt(images, name, severity), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["sigmoid_increase", "sigmoid_decrease"])
def test_sigmoid_equals_scikit_image(name: str, images: torch.Tensor) -> None:
    for severity, gain in enumerate(preset_strengths(name), start=1):
        expected = exposure.adjust_sigmoid(images.numpy().astype(np.float64), 0.5, gain)
        np.testing.assert_allclose(corrupt(images, name, severity), expected, atol=1e-6)


def test_the_names_say_what_happens_to_brightness_and_contrast(images: torch.Tensor) -> None:
    for severity in range(1, 6):
        assert corrupt(images, "gamma_increase", severity).mean() > images.mean()
        assert corrupt(images, "gamma_decrease", severity).mean() < images.mean()
    assert corrupt(images, "sigmoid_increase", 5).std() > images.std()
    assert corrupt(images, "sigmoid_decrease", 5).std() < images.std()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_gaussian_blur_equals_scikit_image(
    benchmark: str, severity: int, photo: np.ndarray, images: torch.Tensor
) -> None:
    expected = filters.gaussian(photo / 255, SIGMAS[benchmark][severity - 1], channel_axis=-1)
    blurred = corrupt(images, "gaussian_blur", severity, benchmark)
    np.testing.assert_allclose(channels_last(blurred), expected, atol=2e-6)


@pytest.mark.parametrize("severity", range(1, 6))
def test_defocus_blur_equals_opencv_on_the_whole_kernel(
    severity: int, photo: np.ndarray, images: torch.Tensor
) -> None:
    radius, antialias = ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))[severity - 1]
    y, x = np.mgrid[-10:11, -10:11] if radius > 8 else np.mgrid[-8:9, -8:9]
    kernel = (x**2 + y**2 <= radius**2).astype(np.float32)
    rim = (5, 5) if radius > 8 else (3, 3)
    kernel = cv2.GaussianBlur(kernel / kernel.sum(), rim, antialias)
    expected = cv2.filter2D(photo / 255, -1, kernel)
    blurred = corrupt(images, "defocus_blur", severity)
    np.testing.assert_allclose(channels_last(blurred), expected, atol=2e-6)


@pytest.mark.parametrize("severity", range(1, 6))
def test_zoom_blur_equals_scipy_zoom(
    severity: int, photo: np.ndarray, images: torch.Tensor
) -> None:
    stops, steps = (1.11, 1.16, 1.21, 1.26, 1.31), (0.01, 0.01, 0.02, 0.02, 0.03)
    factors = np.arange(1, stops[severity - 1], steps[severity - 1])
    image = photo / 255
    total = image.copy()
    for factor in factors:
        cut = [int(np.ceil(side / factor)) for side in image.shape[:2]]
        top, left = ((side - c) // 2 for side, c in zip(image.shape[:2], cut, strict=True))
        part = image[top : top + cut[0], left : left + cut[1]]
        zoomed = ndimage.zoom(part, (factor, factor, 1), order=1)
        top, left = (
            (z - side) // 2 for z, side in zip(zoomed.shape[:2], image.shape, strict=False)
        )
        total += zoomed[top : top + image.shape[0], left : left + image.shape[1]]
    blurred = corrupt(images, "zoom_blur", severity)
    np.testing.assert_allclose(channels_last(blurred), total / (len(factors) + 1), atol=2e-6)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_brightness_and_saturate_equal_scikit_image_s_hsv(
    benchmark: str, severity: int, photo: np.ndarray, images: torch.Tensor
) -> None:
    hsv = color.rgb2hsv(photo / 255)
    hsv[..., 2] = np.clip(hsv[..., 2] + OFFSETS[benchmark][severity - 1], 0, 1)
    brighter = corrupt(images, "brightness", severity, benchmark)
    np.testing.assert_allclose(channels_last(brighter), color.hsv2rgb(hsv), atol=2e-6)

    factor, offset = SATURATIONS[benchmark][severity - 1]
    hsv = color.rgb2hsv(photo / 255)
    hsv[..., 1] = np.clip(hsv[..., 1] * factor + offset, 0, 1)
    saturated = corrupt(images, "saturate", severity, benchmark)
    np.testing.assert_allclose(channels_last(saturated), color.hsv2rgb(hsv), atol=5e-6)


@pytest.mark.parametrize(("benchmark", "share"), [("imagenet", 0.2), ("cifar", 0.4)])
def test_contrast_keeps_the_mean_and_a_share_of_the_deviation(
    benchmark: str, share: float, images: torch.Tensor
) -> None:
    out = corrupt(images, "contrast", 3, benchmark)
    torch.testing.assert_close(out.mean((2, 3)), images.mean((2, 3)), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std((2, 3)), share * images.std((2, 3)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_jpeg_equals_pillow(
    benchmark: str, severity: int, photo: np.ndarray, images: torch.Tensor
) -> None:
    for image, batch in ((photo, images), (photo[:32, :32], images[..., :32, :32])):
        file = BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=QUALITIES[benchmark][severity - 1])
        out = corrupt(batch, "jpeg_compression", severity, benchmark)
        np.testing.assert_array_equal(to_uint8(out)[0], np.asarray(Image.open(file)))
        assert torch.equal(out, from_uint8(to_uint8(out)))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_pixelate_equals_pillow(
    benchmark: str, severity: int, photo: np.ndarray, images: torch.Tensor
) -> None:
    share = SHARES[benchmark][severity - 1]
    height, width = photo.shape[:2]
    small = Image.fromarray(photo).resize((int(width * share), int(height * share)), Image.BOX)
    expected = np.asarray(small.resize((width, height), Image.BOX))
    out = corrupt(images, "pixelate", severity, benchmark)
    np.testing.assert_array_equal(to_uint8(out)[0], expected)


# Moments of n values, tested at five standard errors of the estimate.
COUNT = 4 * 3 * 100 * 100


def noise_on(level: float, name: str, severity: int, benchmark: str = "imagenet") -> np.ndarray:
    gray = torch.full((4, 3, 100, 100), level)
    return (corrupt(gray, name, severity, benchmark) - gray).numpy().astype(np.float64).ravel()


def assert_moments(noise: np.ndarray, deviation: float, kurtosis: float) -> None:
    assert abs(noise.mean()) < 5 * deviation / COUNT**0.5
    error = deviation**2 * ((kurtosis - 1) / COUNT) ** 0.5
    assert abs(noise.var() - deviation**2) < 5 * error


@pytest.mark.parametrize(
    ("name", "severity", "benchmark", "level", "deviation", "kurtosis"),
    [
        ("gaussian_noise", 1, "imagenet", 0.5, 0.08, 3),
        ("gaussian_noise", 5, "cifar", 0.5, 0.10, 3),
        ("speckle_noise", 1, "imagenet", 0.4, 0.4 * 0.15, 3),
        ("speckle_noise", 5, "cifar", 0.4, 0.4 * 0.2, 3),
        ("shot_noise", 1, "imagenet", 0.3, (0.3 / 60) ** 0.5, 3 + 1 / (0.3 * 60)),
        ("shot_noise", 3, "cifar", 0.3, (0.3 / 100) ** 0.5, 3 + 1 / (0.3 * 100)),
        ("uniform_noise", 4, "imagenet", 0.5, 0.40 / 3**0.5, 1.8),
        ("uniform_noise", 5, "cifar", 0.5, 0.30 / 3**0.5, 1.8),
    ],
)
def test_moments_of_unclipped_noise(
    name: str, severity: int, benchmark: str, level: float, deviation: float, kurtosis: float
) -> None:
    assert_moments(noise_on(level, name, severity, benchmark), deviation, kurtosis)


@pytest.mark.parametrize("photons", [3, 60, 500])
@pytest.mark.parametrize("level", [0.0021, 100 / 255, 0.7837, 254.9 / 255, 1.0])
def test_shot_noise_is_poisson_on_and_between_levels(photons: int, level: float) -> None:
    gray = np.full((1, 3, 200, 200), level, np.float32)
    out = noise.shot_noise(gray, [np.random.default_rng(0)], photons)
    counts = np.rint(out.ravel() * photons).astype(int)
    expected = counts.size * stats.poisson(level * photons).pmf(np.arange(counts.max() + 1))
    common = expected >= 10
    seen = np.bincount(counts, minlength=len(expected))[common]
    rest = counts.size - seen.sum(), counts.size - expected[common].sum()
    assert stats.chisquare([*seen, rest[0]], [*expected[common], rest[1]]).pvalue > 1e-4


def test_shot_noise_counts_photons() -> None:
    counts = (noise_on(0.4, "shot_noise", 5) + 0.4) * 3
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-5)


def test_uniform_noise_fills_its_interval() -> None:
    noise = noise_on(0.5, "uniform_noise", 2)
    assert noise.min() == pytest.approx(-0.22, abs=1e-4)
    assert noise.max() == pytest.approx(0.22, abs=1e-4)
    shares = np.histogram(noise, bins=10, range=(-0.22, 0.22))[0] / COUNT
    np.testing.assert_allclose(shares, 0.1, atol=5 * (0.09 / COUNT) ** 0.5)


@pytest.mark.parametrize(("benchmark", "amount"), [("imagenet", 0.27), ("cifar", 0.07)])
def test_impulses_are_as_frequent_as_scikit_image_s(benchmark: str, amount: float) -> None:
    out = noise_on(0.5, "impulse_noise", 5, benchmark) + 0.5
    assert set(np.unique(out)) == {0.0, 0.5, 1.0}
    reference = random_noise(np.full(COUNT, 0.5), mode="s&p", rng=0, amount=amount)
    error = 5 * (amount / 2 / COUNT) ** 0.5
    for value in (0, 1):
        share = (out == value).mean()
        assert share == pytest.approx(amount / 2, abs=error)
        assert share == pytest.approx((reference == value).mean(), abs=2 * error)


def test_noise_is_independent_between_channels_and_neighbours() -> None:
    gray = torch.full((1, 3, 120, 120), 0.5)
    for name in ("uniform_noise", "gaussian_noise", "shot_noise", "speckle_noise", "impulse_noise"):
        noise = (corrupt(gray, name, 1) - gray)[0]
        pairs = (
            (noise[0], noise[1]),
            (noise[1], noise[2]),
            (noise[:, 1:], noise[:, :-1]),
            (noise[..., 1:], noise[..., :-1]),
        )
        for a, b in pairs:
            correlation = torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1]
            assert abs(correlation) < 5 / a.numel() ** 0.5
