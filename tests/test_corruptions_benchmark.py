"""The comparison with imagecorruptions-imaug: its statistics, and a run beside a stand-in."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from benchmarks.corruptions.__main__ import main
from benchmarks.corruptions.change import (
    BANDS,
    Difference,
    compare,
    describe,
    pool,
    worst_band,
)
from benchmarks.corruptions.comparing import Likeness, cut_off
from benchmarks.corruptions.images import load_images
from benchmarks.corruptions.report import Measured, compose, misses
from benchmarks.corruptions.sheet import MOST_BYTES, TILE
from benchmarks.corruptions.whole import WholeTimes
from superstar.corruptions import frost_source
from superstar.errors import InputError
from superstar.images import from_uint8

STAND_IN = """
import numpy as np

def corrupt(image, corruption_name, severity, seed=None):
    scaled = image / 255
    if corruption_name == "contrast":
        share = (0.4, 0.3, 0.2, 0.1, 0.05)[severity - 1]
        mean = scaled.mean(axis=(0, 1))
        return np.uint8(np.clip((scaled - mean) * share + mean, 0, 1) * 255)
    sigma = 1.3 * (0.08, 0.12, 0.18, 0.26, 0.38)[severity - 1]
    return np.uint8(np.clip(scaled + np.random.normal(size=image.shape) * sigma, 0, 1) * 255)
"""


def white(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.normal(0.02, 0.1, (6, 64, 64, 3)).astype(np.float32)


def test_white_noise_is_flat_and_without_correlation() -> None:
    noise = describe(white(0))
    assert noise.mean == pytest.approx(0.02, abs=0.002)
    assert noise.variance == pytest.approx(0.01, rel=0.03)
    assert noise.spectrum.shape == (BANDS,)
    np.testing.assert_allclose(noise.spectrum, 64**2 * noise.variance, rtol=0.2)
    assert abs(noise.horizontal) < 0.02
    assert abs(noise.vertical) < 0.02


def test_a_horizontal_blur_is_seen_in_rows_and_high_bands() -> None:
    blurred = ndimage.uniform_filter1d(white(0), 2, axis=2, mode="wrap")
    noise, smooth = describe(white(1)), describe(blurred)
    assert smooth.horizontal == pytest.approx(0.5, abs=0.03)
    assert abs(smooth.vertical) < 0.02
    apart = compare(smooth, noise, worst_band(smooth, noise))
    assert apart.variance == pytest.approx(-50, abs=3)
    assert apart.horizontal == pytest.approx(50, abs=3)
    assert apart.spectrum < -60
    assert worst_band(smooth, noise) > BANDS // 2


def test_pooling_means_over_draws_and_no_change_is_no_difference() -> None:
    draws = [describe(white(seed)) for seed in range(3)]
    assert pool(draws).variance == pytest.approx(np.mean([draw.variance for draw in draws]))
    nothing = describe(np.zeros((2, 16, 16, 3), np.float32))
    assert not np.abs(compare(nothing, nothing, 0).values()[[0, 2, 3, 4]]).any()


def test_every_level_is_cut_off_to_itself() -> None:
    levels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1).repeat(3, axis=3)
    batch = from_uint8(levels).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(cut_off(batch), levels)
    np.testing.assert_array_equal(
        cut_off(np.maximum(batch - 0.001, 0))[levels > 0] + 1, levels[levels > 0]
    )


def test_folders_are_cropped_and_bad_ones_refused(tmp_path: Path) -> None:
    for i, (width, height) in enumerate([(300, 500), (40, 30), (224, 224)]):
        folder = tmp_path / f"n{i}"
        folder.mkdir()
        Image.new("L", (width, height), 40 * i).save(folder / f"{i}.JPEG")
    images = load_images(str(tmp_path), 2)
    assert images.shape == (2, 224, 224, 3)
    assert load_images("photos", 3).shape == (3, 224, 224, 3)
    with pytest.raises(InputError, match="there is no folder"):
        load_images(str(tmp_path / "none"), 2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no JPEG file"):
        load_images(str(tmp_path / "empty"), 2)
    (tmp_path / "n0" / "0.JPEG").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"0\.JPEG is not an image"):
        load_images(str(tmp_path), 2)


def test_without_the_peer_one_line_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.corruptions.peer.find_spec", lambda _: None)
    with pytest.raises(SystemExit) as caught:
        main(["--count", "2"])
    assert "pip install --no-deps imagecorruptions-imaug" in str(caught.value)
    assert "\n" not in str(caught.value)


def off_by(percent: float) -> Likeness:
    return Likeness(Difference(0, percent, 0, 0, 0), np.ones(5))


def test_what_the_peer_makes_otherwise_is_not_judged_and_what_misses_is_drawn_again() -> None:
    alike = {
        ("frost", 1): off_by(70),
        ("elastic_transform", 2): off_by(800),
        ("spatter", 1): off_by(12),
        ("spatter", 2): off_by(4),
        ("snow", 3): off_by(-6),
    }
    assert misses(alike) == [("spatter", 1), ("snow", 3)]
    single = {("spatter", 1): [off_by(1), off_by(2)], ("snow", 3): [off_by(1), off_by(-7)]}
    measured = Measured(9, 6, {}, alike, 1500, single, {}, WholeTimes(1, 1, 1, 1))
    page = compose({}, "photos", measured, None)
    assert (
        "random, alike: 1 of 3; missed: spatter 1, snow 3; of these by chance (alike in 1,500 "
        "draws of one image): spatter 1\n" in page
    )
    assert "than the benchmark: frost, elastic_transform\n" in page
    lines = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()]
    verdicts = {(row[1], row[2]): row[8] for row in lines if len(row) == 10}
    assert verdicts["frost", "1"] == verdicts["elastic_transform", "2"] == "not comparable"
    assert verdicts["spatter", "1"] == "**no**"
    assert [row[9] for row in lines if len(row) == 11 and row[3] in "12"] == [
        "yes",
        "yes",
        "yes",
        "**no**",
    ]
    for name in ("frost", "elastic_transform"):
        assert f"- {name}, not comparable: " in page
    assert ("textures that we draw" in page) is (frost_source() == "procedural")
    assert "![" not in page


def test_a_run_tells_likeness_from_unlikeness(tmp_path: Path, monkeypatch, capsys) -> None:
    package = tmp_path / "imagecorruptions"
    package.mkdir()
    (package / "__init__.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("benchmarks.corruptions.peer.cores", 1)
    output, sheet = tmp_path / "docs" / "page.md", tmp_path / "docs" / "sheet.jpg"
    arguments = ["--count", "2", "--draws", "2", "--single-draws", "15", "--whole", "3"]
    arguments += ["--sheet", str(sheet), "--output", str(output)]
    main([*arguments, "--only", "contrast", "gaussian_noise"])
    page = output.read_text()
    assert capsys.readouterr().out == page
    assert str(tmp_path) not in page
    assert "without randomness, equal: 5 of 5; missed: none" in page
    assert "random, alike: 0 of 5; missed: gaussian_noise 1" in page
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    # All severities, each of them again on both images, and the speed.
    assert sum(line.startswith("| gaussian_noise") for line in lines) == 5 + 10 + 1
    assert "drawn 15 times on each of the first 2 images alone" in page
    assert "(sheet.jpg)" in page
    assert "Frost has " in page
    assert sum(line.startswith("| contrast") for line in lines) == 1 + 1
    assert any(line.startswith("| median") for line in lines)
    assert "all 10 sets of 3 images: " in page
    assert sheet.stat().st_size <= MOST_BYTES
    with Image.open(sheet) as picture:
        assert min(picture.size) > 1300
        shown = np.asarray(picture.convert("L"))
    # A tile of the photograph and 95 of shifts, of which snow is nearly white.
    assert (shown < 250).sum() > 90 * TILE**2
