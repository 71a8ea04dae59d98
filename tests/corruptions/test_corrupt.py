"""What holds for every corruption: streams, range, input untouched, errors."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from superstar.corruptions import (
    ALL_SHIFTS,
    BENCHMARKS,
    C_BAR_SHIFTS,
    COMPOSITES,
    EXTRA_SHIFTS,
    SHIFTS,
    STANDARD_SHIFTS,
    SURROGATES,
    corrupt,
    frost_of,
    frost_source,
    preset_strengths,
    spell_out,
)
from superstar.corruptions.constants import SEVERITIES
from superstar.corruptions.normal import fill_normal
from superstar.errors import InputError
from superstar.images import stream

NAMES = (*SURROGATES, *ALL_SHIFTS)
RANDOM = ("uniform_noise", *(shift for shift in SHIFTS if shift.endswith("noise")))


def smooth_images(count: int, height: int, width: int, seed: int = 0) -> torch.Tensor:
    """Random images with detail at several scales, spread over [0, 1]."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.zeros(count, 3, height, width)
    for side in (2, 4, 8, 16):
        coarse = torch.rand(count, 3, side, side, generator=generator) - 0.5
        images += torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear")
    return (0.5 + 0.4 * images).clamp(0, 1)


def detailed_images() -> torch.Tensor:
    images = smooth_images(4, 64, 64)
    grain = torch.rand(images.shape, generator=torch.Generator().manual_seed(1))
    return (images + 0.05 * grain).clamp(0, 1)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from((*NAMES, "gaussian_noise+saturate")),
    severity=st.integers(1, 5),
    benchmark=st.sampled_from(BENCHMARKS),
    seed=st.integers(0, 2**40),
    cut=st.integers(1, 6),
    first=st.integers(0, 10**6),
)
def test_parts_equal_the_whole(
    name: str, severity: int, benchmark: str, seed: int, cut: int, first: int
) -> None:
    images = smooth_images(7, 19, 26)
    whole = corrupt(images, name, severity, benchmark, seed, first_index=first)
    head = corrupt(images[:cut], name, severity, benchmark, seed, first_index=first)
    tail = corrupt(images[cut:], name, severity, benchmark, seed, first_index=first + cut)
    assert torch.equal(torch.cat([head, tail]), whole)


@pytest.mark.parametrize("name", NAMES)
def test_slices_of_a_large_batch_equal_single_images(name: str) -> None:
    images = smooth_images(9, 240, 250)  # more than one slice of work
    whole = corrupt(images, name, 4)
    for i in (0, 4, 8):
        assert torch.equal(corrupt(images[i : i + 1], name, 4, first_index=i)[0], whole[i])


@pytest.mark.parametrize("name", RANDOM)
def test_streams_differ_between_images_seeds_and_severities(name: str) -> None:
    images = torch.full((2, 3, 16, 16), 0.5)
    first = corrupt(images, name, 2)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, corrupt(images, name, 2, seed=1))
    assert torch.equal(first[1], corrupt(images, name, 2, first_index=1)[0])
    noise = (first - images).flatten()
    stronger = (corrupt(images, name, 3) - images).flatten()
    correlation = torch.corrcoef(torch.stack([noise, stronger]))[0, 1]
    assert abs(correlation) < 5 / len(noise) ** 0.5


def test_image_i_draws_from_the_documented_stream() -> None:
    images = torch.full((1, 3, 16, 16), 0.5)
    noise = np.empty((3, 16, 16), np.float32)
    fill_normal(noise, stream(7, "gaussian_noise", 1, 42))
    out = corrupt(images, "gaussian_noise", 1, "imagenet", 7, 42)
    np.testing.assert_allclose(out[0], np.clip(0.5 + 0.08 * noise, 0, 1), atol=1e-6)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("name", NAMES)
def test_range_and_finiteness_on_awkward_images(name: str, benchmark: str) -> None:
    half = torch.zeros(1, 3, 16, 16)
    half[..., 8:] = 1
    tiny = torch.full_like(half, 1e-42)
    tiny[:, 0] = 1e-40
    saturated = torch.zeros(1, 3, 16, 16)
    saturated[:, 2] = 1
    awkward = torch.cat([torch.zeros_like(half), torch.ones_like(half), half, tiny, saturated])
    for images in (awkward, awkward[:1], smooth_images(1, 16, 53), smooth_images(2, 45, 17)):
        before = images.clone()
        for severity in (1, 5):
            out = corrupt(images, name, severity, benchmark)
            assert out.shape == images.shape
            assert out.dtype == torch.float32
            assert bool(((out >= 0) & (out <= 1)).all())  # false for NaN
        assert torch.equal(images, before)


# Not among these: saturate takes colour away at severities 1 and 2 and adds some after; a median
# of even size moves the image by half a pixel; a sigmoid of gain 4 is nearest to the identity; and
# shifts that draw shapes have tests of their own.
SHAPES = ("glass_blur", "motion_blur", "elastic_transform", "snow", "frost", "fog", "spatter")
APART = ("saturate", "median_blur", "sigmoid_decrease", *SHAPES, *C_BAR_SHIFTS)
GROWING = [name for name in NAMES if name not in APART]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("name", GROWING)
def test_change_grows_with_severity(name: str, benchmark: str) -> None:
    images = detailed_images()
    changes = [
        float((corrupt(images, name, severity, benchmark) - images).abs().mean())
        for severity in range(1, 6)
    ]
    assert all(low < high for low, high in pairwise(changes))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_median_takes_more_detail_and_sigmoid_more_contrast_with_severity(benchmark: str) -> None:
    images = detailed_images()
    medians = [corrupt(images, "median_blur", s, benchmark) for s in range(1, 6)]
    detail = [float(out.diff(dim=3).abs().mean()) for out in medians]
    assert all(more > less for more, less in pairwise(detail))
    sigmoids = [corrupt(images, "sigmoid_decrease", s, benchmark) for s in range(1, 6)]
    assert all(more > less for more, less in pairwise(float(out.std()) for out in sigmoids))


@pytest.mark.parametrize("name", ["saturate", *SHIFTS[:3], *SURROGATES])
def test_non_contiguous_input_changes_nothing(name: str) -> None:
    images = smooth_images(3, 20, 24)
    channels_last = images.contiguous(memory_format=torch.channels_last)
    assert torch.equal(corrupt(channels_last, name, 3), corrupt(images, name, 3))


@pytest.mark.parametrize("severity", [0, 3, 99])
def test_none_returns_an_unchanged_copy(severity: int) -> None:
    images = smooth_images(2, 16, 16)
    out = corrupt(images, "none", severity)
    assert torch.equal(out, images)
    assert out.data_ptr() != images.data_ptr()


@pytest.mark.parametrize("name", [*COMPOSITES, "contrast+median_blur"])
def test_composites_apply_their_parts_in_turn(name: str) -> None:
    images = smooth_images(2, 24, 20)
    first, second = name.split("+")
    options = {"severity": 4, "benchmark": "cifar", "seed": 3, "first_index": 5}
    expected = corrupt(corrupt(images, first, **options), second, **options)
    assert torch.equal(corrupt(images, name, **options), expected)


def test_a_noise_twice_is_not_the_same_noise_twice() -> None:
    images = torch.full((4, 3, 32, 32), 0.5)
    once = corrupt(images, "gaussian_noise", 1) - images
    twice = corrupt(images, "gaussian_noise+gaussian_noise", 1) - images
    # Independent noises add up in variance, equal ones would in amplitude.
    assert (twice.var() / once.var()).sqrt() == pytest.approx(2**0.5, rel=0.03)
    assert torch.corrcoef(torch.stack([once.flatten(), (twice - once).flatten()]))[0, 1] < 0.05
    part = corrupt(images[2:], "gaussian_noise+gaussian_noise", 1, first_index=2)
    assert torch.equal(part - images[2:], twice[2:])


def test_sets_of_shifts_are_spelt_out() -> None:
    assert spell_out("fog imagenet_cp") == ["fog", *COMPOSITES]
    assert spell_out(["imagenet_c_standard", "spatter"]) == [*STANDARD_SHIFTS, "spatter"]
    assert spell_out("imagenet_c_bar") == list(C_BAR_SHIFTS)
    assert spell_out([]) == []


def test_frost_s_source_is_told_where_there_is_frost() -> None:
    assert frost_of(["fog", "snow+frost"]) == frost_source()
    assert frost_of(["fog", "snow"]) is None


def test_the_benchmarks_have_fifteen_shifts_four_more_and_ten() -> None:
    assert (len(STANDARD_SHIFTS), len(EXTRA_SHIFTS)) == (15, 4)
    assert SHIFTS == STANDARD_SHIFTS + EXTRA_SHIFTS
    assert (len(C_BAR_SHIFTS), len(set(ALL_SHIFTS))) == (10, 29)
    assert ALL_SHIFTS == SHIFTS + C_BAR_SHIFTS == tuple(SEVERITIES)
    for name, tables in SEVERITIES.items():
        lengths = {len(constants) for table in tables.values() for constants in table}
        assert list(tables) == list(BENCHMARKS), name
        assert [len(table) for table in tables.values()] == [5, 5], name
        assert len(lengths) == 1, name


def test_the_paper_has_twelve_composites() -> None:
    assert len(set(COMPOSITES)) == 12


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("name", SURROGATES)
def test_a_strength_stands_for_the_severity_s_constant(name: str, benchmark: str) -> None:
    images = smooth_images(2, 24, 20)
    strengths = preset_strengths(name, benchmark)
    assert len(strengths) == 5
    given_alone = corrupt(images, name, 4, "imagenet", strength=strengths[3])
    assert torch.equal(given_alone, corrupt(images, name, 4, benchmark))


def test_strength_leaves_the_stream_alone() -> None:
    images = torch.full((1, 3, 32, 32), 0.5)
    weak = corrupt(images, "uniform_noise", 2, strength=0.1) - images
    strong = corrupt(images, "uniform_noise", 2, strength=0.4) - images
    torch.testing.assert_close(4 * weak, strong, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "gausian_noise"}, "did you mean 'gaussian_noise'"),
        ({"name": "contrast+brightnes"}, "did you mean 'brightness'"),
        ({"name": "contrast+"}, "has an empty part"),
        ({"name": None}, "unknown shift None"),
        ({"severity": 0}, "severity must be a whole number from 1 to 5, not 0"),
        ({"severity": 6}, "severity must be"),
        ({"severity": 2.0}, "severity must be"),
        ({"severity": True}, "severity must be"),
        ({"benchmark": "imagnet"}, "did you mean 'imagenet'"),
        ({"seed": -1}, "seed must be"),
        ({"first_index": 0.5}, "first_index must be"),
        ({"strength": 0.2}, "'contrast' has no single strength"),
        ({"name": "uniform_noise+contrast", "strength": 0.2}, "has no single strength"),
        ({"name": "none", "strength": 0.2}, "has no single strength"),
        ({"name": "median_blur", "strength": 2.5}, "whole number of pixels from 1 to"),
        ({"name": "median_blur", "strength": 17}, "shorter side, 16, not 17"),
        ({"name": "gamma_increase", "strength": 0}, "between 0.001 and 1000"),
        ({"name": "uniform_noise", "strength": float("nan")}, "finite number"),
        ({"name": "uniform_noise", "strength": "0.3"}, "finite number"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(options: dict, message: str) -> None:
    arguments = {"name": "contrast", **options}
    with pytest.raises(InputError) as caught:
        corrupt(torch.zeros(1, 3, 16, 20), **arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_images_are_refused() -> None:
    with pytest.raises(InputError, match="images"):
        corrupt(torch.full((1, 3, 16, 16), 1.5), "contrast")


def test_severity_may_be_a_numpy_integer() -> None:
    images = smooth_images(1, 16, 16)
    assert torch.equal(
        corrupt(images, "gaussian_noise", np.int64(3)), corrupt(images, "gaussian_noise", 3)
    )


def test_preset_strengths_are_those_of_the_paper() -> None:
    assert preset_strengths("uniform_noise", "imagenet") == (0.14, 0.22, 0.32, 0.40, 0.90)
    assert preset_strengths("median_blur") == (2, 3, 4, 5, 6)
    with pytest.raises(InputError, match="did you mean 'uniform_noise'"):
        preset_strengths("uniform_nois", "imagenet")
    with pytest.raises(InputError, match="unknown surrogate"):
        preset_strengths("contrast", "imagenet")
    with pytest.raises(InputError, match="unknown benchmark"):
        preset_strengths("uniform_noise", "mnist")
