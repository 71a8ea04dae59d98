"""The benchmark's own arithmetic, and one run of it on a few images."""

from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers, workers
from benchmarks.__main__ import main
from benchmarks.growth import PowerLaw
from benchmarks.images import make_scene
from benchmarks.measure import peak_flops
from superstar.actions import apply_action
from superstar.measures import points_distance, ssim, state_features

ROOT = Path(__file__).parents[1]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> list[dict[str, dict[str, str]]]:
    """Each table's rows by their first cell, as cells by their column's name."""
    found = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            header, _, *rows = map(cells, lines)
            found.append({row[0]: dict(zip(header, row, strict=True)) for row in rows})
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmark") / "report.md"
    arguments = f"--images 8 --sizes 32 --repeats 1 --output {path} --only state wavelet_bayes dct"
    arguments += " wasserstein sliced_wasserstein aline_d ssim step"
    printed = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        # What the processor can do at best, and two processes, would take most of the time.
        patch.setattr("benchmarks.machine.peak_flops", partial(peak_flops, side=128))
        patch.setattr("benchmarks.peers.cores", 1)
        main(arguments.split())
    assert printed.getvalue().strip() == path.read_text().strip()
    return path.read_text()


def test_every_case_stands_beside_its_peer(report):
    rows = tables(report)[0]
    names = ["state", "wavelet_bayes", "dct", "wasserstein", "sliced_wasserstein", "aline_d"]
    assert list(rows) == [*names, "ssim", "step"]
    for name, row in rows.items():
        assert float(row["s"]) > 0
        assert float(row["reads"].replace(",", "")) > 0
        if name == "aline_d":
            assert row["peer"] == row["ratio"] == ""
        else:
            assert row["peer"]
            ratio = float(row["peer s"].replace(",", "")) / float(row["s"].replace(",", ""))
            assert float(row["ratio"].replace(",", "")) == pytest.approx(ratio, rel=0.02)


def test_the_peer_of_a_step_is_the_sum_of_its_parts(report):
    rows = tables(report)[0]
    parts = ("state", "wavelet_bayes", "dct", "wasserstein", "ssim")
    total = sum(float(rows[name]["peer s"]) for name in parts)
    assert float(rows["step"]["peer s"]) == pytest.approx(total, rel=0.02)


def test_growth_and_shares_have_their_tables(report):
    _, made, shares, growth = tables(report)
    assert list(made) == ["dct"]
    assert list(shares) == ["ssim"]
    assert list(growth["state"])[1:] == ["2", "4", "8", "16", "32", "64", "k"]
    assert growth["wasserstein"]["64"] != ""
    assert growth["state"]["64"] == ""
    assert "the rest of a step" in report


def test_the_report_names_the_machine_but_no_place_on_it(report):
    assert "processor: " in report
    assert "PyTorch " in report
    assert str(ROOT) not in report


@pytest.mark.filterwarnings("ignore:Possible precision loss:UserWarning")
def test_the_peers_do_the_same_as_we(tmp_path):
    scene = make_scene(4, 32)
    pixels = scene.noisy.permute(0, 2, 3, 1).contiguous().numpy()
    part = workers.Part(tmp_path / "images.npy", tmp_path / "results.npy", 0, 4)
    np.save(part.images, pixels)

    def results(task, *shape):
        np.save(part.results, np.zeros((4, *shape), dtype=np.float32))
        task(part)
        return np.load(part.results)

    def ours(action):
        return apply_action(scene.noisy, action).permute(0, 2, 3, 1).numpy()

    state = state_features(scene.noisy).numpy()
    np.testing.assert_allclose(results(workers.state, 3), state, atol=1e-6)
    for action in ("wavelet_bayes", "wavelet_visu"):
        denoised = results(getattr(workers, action), 32, 32, 3).clip(0, 1)
        np.testing.assert_allclose(denoised, ours(action), atol=1e-5)
    np.testing.assert_allclose(peers.clahe(pixels, 6, 1), ours("clahe_6_1"), atol=1e-6)
    assert np.abs(peers.bilateral(pixels) - ours("bilateral")).mean() < 0.02
    pairs = scene.pairs(4)
    assert peers.exact_distance(*pairs) == pytest.approx(points_distance(*pairs))
    similarity = peers.mean_ssim(scene.clean, scene.noisy)
    assert similarity == pytest.approx(ssim(scene.clean, scene.noisy, 255.0), abs=1e-6)


def test_points_beyond_the_images_keep_mean_and_spread():
    scene = make_scene(40, 32)
    for cloud, points in zip(scene.pairs(4000), scene.pairs(40), strict=True):
        assert cloud.shape == (4000, points.shape[1])
        spread = float(points.var(dim=0, correction=0).sum())
        assert float(cloud.var(dim=0).sum()) == pytest.approx(spread, rel=0.1)
        distance = float((cloud.mean(dim=0) - points.mean(dim=0)).norm())
        assert distance < 0.1 * spread**0.5


def test_a_power_law_is_found_again_and_so_is_the_crossing():
    slow = PowerLaw.fit({n: 2.0 * n for n in (10, 20, 40)})
    fast = PowerLaw.fit({n: 0.1 * n**2 for n in (10, 20, 40)})
    assert (slow.scale, slow.exponent) == pytest.approx((2, 1))
    assert fast.overtakes(slow) == pytest.approx(20)
    assert slow(30) == pytest.approx(60)
    assert slow.overtakes(fast) is None
