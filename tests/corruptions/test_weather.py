"""Snow, frost, fog and spatter against slow references, and where frost's textures come from."""

import logging
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage
from skimage import data, filters

from superstar.corruptions import BENCHMARKS, corrupt, textures, weather
from superstar.corruptions.constants import SEVERITIES
from superstar.corruptions.frost_drawings import LOOKS, draw_frost
from superstar.corruptions.normal import fill_normal
from superstar.corruptions.plasma import plasma
from superstar.corruptions.textures import PACKAGE, PHOTOGRAPHS, TEXTURES, frost_source
from superstar.errors import InputError
from superstar.images import from_uint8, stream

NAMES = ("snow", "frost", "fog", "spatter")
SIZES = ((16, 16), (17, 40), (224, 224))


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    return data.astronaut()[:256, 128:384].copy()


def cut(photo: np.ndarray, height: int, width: int) -> torch.Tensor:
    return from_uint8(photo[None, :height, :width])


def forget_textures() -> None:
    for cached in (textures._photographs, textures._texture, textures._resized):
        cached.cache_clear()


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def files(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    forget_textures()
    monkeypatch.setattr(metadata, "files", files)
    yield
    forget_textures()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of five textures that tell index (red), column (green) and row (blue).

    Its code fails when it is run.
    """
    package = tmp_path / "imagecorruptions"
    (package / "frost").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')\n")
    rows, columns = np.mgrid[:250, :240].astype(np.uint8)
    for index, name in enumerate(PHOTOGRAPHS):
        texture = np.stack([np.full_like(rows, 20 + 40 * index), columns, rows], axis=2)
        # PNG under either name, so that the pixels are these.
        Image.fromarray(texture).save(package / "frost" / name, "PNG")
    Image.new("RGB", (250, 250)).save(package / "frost" / "frost6.jpg")
    info = tmp_path / "imagecorruptions_imaug-1.1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.1.5\n")
    record = [file.relative_to(tmp_path) for file in sorted(tmp_path.rglob("*")) if file.is_file()]
    (info / "RECORD").write_text("".join(f"{file.as_posix()},,\n" for file in record))
    monkeypatch.syspath_prepend(tmp_path)
    forget_textures()
    yield package
    assert "imagecorruptions" not in sys.modules
    forget_textures()


# What holds for all four.


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("name", NAMES)
def test_any_size_stays_in_range_and_is_changed(
    name: str, benchmark: str, photo: np.ndarray
) -> None:
    for height, width in (*SIZES, (224, 32)):
        images = cut(photo, height, width)
        for severity in range(1, 6):
            out = corrupt(images, name, severity, benchmark)
            assert out.shape == images.shape
            assert bool(((out >= 0) & (out <= 1)).all())  # false for NaN
            if (height, width) == (224, 224):
                assert float((out - images).abs().mean()) > 0.002


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_images_alone_equal_images_in_a_batch(
    name: str, size: tuple[int, int], photo: np.ndarray
) -> None:
    images = cut(photo, *size).repeat(3, 1, 1, 1)
    whole = corrupt(images, name, 4, seed=3, first_index=8)
    assert not torch.equal(whole[0], whole[1])
    for i in range(3):
        assert torch.equal(corrupt(images[:1], name, 4, seed=3, first_index=8 + i)[0], whole[i])


@pytest.mark.parametrize(
    ("name", "benchmark", "severities"),
    [
        # Severity 3 of ImageNet-C's snow changes the image hardly more than severity 2.
        ("snow", "imagenet", (1, 2, 4, 5)),
        ("snow", "cifar", (1, 2, 3, 4, 5)),
        *((name, benchmark, (1, 2, 3, 4, 5)) for name in NAMES[1:] for benchmark in BENCHMARKS),
    ],
)
def test_severity_hides_the_image(
    name: str, benchmark: str, severities: tuple[int, ...], photo: np.ndarray
) -> None:
    side = 224 if benchmark == "imagenet" else 32
    small = cv2.resize(photo, (side, side), interpolation=cv2.INTER_AREA)
    images = from_uint8(np.repeat(small[None], 8, axis=0)).numpy()
    losses = []
    for severity in severities:
        generators = [stream(i) for i in range(8)]
        constants = SEVERITIES[name][benchmark][severity - 1]
        out = np.clip(getattr(weather, name)(images, generators, *constants), 0, 1)
        if name == "snow":
            losses.append(np.abs(out - images).mean())
        else:  # what is left of the image's edges
            edges = np.stack([np.diff(batch).ravel() for batch in (out, images)])
            losses.append(1 - np.corrcoef(edges)[0, 1])
    assert all(less < more for less, more in pairwise(losses))


# Fog.


def slow_plasma(numbers: np.ndarray, decay: float) -> np.ndarray:
    """Diamond-square on a torus, point by point; numbers (S, S) uniform in [0, 1)."""
    side = len(numbers)
    heights = np.zeros((side, side))
    step, width = side, 1.0
    while step > 1:
        half = step // 2
        grid = range(0, side, step)

        def mean(y: int, x: int, ways: list[tuple[int, int]], h: int = half) -> float:
            return np.mean([heights[(y + h * a) % side, (x + h * b) % side] for a, b in ways])

        def offset(y: int, x: int, w: float = width) -> float:
            return w * (2 * numbers[y, x] - 1)

        diagonal = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
        for y, x in ((y + half, x + half) for y in grid for x in grid):
            heights[y, x] = mean(y, x, diagonal) + offset(y, x)
        straight = [(-1, 0), (1, 0), (0, -1), (0, 1)]
        for y0, x0 in ((y, x) for y in grid for x in grid):
            for y, x in ((y0, x0 + half), (y0 + half, x0)):
                heights[y, x] = mean(y, x, straight) + offset(y, x)
        step, width = half, width / decay**2
    heights -= heights.min()
    return heights / heights.max()


@pytest.mark.parametrize("decay", [1.4, 2, 3])
@pytest.mark.parametrize("side", [2, 16, 64])
def test_plasma_equals_the_slow_one(side: int, decay: float) -> None:
    numbers = np.random.default_rng(side).random((side, side), dtype=np.float32)
    clouds = plasma(np.random.default_rng(side), side, decay)
    np.testing.assert_allclose(clouds, slow_plasma(numbers, decay), atol=1e-5)
    assert (clouds.min(), clouds.max()) == (0, 1)


@pytest.mark.parametrize(("height", "width", "side"), [(16, 16, 16), (17, 40, 64), (65, 20, 128)])
def test_fog_adds_clouds_and_keeps_the_maximum(
    height: int, width: int, side: int, photo: np.ndarray
) -> None:
    images = 0.7 * cut(photo, height, width)
    clouds = plasma(stream(5, "fog", 2, 9), side, 2)[:height, :width]
    most = float(images.max())
    expected = (images.numpy() + 2 * clouds) * most / (most + 2)
    out = corrupt(images, "fog", 2, seed=5, first_index=9)
    np.testing.assert_allclose(out, expected, atol=1e-6)
    assert float(out.max()) <= most + 1e-6


def test_fog_leaves_black_black_and_takes_the_colour_of_white() -> None:
    assert torch.equal(corrupt(torch.zeros(2, 3, 20, 30), "fog", 5), torch.zeros(2, 3, 20, 30))
    white = corrupt(torch.ones(1, 3, 64, 64), "fog", 5)
    assert float(white.min()) == pytest.approx(1 / 4)
    assert float(white.max()) == pytest.approx(1)


# Snow.


def slow_snow(image: np.ndarray, constants: tuple, generator: np.random.Generator) -> np.ndarray:
    """Of one image (3, H, W), with scipy's zoom and a plain sum along the trail."""
    mean, deviation, zoom, threshold, radius, sigma, keep = constants
    shape = image.shape[1:]
    noise = np.empty([int(np.ceil(s / zoom)) for s in shape], np.float32)
    fill_normal(noise, generator)
    angle = np.deg2rad(generator.uniform(-135, -45))
    layer = ndimage.zoom((mean + deviation * noise).astype(np.float64), zoom, order=1)
    top, left = ((z - s) // 2 for z, s in zip(layer.shape, shape, strict=True))
    layer = layer[top : top + shape[0], left : left + shape[1]]
    layer = np.clip(np.where(layer < threshold, 0, layer), 0, 1)
    taps = np.arange(2 * radius + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    flakes = np.zeros(shape)
    for i, weight in zip(taps, weights / weights.sum(), strict=True):
        y = np.clip(rows + int(np.ceil(i * np.sin(angle) - 0.5)), 0, shape[0] - 1)
        x = np.clip(columns + int(np.ceil(i * np.cos(angle) - 0.5)), 0, shape[1] - 1)
        flakes += weight * layer[y, x]
    gray = cv2.cvtColor(np.ascontiguousarray(image.transpose(1, 2, 0)), cv2.COLOR_RGB2GRAY)
    white = np.maximum(image, 1.5 * gray + 0.5)
    return keep * image + (1 - keep) * white + flakes + np.rot90(flakes, 2)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", [1, 4, 5])
@pytest.mark.parametrize("size", [(16, 16), (17, 40), (96, 61)])
def test_snow_equals_the_slow_one(
    size: tuple[int, int], severity: int, benchmark: str, photo: np.ndarray
) -> None:
    images = cut(photo, *size)
    constants = SEVERITIES["snow"][benchmark][severity - 1]
    generator = stream(1, "snow", severity, 4)
    expected = np.clip(slow_snow(images[0].numpy(), constants, generator), 0, 1)
    out = corrupt(images, "snow", severity, benchmark, seed=1, first_index=4)
    np.testing.assert_allclose(out[0], expected, atol=2e-6)


# Spatter.


def liquid(constants: tuple, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    mean, deviation, sigma, threshold = constants[:4]
    noise = np.empty(shape, np.float32)
    fill_normal(noise, generator)
    smooth = filters.gaussian(mean + deviation * noise, sigma)
    return np.where(smooth < threshold, 0, smooth)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", [1, 2, 3])
def test_water_adds_turquoise_inside_its_drops(severity: int, benchmark: str) -> None:
    strength = SEVERITIES["spatter"][benchmark][severity - 1][4]
    shape = (80, 61)
    added = corrupt(torch.zeros(1, 3, *shape), "spatter", severity, benchmark)[0].numpy()
    np.testing.assert_allclose(added[0] * 238, added[1] * 175, atol=1e-4)
    np.testing.assert_array_equal(added[1], added[2])
    assert added.max() == pytest.approx(strength * 238 / 255)
    drops = liquid(
        SEVERITIES["spatter"][benchmark][severity - 1], shape, stream(0, "spatter", severity, 0)
    )
    assert (added[0][drops == 0] == 0).all()
    assert 0 < (added[0] > 0).mean() < 0.5
    gray = corrupt(torch.full((1, 3, *shape), 0.25), "spatter", severity, benchmark)[0].numpy()
    np.testing.assert_allclose(gray - 0.25, np.minimum(added, 0.75), atol=1e-6)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("severity", [4, 5])
@pytest.mark.parametrize("size", [(16, 16), (80, 61)])
def test_mud_covers_with_brown(size: tuple[int, int], severity: int, benchmark: str) -> None:
    constants = SEVERITIES["spatter"][benchmark][severity - 1]
    wet = liquid(constants, size, stream(0, "spatter", severity, 0)) > constants[3]
    cover = filters.gaussian(wet.astype(np.float64), constants[4])
    cover = np.where(cover < 0.8, 0, cover)
    for level in (0, 1):
        out = corrupt(torch.full((1, 3, *size), float(level)), "spatter", severity, benchmark)
        for channel, brown in enumerate((63, 42, 20)):
            expected = level * (1 - cover) + cover * brown / 255
            np.testing.assert_allclose(out[0, channel], expected, atol=1e-5)


def test_an_image_without_drops_stays_as_it_is() -> None:
    images = np.full((1, 3, 16, 16), 0.3, dtype=np.float32)
    out = weather.spatter(images, [stream(0)], 0.5, 0.01, 1, 0.69, 0.6, 0)
    np.testing.assert_array_equal(out, images)


# Frost.


def test_frost_mixes_the_image_with_a_texture(photo: np.ndarray, nothing_installed: None) -> None:
    images = cut(photo, 60, 90).numpy()
    mixed = weather.frost(images, [stream(2)], 0.6, 0.75, 1)
    texture = weather.frost(np.zeros_like(images), [stream(2)], 0, 1, 1)
    np.testing.assert_allclose(mixed, 0.6 * images + 0.75 * texture, atol=1e-6)


def test_frost_without_photographs_is_drawn(
    nothing_installed: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, textures.__name__)
    assert frost_source() == "procedural"
    black = torch.zeros(4, 3, 32, 48)
    assert torch.equal(corrupt(black, "frost", 2), corrupt(black, "frost", 2))
    assert [record.message for record in caplog.records] == [
        "frost: procedural textures (imagecorruptions-imaug is not installed)"
    ]


@pytest.mark.parametrize("index", range(TEXTURES))
def test_drawings_have_the_colours_of_the_photographs(index: int) -> None:
    drawing = draw_frost(index)
    assert drawing.shape == (384, 384, 3)
    np.testing.assert_array_equal(draw_frost(index), drawing)
    channels = drawing.reshape(-1, 3) / 255
    np.testing.assert_allclose(channels.mean(axis=0), LOOKS[index].mean, atol=0.02)
    assert not any(np.array_equal(drawing, draw_frost(other)) for other in range(index))


def test_frost_uses_the_five_photographs_where_installed(
    installed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, textures.__name__)
    assert frost_source() == PACKAGE
    black = torch.zeros(60, 3, 30, 40)
    frost = np.rint(corrupt(black, "frost", 5).numpy() * 255 / 0.75).astype(int)
    assert set(np.unique(frost[:, 0])) == {20, 60, 100, 140, 180}
    assert (np.diff(frost[:, 1], axis=2) == 1).all()
    assert (np.diff(frost[:, 2], axis=1) == 1).all()
    assert len(set(frost[:, 1, 0, 0])) > 20  # so many places to cut from
    small = corrupt(black, "frost", 5, "cifar").numpy() * 255 / 0.45
    np.testing.assert_allclose(np.diff(small[:, 1], axis=2), 5, atol=0.01)
    np.testing.assert_allclose(np.diff(small[:, 2], axis=1), 5, atol=0.01)
    assert [record.message for record in caplog.records] == [
        "frost: photographs of imagecorruptions-imaug"
    ]


def test_photographs_grow_with_larger_images(installed: Path) -> None:
    frost = corrupt(torch.zeros(1, 3, 500, 16), "frost", 5)[0].numpy() * 255 / 0.75
    assert np.median(np.diff(frost[2], axis=0)) == pytest.approx(0.5, abs=0.5)
    assert frost[2].max() - frost[2].min() > 245


def test_a_damaged_installation_is_an_error_that_names_the_file(installed: Path) -> None:
    (installed / "frost" / "frost2.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"frost2\.png cannot be read: reinstall imagecorruptions"):
        corrupt(torch.zeros(40, 3, 16, 16), "frost")


def test_a_package_without_all_photographs_counts_as_none(installed: Path, tmp_path: Path) -> None:
    record = next(tmp_path.glob("*.dist-info")) / "RECORD"
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if "frost3" not in line))
    assert frost_source() == "procedural"
