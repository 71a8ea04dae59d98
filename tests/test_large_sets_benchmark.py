"""Cells of several sizes: the arithmetic, and one run of it on a few small images."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.large_sets import __main__ as subject
from benchmarks.large_sets import estimate
from benchmarks.large_sets.inputs import clean_images, repeated, write_shifted
from benchmarks.large_sets.measuring import ONE_THREAD, CellCost, Parts, Seconds, fresh
from benchmarks.large_sets.report import Measured, compose

NETWORK = """
from torch import nn

def network():
    return nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.Flatten(), nn.Linear(900, 5))
"""
PARTS = Parts(200, 0.001, 0.002, 0.01, 0.005, 4e9, 1e9)


def cost(images: int, seconds: float, megabytes: float | None, *actions: str) -> CellCost:
    sequences = ((), *((action,) for action in actions))
    return CellCost(images, Seconds(seconds, seconds), 100, Seconds(2, 2), megabytes, sequences)


def page(*costs: CellCost) -> str:
    return compose({"cores": "2"}, Measured(224, 500, "mine:network", False, costs, PARTS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("scale")
    draw = np.random.default_rng(0)
    for name in ("n0", "n1"):
        (folder / "clean" / name).mkdir(parents=True)
        for i in range(3):
            pixels = draw.integers(0, 256, (48, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "clean" / name / f"{i}.png")
    write_shifted(clean_images(folder / "clean", 32), folder / "shifted")
    return folder


def test_a_set_repeats_the_files_but_not_their_names_memory(folder: Path) -> None:
    files = repeated(folder / "shifted", 20)
    once = ("n0/0.JPEG", "n0/1.JPEG", "n0/2.JPEG", "n1/0.JPEG", "n1/1.JPEG", "n1/2.JPEG")
    assert files.names == (*once, *once, *once, *once[:2])
    assert list(files.labels[:7]) == [0, 0, 0, 1, 1, 1, 0]
    assert files.names[0] is not files.names[6]
    assert files.batch(slice(18, 20)).shape == (2, 3, 32, 32)


def test_a_run_scores_the_images_as_they_are_and_denoised(
    folder: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    (tmp_path / "scale_network.py").write_text(NETWORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(subject, "fresh", lambda function, *given: function(*given))
    output = tmp_path / "large_sets.md"
    arguments = ["--images", str(folder / "clean"), "--classifier", "scale_network:network"]
    arguments += ["--sizes", "40", "20", "--pixels", "32", "--batch", "10", "--parts", "12"]
    subject.main([*arguments, "--output", str(output)])
    text = output.read_text()
    assert capsys.readouterr().out == text
    rows = [line.split("|") for line in text.splitlines() if line.startswith("|")]
    sizes = [row for row in rows if row[1].strip() in ("20", "40")]
    assert [row[1].strip() for row in sizes] == ["20", "40"]
    assert [row[-2].strip() for row in sizes] == ["none, `dncnn`"] * 2
    assert all(float(row[6]) > 0 for row in sizes)
    assert "of 6 files" in text
    assert "Memory grows by less than 50 MB" in text
    assert str(tmp_path) not in text


def test_a_fresh_process_has_one_thread_and_this_one_keeps_its_own(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    before = dict(os.environ)
    assert fresh(os.getenv, "OMP_NUM_THREADS") == "1"
    assert fresh(os.getenv, "LOKY_MAX_CPU_COUNT") == "1"
    assert before == dict(os.environ)
    assert set(ONE_THREAD.values()) == {"1"}


def test_verdicts_hold_or_not() -> None:
    good = page(cost(500, 12, 700, "dncnn"), cost(2000, 42, 710, "dncnn"))
    assert good.count("**holds**") == 2
    assert "changes by +10.0 MB" in good
    grown = page(cost(500, 12, 700), cost(2000, 42, 740), cost(8000, 162, 751))
    assert "less than 50 MB: **DOES NOT HOLD**" in grown
    assert "by +51.0 MB, from 2,000 to 8,000 by +11.0 MB" in grown
    assert "within 15%: **holds**" in grown
    slower = page(cost(500, 12, None), cost(2000, 50, None))
    assert "within 15%: **DOES NOT HOLD**" in slower
    assert "costs 20.0% more" in slower
    assert "Memory: not measured" in slower
    other = page(cost(500, 12, 700, "dncnn"), cost(2000, 42, 710, "bilateral"))
    assert "not checked" in other


def test_the_whole_benchmark_follows_from_the_parts() -> None:
    whole = estimate.whole(PARTS, cost(8000, 162, 700, "dncnn"))
    assert whole.trials == pytest.approx(3000 * 0.02)
    assert whole.cell == pytest.approx(50_000 * (0.002 + 0.002 + 0.02 + 0.015) + 60)
    assert whole.thread_hours == pytest.approx(96 * whole.cell / 3600)
    assert whole.hours(2) == pytest.approx(whole.thread_hours / 2)
    assert whole.hours(16) == pytest.approx(whole.thread_hours / 16)
    assert whole.idle(16) == 0
    assert whole.hours(40) == pytest.approx(3 * whole.cell / 3600)
    assert whole.idle(40) == pytest.approx(0.2)
    gpu = estimate.on_gpu(PARTS)
    assert gpu.operations == pytest.approx(96 * 50_000 * 11e9)
    assert gpu.network_hours == pytest.approx(gpu.operations / 31.2e12 / 3600)
    assert gpu.thread_hours == pytest.approx(96 * 50_000 * 0.004 / 3600)


def test_bad_arguments_are_refused_before_work_starts(folder: Path, tmp_path: Path, capsys) -> None:
    images = ["--images", str(folder / "clean")]
    with pytest.raises(SystemExit) as caught:
        subject.main([*images, "--classifier", "none:such"])
    assert "there is no module 'none'" in str(caught.value)
    with pytest.raises(SystemExit):
        subject.main([*images, "--sizes", "20"])
    assert "at least two sizes" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        subject.main([*images, "--output", str(tmp_path)])
    assert "cannot be a file" in capsys.readouterr().err
