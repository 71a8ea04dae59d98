"""ImageNet-C̄'s shifts beside slow ones that follow its definitions, and what these imply."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import ndimage, stats
from skimage import data

from superstar.corruptions import BENCHMARKS, C_BAR_SHIFTS, caustics, corrupt, patterns, spectra
from superstar.corruptions.constants import SEVERITIES
from superstar.corruptions.registry import _RANDOM
from superstar.images import from_uint8, stream

SIZES = ((32, 32), (64, 64), (17, 40), (45, 31))
Plane = np.ndarray


def photos(count: int, height: int, width: int) -> np.ndarray:
    """Parts of a photograph, float32 (N, 3, H, W)."""
    parts = [data.astronaut()[8 * i : 8 * i + height, 150 : 150 + width] for i in range(count)]
    return from_uint8(np.stack(parts)).numpy()


def shifted(name: str, images: np.ndarray, *constants: float, seed: int = 0) -> np.ndarray:
    """Not clipped; image i draws from a stream of its own, whatever the shift."""
    return _RANDOM[name](images, [stream(seed, i) for i in range(len(images))], *constants)


def gray(count: int, height: int, width: int, level: float = 0.5) -> np.ndarray:
    return np.full((count, 3, height, width), level, np.float32)


# What its authors publish, constants at severities 1 to 5 for 224 pixels and, where they chose any,
# for 32, and what their code makes of them.
PUBLISHED = {
    "blue_noise_sample": ((0.8, 1.6, 2.4, 4.0, 5.6), (0.7, 1.4, 2.1, 3.5, 4.2)),
    "brownish_noise": ((1, 2, 3, 4, 5), (2.5, 4.0, 5.5, 6.5, 7.0)),
    "caustic_refraction": ((2.35, 3.2, 4.9, 6.6, 9.15), None),
    "checkerboard_cutout": ((2, 3, 4, 5, 6), (1, 2, 3, 4, 5)),
    "cocentric_sine_waves": ((3, 5, 8, 9, 10), None),
    "inverse_sparkles": ((1, 2, 4, 9, 10), (1.0, 1.5, 2.5, 4.5, 5.0)),
    "perlin_noise": ((4.6, 5.2, 5.8, 7.6, 8.8), None),
    "plasma_noise": ((4.75, 7.0, 8.5, 9.25, 10.0), None),
    "single_frequency_greyscale": ((1, 1.5, 2, 4.5, 5), None),
    "sparkles": ((1, 2, 3, 5, 6), (0.7, 3.5, 5.6, 6.3, 7.0)),
}
MEANING = {
    "blue_noise_sample": lambda level: (3 * level / 10 - 2.5,),
    "brownish_noise": lambda level: (64 * level / 10 / 255,),
    "caustic_refraction": lambda level: (0.5 * level / 10, 2 * level / 10),
    "checkerboard_cutout": lambda level: (level / 10,),
    "cocentric_sine_waves": lambda level: (128 * level / 10 / 255,),
    "inverse_sparkles": lambda level: (65 * level / 10 / 50,),
    "perlin_noise": lambda level: (0.5 * level / 10,),
    "plasma_noise": lambda level: (64 * level / 10 / 255,),
    "single_frequency_greyscale": lambda level: (196 * level / 10 / 255,),
    "sparkles": lambda level: (0.1 * level / 10,),
}
# The ten for 32 pixels, of which every second is ours: first and step.
CANDIDATES = {
    "caustic_refraction": (1.4, 0.4),
    "cocentric_sine_waves": (0.5, 0.5),
    "perlin_noise": (4.6, 0.6),
    "plasma_noise": (0.7, 0.7),
    "single_frequency_greyscale": (0.3, 0.3),
}


@pytest.mark.parametrize("name", C_BAR_SHIFTS)
def test_constants_are_the_published_ones(name: str) -> None:
    large, small = PUBLISHED[name]
    if small is None:
        first, step = CANDIDATES[name]
        small = [first + 2 * i * step for i in range(5)]
    for benchmark, levels in (("imagenet", large), ("cifar", small)):
        expected = [MEANING[name](level) for level in levels]
        np.testing.assert_allclose(SEVERITIES[name][benchmark], expected, atol=1e-9)


# What holds for all ten.


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("name", C_BAR_SHIFTS)
def test_any_size_stays_in_range_and_is_changed(name: str, benchmark: str) -> None:
    for height, width in (*SIZES, (224, 224)):
        images = torch.from_numpy(photos(2, height, width))
        for severity in (1, 5):
            out = corrupt(images, name, severity, benchmark)
            assert out.shape == images.shape
            assert bool(((out >= 0) & (out <= 1)).all())  # false for NaN
            assert not torch.equal(out[1], images[1])


@pytest.mark.parametrize("name", C_BAR_SHIFTS)
def test_images_depend_on_their_place_alone(name: str) -> None:
    images = torch.from_numpy(photos(3, 45, 31))
    whole = corrupt(images, name, 4, seed=3, first_index=8)
    assert torch.equal(whole, corrupt(images, name, 4, seed=3, first_index=8))
    assert not torch.equal(whole, corrupt(images, name, 4, seed=4, first_index=8))
    for i in (2, 0, 1):
        alone = corrupt(images[i : i + 1], name, 4, seed=3, first_index=8 + i)
        assert torch.equal(alone[0], whole[i])
    same = corrupt(images[:1].repeat(2, 1, 1, 1), name, 4)
    assert not torch.equal(same[0], same[1])


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("name", C_BAR_SHIFTS)
def test_change_grows_with_severity(name: str, benchmark: str) -> None:
    side = 64 if benchmark == "imagenet" else 32
    images = photos(16, side, side)
    changes = [
        np.square(np.clip(shifted(name, images, *constants), 0, 1) - images).mean()
        for constants in SEVERITIES[name][benchmark]
    ]
    assert all(low < high for low, high in pairwise(changes))


GROWING = ["checkerboard_cutout", "cocentric_sine_waves", "perlin_noise", "plasma_noise"]


@pytest.mark.parametrize("name", [*GROWING, "inverse_sparkles"])
def test_patterns_grow_with_the_image(name: str) -> None:
    constants = SEVERITIES[name]["imagenet"][2]
    small = shifted(name, gray(4, 48, 64), *constants)
    large = shifted(name, gray(4, 96, 128), *constants)[:, :, ::2, ::2]
    # Where single precision reaches the other side of an edge, one pixel in many differs.
    assert (np.abs(small - large) < 1e-3).mean() > 0.998


# Beside slow ones.


def pixel_by_pixel(shape: tuple[int, int], value: Callable[[int, int], float]) -> Plane:
    """value(y, x) for all pixels."""
    return np.array([[value(y, x) for x in range(shape[1])] for y in range(shape[0])])


def check_slow(name: str, slow: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> None:
    """Our first of severity 4 equals what a slow function makes of it; constants are its own."""
    for height, width in ((32, 32), (17, 40)):
        image = photos(1, height, width)
        for seed in range(3):
            expected = slow(image[0].astype(np.float64), stream(seed, name, 4, 7))
            out = corrupt(torch.from_numpy(image), name, 4, "imagenet", seed, 7)[0].numpy()
            apart = np.abs(out - np.clip(expected, 0, 1))
            # Where single precision reaches the other side of an edge, one pixel in many differs.
            assert (apart < 2e-3).mean() > 0.99
            assert apart.mean() < 1e-3


def slow_spectrum(shape: tuple[int, int], generator: np.random.Generator, blue: bool) -> Plane:
    height, width = shape
    turns = generator.random((height * width + 1) // 2, dtype=np.float32)
    turns = np.append(turns, turns[: height * width // 2][::-1]).reshape(shape)
    noise = np.zeros(shape)
    rows, columns = np.mgrid[:height, :width]
    for i in range(height):
        for j in range(width):
            # Frequencies between minus a half and a half of the side.
            k, m = (i + height // 2) % height - height // 2, (j + width // 2) % width - width // 2
            f = np.hypot(k / height, m / width) * min(shape)
            wave = np.cos(2 * np.pi * (turns[i, j] + k * rows / height + m * columns / width))
            noise += wave * (f if blue else 1 / (f**2 + 1))
    return noise / noise.std()


def test_blue_noise_equals_the_slow_one() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return image * (slow_spectrum(image.shape[1:], generator, blue=True) > 0.3 * 4 - 2.5)

    check_slow("blue_noise_sample", slow)


def test_brownish_noise_equals_the_slow_one() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        noise = [slow_spectrum(image.shape[1:], generator, blue=False) for _ in range(3)]
        return image + 0.4 * 64 / 255 * np.stack(noise)

    check_slow("brownish_noise", slow)


def test_cocentric_waves_equal_the_slow_ones() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        centre = generator.uniform(0, shape)
        periods = generator.uniform(0, 10)
        wave, width = generator.uniform(0, min(shape) / 10, size=2)

        def ramp(y: int, x: int) -> float:
            radius = np.hypot(y - centre[0], x - centre[1])
            turn = np.arctan2(x - centre[1], y - centre[0])
            return (radius + wave * np.sin(periods * turn)) % width / width - 0.5

        return image + 0.9 * 128 / 255 * pixel_by_pixel(shape, ramp)

    check_slow("cocentric_sine_waves", slow)


def test_plasma_equals_the_slow_one() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        time, rounds = generator.uniform(0, 6 * np.pi), generator.integers(4, 7)
        sharpness = generator.uniform(0.5, 1)
        scale = generator.uniform(0.075, 0.2) * min(shape)

        def colour(y: float, x: float) -> tuple[float, float, float]:
            place = complex(x, y) / scale
            for i in range(rounds):
                finer, phase = 1.93**i, time / 1.15**i
                right, down = finer * place.imag + phase, finer * place.real + phase
                wave = complex(np.cos(right), np.sin(down)) / (2.25 - sharpness) ** i
                place += (1 + 0.3j) * wave
            x, y = place.real, place.imag
            return np.sin(x - time), np.sin((x + y + np.sin(time)) / 2), np.sin(y + time)

        share = 0.925 * 64 / 255
        return (1 - share) * image + share * np.moveaxis(pixel_by_pixel(shape, colour), 2, 0)

    check_slow("plasma_noise", slow)


def test_perlin_noise_equals_the_slow_one() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        order = generator.permutation(256)
        gradients = generator.uniform(-1, 1, size=(256, 2))
        gradients /= np.hypot(*gradients.T)[:, None]

        def octave(place: np.ndarray) -> float:
            total = 0.0
            for corner in np.floor(place) + np.array([[0, 0], [0, 1], [1, 0], [1, 1]]):
                apart = place - corner
                weight = np.prod(1 - apart**2 * (3 - 2 * np.abs(apart)))
                row, column = corner.astype(int)
                total += weight * apart @ gradients[order[(order[row % 256] + column) % 256]]
            return 1.5 * total

        def level(y: int, x: int) -> float:
            place = np.array([y, x]) / (32 * min(shape) / 224)
            octaves = [abs(octave(2**i * place)) / 2**i for i in range(5)]
            return min(0.5 + 0.5 * sum(octaves), 1)

        return 0.62 * image + 0.38 * pixel_by_pixel(shape, level)

    check_slow("perlin_noise", slow)


def test_checkerboard_equals_the_slow_one() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        angle = generator.uniform(0, 2 * np.pi)
        width = generator.uniform(0.1, 0.25) * min(shape)
        reach = int(np.hypot(*shape) / width) + 1
        chosen = generator.random((2 * reach, 2 * reach), dtype=np.float32) < 0.5
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

        def covered(y: int, x: int) -> bool:
            row, column = np.floor(turn @ (y, x) / width).astype(int)
            return (row + column) % 2 == 0 and chosen[row + reach, column + reach]

        return np.where(pixel_by_pixel(shape, covered), 128 / 255, image)

    check_slow("checkerboard_cutout", slow)


def star(shape: tuple[int, int], place: np.ndarray, rays: np.ndarray, power: float) -> Plane:
    def shine(y: int, x: int) -> float:
        down, right = y - place[0], x - place[1]
        at = (np.arctan2(right, down) + np.pi) / (2 * np.pi) * len(rays)
        length = np.interp(at, np.arange(len(rays) + 1), np.append(rays, rays[0]))
        across = 1 - (at % 1 - 0.5) ** 2
        return min(across * (length**2 / (down**2 + right**2 + 1e-4)) ** power, 1)

    return pixel_by_pixel(shape, shine)


def test_sparkles_equal_the_slow_ones() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        radius = 0.05 * min(shape)
        for _ in range(5):
            place = generator.uniform(0, shape)
            rays = radius + radius / 4 * generator.standard_normal(generator.integers(50, 200))
            image = image + star(shape, place, np.maximum(rays, 1), 1) * (1 - image)
        return image

    check_slow("sparkles", slow)


def test_inverse_sparkles_equal_the_slow_ones() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        place = generator.uniform(0.25, 0.75, size=2) * shape
        radius = min(shape) / 4
        rays = radius + radius / 4 * generator.standard_normal(generator.integers(50, 200))
        return 1 + star(shape, place, rays, 0.65 * 9 / 5) * (image - 1)

    check_slow("inverse_sparkles", slow)


def slow_caustics(shape: tuple[int, int], time: float, period: float) -> Plane:
    def brightness(y: int, x: int) -> float:
        p = np.array([y, x]) / period % 1 * 2 * np.pi - 250
        i, total = p, 1.0
        for n in range(1, 6):
            t = time * (1 - 3.5 / n)
            moved = np.cos(t - i[0]) + np.sin(t + i[1]), np.sin(t - i[1]) + np.cos(t + i[0])
            i = p + np.array(moved)
            waves = np.array([np.sin(i[0] + t), np.cos(i[1] + t)])
            total += 1 / np.linalg.norm(0.005 * p / waves)
        return min(abs(1.17 - (total / 5) ** 1.4) ** 8, 1)

    return pixel_by_pixel(shape, brightness)


def refracted(normal: np.ndarray) -> np.ndarray:
    """Snell's law, as vectors, for light from straight above."""
    cosine = normal[2]
    if cosine >= 0.999:
        return np.zeros(2)
    angle = np.arccos(cosine)
    bent = angle - np.arcsin(np.sin(angle) / 4)
    return np.sin(bent) * normal[:2] / np.linalg.norm(normal[:2])


def test_caustic_refraction_equals_the_slow_one() -> None:
    def slow(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shape = image.shape[1:]
        time, period = generator.uniform(0.5, 2), generator.uniform(0.75, 1.25) * min(shape)
        surface = ndimage.gaussian_filter(slow_caustics(shape, time, period), 1)
        surface, black = np.pad(surface, 1), np.pad(image, ((0, 0), (60, 60), (60, 60)))
        out = np.empty_like(image)
        for y in range(shape[0]):
            for x in range(shape[1]):
                slope = np.array(
                    [
                        surface[y + 2, x + 1] - surface[y, x + 1],
                        surface[y + 1, x + 2] - surface[y + 1, x],
                    ]
                )
                normal = np.append(slope, 1) / np.linalg.norm(np.append(slope, 1))
                place = [[y], [x]] + 0.33 * min(shape) * refracted(normal)[:, None] + 60
                seen = [ndimage.map_coordinates(plane, place, order=1)[0] for plane in black]
                out[:, y, x] = np.array(seen) + 1.32 * (slope[0] - slope[1])
        return out

    check_slow("caustic_refraction", slow)


# What the definitions imply.


def slope(planes: np.ndarray) -> float:
    """By how much power changes with frequency, as exponents, over planes (N, S, S)."""
    side = planes.shape[1]
    k = np.fft.fftfreq(side) * side
    radius = np.hypot(k[:, None], k)
    power = np.square(np.abs(np.fft.fft2(planes - planes.mean()))).mean(axis=0)
    some = (radius >= 6) & (radius <= side / 2 - 1)
    return np.polyfit(np.log(radius[some]), np.log(power[some]), 1)[0]


def test_spectra_have_the_slopes_of_their_colours() -> None:
    generator = np.random.default_rng(0)
    heights = spectra._frequencies(64, 64)
    blue = np.stack([spectra._noise(heights, generator, 64) for _ in range(60)])
    assert slope(blue) == pytest.approx(2, abs=0.05)
    brown = shifted("brownish_noise", gray(20, 64, 64), 0.1)
    assert slope(brown.reshape(60, 64, 64)) == pytest.approx(-4, abs=0.15)


def test_brownish_noise_has_its_deviation_in_each_channel_by_itself() -> None:
    noise = shifted("brownish_noise", gray(30, 33, 40), 0.1) - 0.5
    np.testing.assert_allclose(noise.std(axis=(2, 3)), 0.1, rtol=1e-4)
    channels = np.moveaxis(noise, 1, 0).reshape(3, -1)
    assert np.abs(np.corrcoef(channels)[np.triu_indices(3, 1)]).max() < 0.3
    # The whole channel moves, too.
    assert noise.mean(axis=(2, 3)).std() > 0.03


@pytest.mark.parametrize("severity", range(1, 6))
def test_blue_noise_strikes_the_share_of_a_normal_distribution(severity: int) -> None:
    (threshold,) = SEVERITIES["blue_noise_sample"]["imagenet"][severity - 1]
    struck = shifted("blue_noise_sample", gray(20, 64, 64), threshold) == 0
    assert struck.all(axis=1).mean() == struck.mean()  # pixels, not values
    assert struck.mean() == pytest.approx(stats.norm.cdf(threshold), rel=0.06)
    # Neighbours of a black pixel are black less often than others.
    both = struck[:, 0, :, 1:] & struck[:, 0, :, :-1]
    assert both.mean() < 0.6 * struck.mean() ** 2


def test_a_single_frequency_is_one_below_nyquist_s() -> None:
    waves = shifted("single_frequency_greyscale", gray(300, 32, 32), 0.3) - 0.5
    np.testing.assert_array_equal(waves[:, 0], waves[:, 2])
    assert np.abs(waves).max() <= 0.3 + 1e-6
    found = []
    for wave in waves[:, 1].astype(np.float64):
        # Sines are what obeys w(i - 1) + w(i + 1) = 2 cos(frequency) w(i).
        pairs = [(w[2:] + w[:-2], 2 * w[1:-1]) for w in (wave, wave.T)]
        cosines = [np.sum(ends * middles) / np.sum(middles**2) for ends, middles in pairs]
        for (ends, middles), cosine in zip(pairs, cosines, strict=True):
            np.testing.assert_allclose(ends, cosine * middles, atol=1e-5)
        found.append(np.arccos(np.clip(cosines, -1, 1)))
    # The higher of both is uniform up to π, the lower up to the higher.
    high, low = np.max(found, axis=1), np.min(found, axis=1)
    assert high.max() > 0.99 * np.pi
    assert stats.kstest(high / np.pi, "uniform").pvalue > 0.01
    assert stats.kstest(low / high, "uniform").pvalue > 0.01
    down, across = np.transpose(found)
    assert 0.4 < (down > across).mean() < 0.6


@pytest.mark.parametrize("severity", [1, 5])
def test_rings_are_ramps(severity: int) -> None:
    (height,) = SEVERITIES["cocentric_sine_waves"]["imagenet"][severity - 1]
    rings = shifted("cocentric_sine_waves", gray(40, 64, 64), height) - 0.5
    assert np.abs(rings).max() <= height / 2 + 1e-6
    assert rings.std() == pytest.approx(height / 12**0.5, rel=0.02)


@pytest.mark.parametrize("severity", range(1, 6))
def test_checkerboard_covers_half_of_its_share(severity: int) -> None:
    (share,) = SEVERITIES["checkerboard_cutout"]["imagenet"][severity - 1]
    assert share == (severity + 1) / 10
    covered = shifted("checkerboard_cutout", gray(300, 32, 48, 0.25), share)
    assert set(np.unique(covered)) == {np.float32(0.25), np.float32(128 / 255)}
    shares = (covered[:, 0] > 0.3).mean(axis=(1, 2))
    assert shares.mean() == pytest.approx(share / 2, abs=4 * shares.std() / 300**0.5)


def test_perlin_noise_brightens_black_and_leaves_corners_at_a_half() -> None:
    clouds = shifted("perlin_noise", gray(4, 56, 70, 0), 1)
    assert clouds.min() >= 0.5
    assert clouds.max() <= 1
    # Cells of 8 pixels: the noise vanishes in their corners.
    assert clouds[:, :, ::8, ::8].max() == 0.5
    assert clouds[:, :, 4::8, 4::8].mean() > 0.6


def test_plasma_mixes_the_image_with_colours_around_0() -> None:
    black, white = (shifted("plasma_noise", gray(60, 32, 32, level), 0.25) for level in (0, 1))
    np.testing.assert_allclose(white - black, 0.75, atol=1e-6)
    assert np.abs(black).max() <= 0.25
    assert np.abs(black.mean(axis=(0, 2, 3))).max() < 0.05


@pytest.mark.parametrize("name", ["sparkles", "inverse_sparkles"])
def test_sparkles_only_whiten(name: str) -> None:
    images = photos(5, 40, 56)
    for constants in SEVERITIES[name]["imagenet"]:
        out = shifted(name, images, *constants)
        assert (out >= images - 1e-6).all()
        assert out.max() <= 1
        white = np.ones_like(images)
        np.testing.assert_array_equal(shifted(name, white, *constants), white)


def test_inverse_sparkles_keep_the_middle_and_sparkles_cover_theirs() -> None:
    images = gray(60, 32, 32, 0)
    weak, strong = (shifted("inverse_sparkles", images, power)[:, 0] for power in (0.13, 1.3))
    # At the rays' ends the power has no say, and a shorter distance leaves more.
    assert (weak.min(axis=(1, 2)) == 0).all()
    assert strong[:, [0, -1], [0, -1]].mean() > 0.8 > 0.4 > weak[:, [0, -1], [0, -1]].mean()
    stars = shifted("sparkles", images, 0.06)[:, 0]
    assert stars.max(axis=(1, 2)) == pytest.approx(1)
    assert 0.02 < (stars == 1).mean() < 0.1


def test_water_without_depth_and_light_is_clear() -> None:
    images = photos(2, 40, 56)
    clear = shifted("caustic_refraction", images, 0, 0)
    np.testing.assert_array_equal(clear, images)
    # Depth moves colours, and lets black in from beyond the border; light alone adds the same
    # to all channels.
    moved = shifted("caustic_refraction", gray(8, 64, 64), 0.2, 0)
    assert moved.max() <= 0.5 + 1e-6
    assert (np.abs(moved[:, :, 16:-16, 16:-16] - 0.5) < 1e-6).all()
    assert moved.min() == 0
    lit = shifted("caustic_refraction", images, 0, 1) - images
    np.testing.assert_allclose(lit[:, 0], lit[:, 2], atol=1e-6)


def test_caustics_repeat_themselves_and_have_bright_lines() -> None:
    for time in (0.5, 1.2, 2):
        pool = caustics.caustics(120, 110, time, 50)
        np.testing.assert_allclose(pool[:70], pool[50:], atol=1e-3)
        np.testing.assert_allclose(pool[:, :60], pool[:, 50:], atol=1e-3)
        assert pool.min() >= 0
        assert pool.max() == 1
        assert 0.02 < np.median(pool) < 0.2


def test_lengths_count_along_the_shorter_side() -> None:
    wide, tall = (shifted("perlin_noise", gray(1, *shape, 0), 1) for shape in ((28, 60), (60, 28)))
    np.testing.assert_allclose(wide[:, :, :, :28], tall[:, :, :28], atol=1e-6)
    assert patterns._from((1, 2), 3, 4)[0].ravel().tolist() == [-1, 0, 1]
