"""A benchmark of one's own images: pipeline `corrupt`."""

import json
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from projects import Project, make_project
from superstar.corruptions import corrupt, frost_source
from superstar.datasets import ClassFoldersDataset, DownloadedFoldersDataset
from superstar.images import from_uint8, to_uint8
from superstar.parameters import Corrupt
from superstar.pipelines.corrupt import nodes

GIVEN = {
    "shifts": ["gaussian_noise", "contrast+fog"],
    "severities": [2, 5],
    "resize": 40,
    "crop": 32,
    "batch_size": 3,
}
CLASSES = ("cat", "dog")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven photographs of two classes, in several sizes, formats and colour spaces."""
    root = tmp_path_factory.mktemp("images") / "mine"
    rng = np.random.default_rng(0)
    kinds = (("RGB", "jpg"), ("L", "png"), ("RGBA", "png"), ("CMYK", "jpg"), ("P", "png"))
    for i in range(7):
        mode, ending = kinds[i % len(kinds)]
        pixels = rng.integers(0, 256, (7, 9, 3), dtype=np.uint8)
        picture = Image.fromarray(pixels).resize((50 + 10 * i, 64 - i)).convert(mode)
        path = root / CLASSES[i % 2] / f"photo {i}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    return root


def made(folder: Path, **changed: object) -> dict[tuple[str, int | None], tuple[list, np.ndarray]]:
    images = ClassFoldersDataset(folder=str(folder)).load()
    cells = nodes.corrupt_files(images, GIVEN | changed, "imagenet", 4)
    sets = {}
    for cell, make in cells.items():
        batches = list(make())
        names = [name for part, _ in batches for name in part]
        sets[cell] = names, np.concatenate([pixels for _, pixels in batches])
    return sets


def test_every_set_is_the_clean_one_corrupted(folder):
    sets = made(folder)
    wanted = [("none", None), *((shift, s) for shift in GIVEN["shifts"] for s in (2, 5))]
    assert list(sets) == wanted
    names, clean = sets["none", None]
    assert clean.shape == (7, 32, 32, 3)
    assert names == sorted(f"{path.parent.name}/{path.name}" for path in folder.glob("*/*"))
    for shift, severity in wanted[1:]:
        expected = to_uint8(corrupt(from_uint8(clean), shift, severity, "imagenet", 4))
        np.testing.assert_array_equal(sets[shift, severity][1], expected)
        assert sets[shift, severity][0] == names


@pytest.mark.parametrize("batch_size", [1, 2, 7, 50])
def test_batches_have_no_bearing_on_the_images(folder, batch_size):
    for one, other in zip(
        made(folder).values(), made(folder, batch_size=batch_size).values(), strict=True
    ):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])


def test_frost_is_told_where_there_is_frost():
    told = nodes.describe(GIVEN | {"shifts": ["frost", "snow"]}, "imagenet", 0)
    assert told["frost"] == frost_source()
    assert nodes.describe(GIVEN, "imagenet", 0)["frost"] is None


def test_what_is_not_ours_is_not_overwritten(folder, tmp_path):
    with pytest.raises(ValueError, match="is there already and not a benchmark of ours"):
        Corrupt.model_validate(GIVEN | {"output": str(tmp_path)})
    for output in (folder, folder.parent, folder / "new"):
        with pytest.raises(ValueError, match="must not hold the input"):
            Corrupt.model_validate(GIVEN | {"input": str(folder), "output": str(output)})
    assert Corrupt.model_validate(GIVEN | {"output": str(tmp_path / "new")})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shifts": ["gaussian_nose"]}, "did you mean 'gaussian_noise'"),
        ({"shifts": ["fog", "fog"]}, "named twice"),
        ({"severities": [0]}, "greater than or equal to 1"),
        ({"crop": 64}, "exceeds resize"),
    ],
)
def test_bad_parameters_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        Corrupt.model_validate(GIVEN | changed)


def written(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("corrupt") / "project")


def run(project: Project, images: Path, output: str, *more: str):
    given = ",".join((f"corrupt.input={images}", f"corrupt.output={output}", *more))
    return project.run("--pipelines", "corrupt", "--params", given)


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(project, folder, tmp_path):
    whole = run(project, folder, f"{tmp_path / 'whole'}/", "corrupt.batch_size=50")
    assert whole.returncode == 0, whole.stderr
    expected = written(tmp_path / "whole")
    assert len(expected) == 7 * (1 + 3 * 5) + 1
    told = json.loads((tmp_path / "whole.json").read_text())
    assert told["shifts"] == ["gaussian_noise", "contrast", "frost"]

    killed = tmp_path / "killed"
    given = f"corrupt.input={folder},corrupt.output={killed}"
    process = project.start_until("corrupt_files ...", "--pipelines", "corrupt", "--params", given)
    beside = killed.with_name(".part-killed")
    while not (beside / "gaussian_noise" / "3").exists():
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert not killed.exists()
    first = next((beside / "none").rglob("*.JPEG"))
    kept = first.stat().st_ino
    outcome = run(project, folder, str(killed))
    assert outcome.returncode == 0, outcome.stderr
    assert written(killed) == expected
    assert (killed / first.relative_to(beside)).stat().st_ino == kept

    sets = DownloadedFoldersDataset(folder=str(killed), wnids=str(killed / "classes.txt")).load()
    frosty = sets.load("frost", 5)
    assert frosty.batch().shape == (7, 3, 32, 32)
    assert frosty.labels.tolist() == [0] * 4 + [1] * 3


def test_a_file_that_is_no_image_is_named(project, folder, tmp_path):
    images = tmp_path / "images"
    shutil.copytree(folder, images)
    (images / "dog" / "broken.jpg").write_bytes(b"no image")
    outcome = run(project, images, str(tmp_path / "out"))
    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[-1].startswith("error: ")
    assert "broken.jpg" in outcome.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_changed_images_are_not_mixed_with_what_was_made_of_the_old(project, folder, tmp_path):
    images = tmp_path / "images"
    shutil.copytree(folder, images)
    (images / "dog" / "late.jpg").write_bytes(b"no image")
    assert run(project, images, str(tmp_path / "out")).returncode == 1
    assert (tmp_path / ".part-out").exists()
    (images / "dog" / "late.jpg").unlink()
    shutil.copy(images / "dog" / "photo 1.png", images / "cat" / "photo 9.png")
    outcome = run(project, images, str(tmp_path / "out"))
    assert outcome.returncode == 0, outcome.stderr
    sets = DownloadedFoldersDataset(
        folder=str(tmp_path / "out"), wnids=str(tmp_path / "out" / "classes.txt")
    ).load()
    assert len(sets.load("none", None)) == len(list(images.glob("*/*")))
    assert {path.name for path in tmp_path.iterdir()} == {
        *("images", "out", "out.json", ".out.stamp.json", ".out.json.stamp.json")
    }


def test_without_images_it_says_what_to_give(project, tmp_path):
    outcome = run(project, tmp_path / "nowhere", str(tmp_path / "out"))
    assert outcome.returncode == 1
    assert f"folder {tmp_path / 'nowhere'} does not exist" in outcome.stderr.splitlines()[-1]


def test_crop_and_resize_may_be_left_out(folder):
    images = ClassFoldersDataset(folder=str(folder)).load()
    alone = images.take(slice(1))
    cells = nodes.corrupt_files(alone, GIVEN | {"resize": None, "crop": None}, "imagenet", 0)
    (_, pixels), *_ = cells["none", None]()
    with Image.open(folder / alone.names[0]) as picture:
        assert pixels.shape == (1, picture.height, picture.width, 3)
