"""A benchmark of one's own images: pipeline `corrupt`."""

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DataCatalog
from PIL import Image

from projects import Project, make_project
from superstar import __version__
from superstar.corruptions import C_BAR_SHIFTS, COMPOSITES, STANDARD_SHIFTS, corrupt, frost_source
from superstar.datasets import (
    ClassFoldersDataset,
    ExternalFoldersDataset,
    ImageFoldersDataset,
    JSONDataset,
)
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.images import from_uint8, to_uint8
from superstar.parameters import Corrupt
from superstar.pipelines.corrupt import nodes
from superstar.pipelines.corrupt.places import check_places

GIVEN = {
    "shifts": ["gaussian_noise", "contrast+fog"],
    "severities": [2, 5],
    "resize": 40,
    "crop": 32,
    "format": "jpeg",
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
    assert names == sorted(f"{path.parent.name}/{path.stem}.JPEG" for path in folder.glob("*/*"))
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


def test_the_description_tells_what_sets_were_made_from_and_with(folder):
    images = ClassFoldersDataset(folder=str(folder)).load()
    told = nodes.describe(images, GIVEN | {"shifts": ["frost", "snow"]}, "imagenet", 7)
    assert told == {
        "input": str(folder),
        "images": 7,
        "classes": 2,
        "resize": 40,
        "crop": 32,
        "format": "jpeg",
        "jpeg_quality": 85,
        "superstar": __version__,
        "shifts": ["frost", "snow"],
        "severities": [2, 5],
        "scale": "imagenet",
        "seed": 7,
        "frost": frost_source(),
    }
    assert nodes.describe(images, GIVEN, "imagenet", 0)["frost"] is None


def test_without_loss_files_hold_what_corrupt_gives(folder, tmp_path):
    sets = made(folder, format="png")
    files = ImageFoldersDataset(filepath=str(tmp_path / "out"))
    images = ClassFoldersDataset(folder=str(folder)).load()
    files.save(nodes.corrupt_files(images, GIVEN | {"format": "png"}, "imagenet", 4))
    for (shift, severity), (names, expected) in sets.items():
        loaded = files.load().load(shift, severity)
        assert list(loaded.names) == names
        np.testing.assert_array_equal(to_uint8(loaded.batch()), expected)
    assert nodes.describe(images, GIVEN | {"format": "png"}, "cifar", 4)["jpeg_quality"] is None


def places(images: Path, output: Path, given: dict[str, str | None] | None = None) -> DataCatalog:
    catalog = DataCatalog(
        {
            "images_to_corrupt": ClassFoldersDataset(folder=str(images)),
            "corrupted_sets": ImageFoldersDataset(filepath=str(output)),
            "corrupted_description": JSONDataset(filepath=f"{output}.json"),
        }
    )
    catalog["params:corrupt"] = (
        GIVEN | {"input": str(images), "output": str(output)} | (given or {})
    )
    return catalog


def test_what_is_not_ours_is_not_overwritten(folder, tmp_path):
    check_places(places(folder, tmp_path), again=False)
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="and is not a benchmark of ours"):
        check_places(places(folder, tmp_path), again=False)
    for output in (folder, folder.parent, folder / "new"):
        with pytest.raises(InputError, match="must not hold the input"):
            check_places(places(folder, output), again=False)
    with pytest.raises(InputError, match="nothing can be written to"):
        check_places(places(folder, tmp_path / "mine.txt" / "new"), again=False)
    check_places(places(folder, tmp_path / "new" / "deep"), again=False)


def test_a_stamp_that_was_left_does_not_make_a_folder_ours(folder, tmp_path):
    output = ImageFoldersDataset(filepath=str(tmp_path / "out"))
    images = ClassFoldersDataset(folder=str(folder)).load()
    output.save(nodes.corrupt_files(images, GIVEN, "imagenet", 0))
    output.stamp("this")
    (output.location / ".DS_Store").touch()
    assert output.problem(Digests()) is None
    check_places(places(folder, output.location), again=False)
    (output.location / "notes.txt").touch()
    with pytest.raises(InputError, match=r"holds 'notes\.txt' and is not a benchmark of ours"):
        check_places(places(folder, output.location), again=False)


@pytest.mark.parametrize("beside", ["out.json", ".part-out"])
def test_what_lies_beside_is_not_overwritten_either(folder, tmp_path, beside):
    (tmp_path / beside).mkdir()
    (tmp_path / beside / "mine.txt").touch()
    with pytest.raises(InputError, match="name a"):
        check_places(places(folder, tmp_path / "out"), again=False)


def test_the_input_is_not_where_pieces_are_written(folder, tmp_path):
    images = tmp_path / ".part-out"
    shutil.copytree(folder, images)
    with pytest.raises(InputError, match="must not hold the input"):
        check_places(places(images, tmp_path / "out"), again=False)


@pytest.mark.parametrize("name", ["input", "output"])
def test_both_folders_must_be_given_on_the_command_line(folder, tmp_path, name):
    with pytest.raises(InputError, match=rf"add --params corrupt\.{name}=FOLDER"):
        check_places(places(folder, tmp_path, {name: None}), again=False)
    with pytest.raises(InputError, match=f"give corrupt.{name} with --params"):
        check_places(places(folder, tmp_path, {name: "elsewhere"}), again=False)


def test_only_what_will_be_made_again_is_warned_of(folder, tmp_path, caplog):
    output = ImageFoldersDataset(filepath=str(tmp_path / "out"))
    check_places(places(folder, output.location), again=True)
    images = ClassFoldersDataset(folder=str(folder)).load()
    given = GIVEN | {"shifts": ["contrast+fog", "sparkles"]}
    output.save(nodes.corrupt_files(images, given, "imagenet", 0))
    output.stamp("this")
    check_places(places(folder, output.location), again=False)
    assert "will be replaced" not in caplog.text
    check_places(places(folder, output.location), again=True)
    assert "will be replaced" in caplog.text


def test_shifts_and_severities_may_be_words_with_spaces():
    words = Corrupt.model_validate(GIVEN | {"shifts": "fog imagenet_cp", "severities": "1 5"})
    assert words.shifts == ["fog", *COMPOSITES]
    assert words.severities == [1, 5]
    one = Corrupt.model_validate(GIVEN | {"shifts": "imagenet_c_standard", "severities": 3})
    assert one.shifts == list(STANDARD_SHIFTS)
    assert one.severities == [3]
    others = Corrupt.model_validate(GIVEN | {"shifts": "imagenet_c_bar"})
    assert others.shifts == list(C_BAR_SHIFTS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shifts": ["gaussian_nose"]}, "did you mean 'gaussian_noise'"),
        ({"shifts": ["fog", "fog"]}, "named twice"),
        ({"shifts": ["fog+"]}, "empty part"),
        ({"shifts": " "}, "at least 1 item"),
        ({"severities": [0]}, "greater than or equal to 1"),
        ({"severities": "1 high"}, "valid integer"),
        ({"severities": "3 3"}, "named twice"),
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


def run(project: Project, images: Path, output: str, *more: str, resume: bool = False):
    given = ",".join((f"corrupt.input={images}", f"corrupt.output={output}", *more))
    resuming = ["--only-missing-outputs"] if resume else []
    return project.run("--pipelines", "corrupt", *resuming, "--params", given)


KILLED_ONCE_MADE = """
import os, pathlib, signal, threading, time

def watch():
    while not pathlib.Path({place!r}).exists():
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=watch, daemon=True).start()
from superstar.__main__ import main
main()
"""


def kill_once_made(place: Path, project: Project, images: Path, output: Path) -> None:
    given = ("--params", f"corrupt.input={images},corrupt.output={output}")
    command = ("run", "--env", "test", "--pipelines", "corrupt", *given)
    killed = project.python(KILLED_ONCE_MADE.format(place=str(place)), *command)
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(project, folder, tmp_path):
    whole = run(project, folder, f"{tmp_path / 'whole'}/", "corrupt.batch_size=50")
    assert whole.returncode == 0, whole.stderr
    expected = written(tmp_path / "whole")
    assert len(expected) == 7 * (1 + 3 * 5) + 1
    told = json.loads((tmp_path / "whole.json").read_text())
    assert told["shifts"] == ["gaussian_noise", "contrast", "frost"]

    killed = tmp_path / "killed"
    beside = killed.with_name(".part-killed")
    kill_once_made(beside / "gaussian_noise" / "3", project, folder, killed)
    assert not killed.exists()
    first = next((beside / "none").rglob("*.JPEG"))
    kept = first.stat().st_ino
    outcome = run(project, folder, str(killed), resume=True)
    assert outcome.returncode == 0, outcome.stderr
    assert written(killed) == expected
    assert (killed / first.relative_to(beside)).stat().st_ino == kept

    sets = ExternalFoldersDataset(folder=str(killed), classes=str(killed / "classes.txt")).load()
    frosty = sets.load("frost", 5)
    assert frosty.batch().shape == (7, 3, 32, 32)
    assert frosty.labels.tolist() == [0] * 4 + [1] * 3


def test_all_files_that_are_no_images_are_named(project, folder, tmp_path):
    images = tmp_path / "images"
    shutil.copytree(folder, images)
    for name in ("cat/a.jpg", "dog/broken.jpg", "dog/z.png"):
        (images / name).write_bytes(b"no image")
    outcome = run(project, images, str(tmp_path / "out"))
    assert outcome.returncode == 1
    told = outcome.stderr.splitlines()[-1]
    assert told.startswith("error: 3 of 10 images cannot be taken: ")
    assert all(name in told for name in ("cat/a.jpg", "dog/broken.jpg", "dog/z.png"))
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_finished_sets_are_kept_or_replaced_by_what_is_asked_for(project, folder, tmp_path):
    out = tmp_path / "out"

    def resume(*more: str) -> str:
        outcome = run(project, folder, str(out), *more, resume=True)
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stderr

    assert "7 images of 2 classes, 3 sets of them" in resume(
        "corrupt.shifts=fog contrast", "corrupt.severities=2"
    )
    assert "nothing to do" in resume(
        "corrupt.shifts=fog contrast", "corrupt.severities=2", "corrupt.batch_size=1"
    )
    resume("corrupt.shifts=contrast", "corrupt.severities=2 4")
    sets = ExternalFoldersDataset(folder=str(out), classes=str(out / "classes.txt")).load()
    assert sets.shifts == ("contrast", "none")
    assert sets.severities("contrast") == (2, 4)


def test_changed_images_are_not_mixed_with_what_was_made_of_the_old(project, folder, tmp_path):
    images = tmp_path / "images"
    shutil.copytree(folder, images)
    kill_once_made(tmp_path / ".part-out" / "none", project, images, tmp_path / "out")
    shutil.copy(images / "dog" / "photo 1.png", images / "cat" / "photo 9.png")
    outcome = run(project, images, str(tmp_path / "out"), resume=True)
    assert outcome.returncode == 0, outcome.stderr
    sets = ExternalFoldersDataset(
        folder=str(tmp_path / "out"), classes=str(tmp_path / "out" / "classes.txt")
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
