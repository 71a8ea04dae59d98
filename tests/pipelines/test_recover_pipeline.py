"""A folder of people's images, corrected: pipeline `recover`."""

import json
import os
import re
import shutil
import signal
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kedro.io import DataCatalog, DatasetError
from PIL import ExifTags, Image, ImageCms

from control.control_toys import photographs, supervisor_for
from projects import Project, make_project
from superstar.actions import Plan, packaged_denoiser
from superstar.actions.plan import Correction
from superstar.actions.unet import UNet
from superstar.control import Supervisor
from superstar.datasets import FolderFilesDataset, GivenSupervisorDataset, RecoveredDataset
from superstar.datasets.recovered import list_files
from superstar.decoding import SUFFIXES, read_image
from superstar.errors import InputError
from superstar.images import from_uint8, to_uint8
from superstar.parameters import Recover
from superstar.pipelines.recover import nodes
from superstar.pipelines.recover.files import encode, metadata, output_names, taken_at
from superstar.pipelines.recover.places import check_places
from superstar.pipelines.recover.report import HTML_REPORT, JSON_REPORT

SIDE = 24
GIVEN = {
    "group": "all",
    "window": 50,
    "order": "name",
    "controller": None,
    "size": "supervisor",
    "resize": None,
    "decide_on": 1000,
    "quality": 95,
    "shown": 2,
    "noise_images": 4,
    "noise_crop": 96,
}
EXECUTION = {
    "device": "cpu",
    "workers": 1,
    "threads": 1,
    "batch_size": 1,
    "backend": "loky",
    "address": None,
    "retries": 0,
}
BROKEN = {"flat/empty.png": b"", "flat/text.jpg": b"no image", "flat/deep/<b>odd.gif": b"GIF8"}


@pytest.fixture(scope="module")
def supervisor() -> Supervisor:
    return supervisor_for(SIDE)


def flat(images: torch.Tensor) -> torch.Tensor:
    return 0.5 + (images - 0.5) / 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """At home in `home/`, of low contrast in `flat/deep/`, and broken files beside them."""
    root = tmp_path_factory.mktemp("images") / "mine"
    kinds = ("png", "jpg", "webp", "tif", "bmp")
    for place, images in (
        ("home", photographs(12, 60, 48, seed=5)),
        ("flat/deep", flat(photographs(12, 50, 70, seed=6))),
    ):
        (root / place).mkdir(parents=True)
        for i, image in enumerate(to_uint8(images)):
            path = root / place / f"photo {i:02}.{kinds[i % len(kinds)]}"
            Image.fromarray(image).save(path, quality=98)
    for name, content in BROKEN.items():
        (root / name).write_bytes(content)
    return root


def recover(
    supervisor: Supervisor, images: Path, output: Path, **changed: object
) -> dict[str, object]:
    """The report, once all is written."""
    parameters = GIVEN | changed
    made = nodes.recover_files(list_files(images), supervisor, parameters, EXECUTION, 0)
    RecoveredDataset(filepath=str(output)).save(made)
    return json.loads((output / JSON_REPORT).read_text())


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def plan_of(group: dict) -> Plan:
    return Plan.from_json(json.dumps(group["plan"]))


def test_noise_that_the_reduced_view_hides_is_taken_off_at_full_size(supervisor, tmp_path):
    denoiser = UNet(**packaged_denoiser().shape | {"gate": (4 / 255, 12 / 255)})
    denoiser.load_state_dict(packaged_denoiser().state_dict())
    supervisor = replace(supervisor, denoiser=denoiser)
    # Averages over blocks of 8x8 pixels hide all but an eighth of the noise.
    clean = torch.nn.functional.interpolate(
        photographs(12, SIDE, SIDE, seed=5), scale_factor=8, mode="bicubic"
    ).clamp(0, 1)
    noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    for name, images in (("clean", clean), ("noisy", (clean + 20 / 255 * noise).clamp(0, 1))):
        (tmp_path / "in" / name).mkdir(parents=True)
        for i, image in enumerate(to_uint8(images)):
            Image.fromarray(image).save(tmp_path / "in" / name / f"{i:02}.png")
    out = tmp_path / "out"
    report = recover(supervisor, tmp_path / "in", out, group="folder", size="original")
    left, denoised = report["groups"]
    assert [left["corrections"], denoised["corrections"]] == [[], ["dncnn"]]
    assert left["noise"] < 2
    assert denoised["noise"] == pytest.approx(20, abs=3)
    for i, image in enumerate(to_uint8(clean)):
        path = f"noisy/{i:02}.png"
        before, after = (read_image(root / path).astype(float) for root in (tmp_path / "in", out))
        assert np.square(after - image).mean() < np.square(before - image).mean() / 2
    assert contents(out / "clean") == contents(tmp_path / "in" / "clean")
    page = (out / "report.html").read_text()
    shown = re.findall('<img src="([^"]+)" alt="before"><img src="([^"]+)" alt="after">', page)
    assert [before == after for before, after in shown] == [True] * 2 + [False] * 2


def test_each_group_is_corrected_by_what_the_controller_chose(supervisor, folder, tmp_path):
    before = contents(folder)
    report = recover(supervisor, folder, tmp_path / "out", group="folder")
    assert contents(folder) == before
    groups = {group["group"]: group for group in report["groups"]}
    assert list(groups) == ["flat/deep", "home"]  # In flat/ nothing can be read.
    assert (groups["home"]["plan"], groups["home"]["stopped_by"]) == ([], "clean")
    names = [file["file"] for file in groups["flat/deep"]["files"]]
    seen = from_uint8(np.stack([read_image(folder / name, SIDE, SIDE) for name in names]))
    expected = supervisor.recover(seen, controller="calibrated")
    assert plan_of(groups["flat/deep"]) == expected.plan != Plan()
    assert groups["flat/deep"]["p_value"] == expected.p_value
    assert groups["flat/deep"]["readings"] == list(expected.distances)
    for name, image in zip(names, to_uint8(expected.plan.apply(seen)), strict=True):
        if name.endswith(("png", "bmp", "tif")):
            np.testing.assert_array_equal(read_image(tmp_path / "out" / name), image)
    assert report["left_out"].keys() == BROKEN.keys()
    written = set(contents(tmp_path / "out")) - {JSON_REPORT, HTML_REPORT}
    assert written == set(before) - set(BROKEN)
    assert report["written"] == len(written) == 24


def test_at_their_own_size_files_get_the_same_plan(supervisor, folder, tmp_path):
    report = recover(supervisor, folder, tmp_path / "out", group="folder", size="original")
    corrected, untouched = report["groups"]
    for file in untouched["files"]:
        copy = tmp_path / "out" / file["written"]
        assert copy.read_bytes() == (folder / file["file"]).read_bytes()
    png = corrected["files"][0]["file"]
    whole = read_image(folder / png)
    assert whole.shape == (50, 70, 3)
    expected = to_uint8(plan_of(corrected).apply(from_uint8(whole[None])))[0]
    np.testing.assert_array_equal(read_image(tmp_path / "out" / png), expected)


def test_what_cannot_be_read_is_no_window_of_its_own(supervisor, folder, tmp_path):
    shutil.copytree(folder / "home", tmp_path / "in")
    (tmp_path / "in" / "zebra.png").write_bytes(b"no image")
    report = recover(supervisor, tmp_path / "in", tmp_path / "out", group="windows", window=6)
    assert [group["group"] for group in report["groups"]] == ["window 1", "window 2"]
    assert list(report["left_out"]) == ["zebra.png"]
    page = Page((tmp_path / "out" / HTML_REPORT).read_text())
    assert "No image could be read" not in page.text


def test_the_paper_s_controller_may_be_asked_for(supervisor, folder, tmp_path):
    report = recover(supervisor, folder, tmp_path / "out", controller="paper")
    (group,) = report["groups"]
    assert report["controller"] == "paper"
    assert group["p_value"] is None
    assert {step["name"] for step in group["plan"]} <= set(supervisor.actions)


def test_of_a_large_group_a_sample_decides_for_all(supervisor, folder, tmp_path):
    report = recover(supervisor, folder / "home", tmp_path / "out", decide_on=5)
    (group,) = report["groups"]
    assert (group["decided_on"], len(group["files"])) == (5, 12)


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_the_page_needs_nothing_else_and_tells_what_was_left_out(supervisor, folder, tmp_path):
    recover(supervisor, folder, tmp_path / "out", group="folder", size="original")
    text = (tmp_path / "out" / HTML_REPORT).read_text()
    page = Page(text)
    sources = [attributes["src"] for tag, attributes in page.tags if tag == "img"]
    assert len(sources) == 2 * 2 * GIVEN["shown"]
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    links = {attributes["href"] for tag, attributes in page.tags if "href" in attributes}
    assert links == {"#left-out"}
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe"}
    assert "<b>odd.gif" in page.text
    assert all(name in page.text for name in BROKEN)
    assert "p-value before: ≤ 0.0066" in page.text  # Of 150 clean images.
    assert page.text.count("≤") == 1


def test_groups_are_all_folders_or_windows_in_an_order(folder):
    files = list_files(folder)

    def grouped(**changed: object) -> dict[str, list[str]]:
        groups = nodes.group_files(files, Recover.model_validate(GIVEN | changed))
        return {name: list(names) for name, names in groups.items()}

    assert grouped() == {"all": list(files.names)}
    assert sorted(name for names in grouped(group="folder").values() for name in names) == sorted(
        files.names
    )
    windows = grouped(group="windows", window=10)
    assert [len(names) for names in windows.values()] == [10, 10, 7]
    assert [name for names in windows.values() for name in names] == list(files.names)
    changed = {name: (100 - place) * 10**9 for place, name in enumerate(files.names)}
    later = nodes.group_files(
        replace(files, changed=changed),
        Recover.model_validate(GIVEN | {"group": "windows", "window": 100, "order": "time"}),
    )
    assert list(later["window 1"]) == list(files.names)[::-1]


def test_the_time_of_a_photograph_is_its_exif_s_or_else_the_file_s(tmp_path):
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2020:02:03 04:05:06"
    Image.new("RGB", (20, 20)).save(tmp_path / "a.jpg", exif=exif)
    Image.new("RGB", (20, 20)).save(tmp_path / "b.jpg")
    assert taken_at(tmp_path / "a.jpg", 0) == "2020:02:03 04:05:06."
    assert taken_at(tmp_path / "b.jpg", 0) == "1970:01:01 00:00:00.000000"


@pytest.mark.parametrize("ending", sorted(SUFFIXES))
def test_every_format_is_read_back_as_it_was_written(ending, tmp_path):
    image = to_uint8(photographs(1, 40, 30))[0]
    (output,) = output_names([f"a{ending}"]).values()
    path = tmp_path / output
    path.write_bytes(encode(image, output, 95, {}))
    assert np.abs(read_image(path).astype(int) - image).mean() < 3
    with Image.open(path) as file:
        assert file.format == Image.registered_extensions()[path.suffix]


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tif", "avif"])
def test_exif_and_profile_are_kept_and_the_orientation_is_done(
    ending, supervisor, tmp_path, caplog
):
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "Maker"
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.IFD.Exif] = {ExifTags.Base.LensModel: "lens"}
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    (tmp_path / "in").mkdir()
    picture = Image.fromarray(to_uint8(flat(photographs(1, 60, 40)))[0])
    picture.save(tmp_path / "in" / f"a.{ending}", exif=exif.tobytes(), icc_profile=profile)
    recover(supervisor, tmp_path / "in", tmp_path / "out", size="original")
    with Image.open(tmp_path / "out" / f"a.{ending}") as file:
        told = file.getexif()
        lens = told.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.LensModel]
        assert file.info["icc_profile"] == profile
    upright = read_image(tmp_path / "in" / f"a.{ending}")
    assert read_image(tmp_path / "out" / f"a.{ending}").shape == upright.shape
    assert (told[ExifTags.Base.Make], lens) == ("Maker", "lens")
    assert "left out" not in caplog.text


def test_a_profile_of_other_colours_is_left_out(tmp_path):
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    Image.new("RGB", (20, 20)).save(tmp_path / "a.png", icc_profile=lab)
    assert metadata(tmp_path / "a.png") == {}


def test_two_files_never_become_one():
    assert output_names(["a.gif", "a.png"]) == {"a.gif": "a.gif.png", "a.png": "a.png"}
    with pytest.raises(InputError, match=r"would both be written to a\.gif\.png"):
        output_names(["a.gif", "a.gif.png"])
    with pytest.raises(InputError, match="the report"):
        output_names(["report.html/a.png"])


def test_an_image_too_large_for_the_denoiser_is_left_out(supervisor, folder, tmp_path, monkeypatch):
    work = nodes.Work(
        folder, supervisor, Recover.model_validate(GIVEN | {"size": "original"}), "calibrated", 0
    )
    decision = {"plan": json.loads(Plan((Correction("dncnn"),)).to_json())}
    monkeypatch.setattr(nodes, "MOST_DENOISED", 48 * 60 - 1)
    with pytest.raises(InputError, match="too many for the memory"):
        work.write("home/photo 00.png", "a.png", decision, tmp_path / "a.png")


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damaged_files_are_named_and_the_others_corrected(supervisor, folder, data, tmp_path):
    images = tmp_path / "fuzzed"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir()
    shutil.copy(folder / "home" / "photo 00.png", images / "sound.png")
    source = data.draw(st.sampled_from(sorted(folder.glob("home/*"))))
    content = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    (images / f"fuzzed{source.suffix}").write_bytes(content)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    size = data.draw(st.sampled_from(["supervisor", "original"]))
    report = recover(supervisor, images, tmp_path / "out", size=size)
    written = {file["file"] for group in report["groups"] for file in group["files"]}
    assert "sound.png" in written
    assert written | report["left_out"].keys() == {"sound.png", f"fuzzed{source.suffix}"}
    assert (images / f"fuzzed{source.suffix}").read_bytes() == bytes(content)


def test_without_any_sound_file_it_says_so_and_writes_nothing(supervisor, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jpg").write_bytes(b"no image")
    with pytest.raises(DatasetError, match="none of the 1 files can be taken"):
        recover(supervisor, tmp_path / "in", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def places(images: Path, place: Path, trained: Path, **changed: object) -> DataCatalog:
    catalog = DataCatalog(
        {
            "images_to_recover": FolderFilesDataset(folder=str(images)),
            "given_supervisor": GivenSupervisorDataset(
                models=str(trained.parent), name=str(trained), folder=str(trained)
            ),
            "recovered_images": RecoveredDataset(filepath=str(place)),
        }
    )
    named = {"input": str(images), "output": str(place), "supervisor": str(trained)}
    catalog["params:recover"] = GIVEN | named | changed
    return catalog


@pytest.fixture(scope="module")
def saved(supervisor, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("saved") / "supervisor"
    supervisor.save(place)
    return place


def test_places_are_refused_before_any_work(supervisor, saved, folder, tmp_path):
    check_places(places(folder, tmp_path / "out", saved), again=False)
    for output in (folder, folder.parent, folder / "new"):
        with pytest.raises(InputError, match="must not hold the input"):
            check_places(places(folder, output, saved), again=False)
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="which no run of recover has written"):
        check_places(places(folder, tmp_path, saved), again=False)
    for name in ("input", "output", "supervisor"):
        with pytest.raises(InputError, match=rf"recover\.{name} is not given"):
            check_places(places(folder, tmp_path / "out", saved, **{name: None}), again=False)
    with pytest.raises(InputError, match="neither a folder nor a benchmark"):
        check_places(places(folder, tmp_path / "out", tmp_path / "none"), again=False)
    with pytest.raises(InputError, match=r"raise recover\.resize"):
        check_places(places(folder, tmp_path / "out", saved, resize=20), again=False)
    replace(supervisor, calibrated=None).save(tmp_path / "old")
    wanted = places(folder, tmp_path / "out", tmp_path / "old", controller="calibrated")
    with pytest.raises(InputError, match=r"unknown recover\.controller 'calibrated'"):
        check_places(wanted, again=False)


def test_what_a_user_put_into_an_output_is_not_lost(supervisor, saved, folder, tmp_path, caplog):
    output = tmp_path / "out"
    recover(supervisor, folder, output)
    RecoveredDataset(filepath=str(output)).stamp("this")
    check_places(places(folder, output, saved), again=True)
    assert "will be replaced" in caplog.text
    (output / "home" / "notes.txt").touch()
    with pytest.raises(InputError, match=r"holds 'home/notes\.txt'"):
        check_places(places(folder, output, saved), again=False)


def test_what_is_no_image_file_is_listed_with_its_reason(tmp_path):
    (tmp_path / "deep").mkdir()
    Image.new("RGB", (20, 20)).save(tmp_path / "deep" / "a.png")
    for name in (".hidden.png", "notes.txt", f"{'n' * 246}.png"):
        (tmp_path / name).touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.png")).touch()
    (tmp_path / "nowhere.jpg").symlink_to("none")
    (tmp_path / "linked").symlink_to(tmp_path / "deep")
    files = list_files(tmp_path)
    assert files.names == ("deep/a.png",)
    assert {name[:9]: why for name, why in files.left_out.items()} == {
        "notes.txt": "its ending is not that of an image",
        "nnnnnnnnn": "its name is too long",
        "\\xff.png": "its name is not text in UTF-8",
        "nowhere.j": "it is not a file, or a link that leads nowhere",
        "linked": "a link to a folder is not followed",
    }
    with pytest.raises(InputError, match="holds no images"):
        list_files(make_empty(tmp_path))


def make_empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, saved: Path) -> Project:
    made = make_project(tmp_path_factory.mktemp("recover") / "project")
    shutil.copytree(saved, made.root / "data" / "06_models" / "toys" / "supervisor")
    return made


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


def command(images: Path, output: Path) -> tuple[str, ...]:
    named = f"recover.input={images},recover.output={output},recover.supervisor=toys"
    return ("--pipelines", "recover", "--params", f"{named},recover.group=folder")


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(project, folder, tmp_path):
    whole = project.run(*command(folder, tmp_path / "whole"))
    assert whole.returncode == 0, whole.stderr
    assert "3 files are left out" in whole.stderr
    expected = contents(tmp_path / "whole")

    beside = tmp_path / ".part-killed"
    code = KILLED_ONCE_MADE.format(place=str(beside / "home" / "photo 03.tif"))
    killed = project.python(code, "run", "--env", "test", *command(folder, tmp_path / "killed"))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "killed").exists()
    kept = {p.relative_to(beside): p.stat().st_ino for p in beside.glob("flat/deep/*")}
    assert len(kept) == 12

    outcome = project.run("--only-missing-outputs", *command(folder, tmp_path / "killed"))
    assert outcome.returncode == 0, outcome.stderr
    assert contents(tmp_path / "killed") == expected
    assert {name: (tmp_path / "killed" / name).stat().st_ino for name in kept} == kept
    assert not list((tmp_path / "killed").glob(".*"))

    again = project.run("--only-missing-outputs", *command(folder, tmp_path / "killed"))
    assert "nothing to do" in again.stderr


def test_errors_of_a_run_take_one_line(project, folder, tmp_path):
    outcome = project.run(
        "--pipelines", "recover", "--params", f"recover.input={folder},recover.output={tmp_path}/o"
    )
    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[-1].startswith("error: recover.supervisor is not given")
    outcome = project.run(*command(tmp_path / "nowhere", tmp_path / "out"))
    assert outcome.stderr.splitlines()[-1] == f"error: folder {tmp_path}/nowhere does not exist"
