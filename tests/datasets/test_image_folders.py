import pickle
import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, DatasetError, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner
from PIL import Image

from superstar.datasets import (
    ExternalFoldersDataset,
    ImageFolders,
    ImageFoldersDataset,
    image_files,
    image_folders,
    list_images,
)
from superstar.datasets.image_folders import (
    GROUPS,
    encode,
    output_names,
    write_images,
)
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.hooks import guards
from superstar.images import to_uint8

WNIDS = tuple(f"n{i:08}" for i in (1440764, 1443537, 1484850, 1491361, 1494475))
# Files of three of the five classes, the last one first.
NAMES = tuple(f"{WNIDS[c]}/ILSVRC2012_val_0000{i}.JPEG" for c in (4, 0, 2) for i in (7, 2))
LABELS = [0, 0, 2, 2, 4, 4]
SHIFTS = {"noise": "gaussian_noise", "blur": "zoom_blur", "weather": "fog", "extra": "spatter"}


@pytest.fixture
def wnids(tmp_path):
    path = tmp_path / "wnids.txt"
    path.write_text("\n".join(WNIDS) + "\n")
    return path


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (len(NAMES), 24, 24, 3), dtype=np.uint8)


def shifted(images, shift, severity):
    return images // np.uint8((severity or 0) + len(shift))


def unpack(folder, images, shifts, severities=range(1, 6)):
    """ImageNet-C as its archives unpack, six small images instead of 50,000."""
    for shift in shifts:
        for severity in severities:
            for name, image in zip(NAMES, shifted(images, shift, severity), strict=True):
                path = folder / shift / str(severity) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).save(path, quality=85)
    return folder


@pytest.fixture
def download(tmp_path, images):
    return unpack(tmp_path / "ImageNet-C", images, SHIFTS.values())


def decoded(images):
    """The images after their JPEG, in the sorted order of their names."""
    return np.stack(
        [through_jpeg(images[i]) for i in sorted(range(len(NAMES)), key=NAMES.__getitem__)]
    )


def through_jpeg(image):
    return np.asarray(Image.open(BytesIO(encode(image))))


def cells(images, size=4, shifts=("fog", "contrast+fog"), stop=None, made=None):
    """What the dataset saves, in batches of `size`; `stop` is the set in which it is killed."""

    def make(shift, severity):
        def batches():
            for start in range(0, len(NAMES), size):
                if (shift, severity) == stop and start:
                    raise KeyboardInterrupt
                part = slice(start, start + size)
                yield NAMES[part], shifted(images, shift, severity)[part]
            if made is not None:
                made.append((shift, severity))

        return batches

    keys = [("none", None), *((shift, s) for shift in shifts for s in range(1, 6))]
    return {key: make(*key) for key in keys}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def dataset(tmp_path):
    return ImageFoldersDataset(filepath=str(tmp_path / "data" / "sets"))


def test_the_published_layout_is_written(dataset, images):
    dataset.save(cells(images))
    written = contents(dataset.location)
    assert len(written) == 11 * len(NAMES) + 1
    assert written["classes.txt"].decode().split() == sorted({n.split("/")[0] for n in NAMES})
    name = f"fog/3/{NAMES[1]}"
    assert written[name] == encode(shifted(images, "fog", 3)[1])
    assert f"none/{NAMES[0]}" in written
    with Image.open(dataset.location / name) as file:
        assert file.format == "JPEG"
        assert file.size == (24, 24)


def test_files_are_jpegs_of_quality_85_as_pillow_writes_them(images, tmp_path):
    Image.fromarray(images[0]).save(tmp_path / "a.jpg", quality=85)
    assert encode(images[0]) == (tmp_path / "a.jpg").read_bytes()


@pytest.mark.parametrize("size", [1, 5, 100])
def test_equal_images_give_equal_bytes_whatever_the_batches(tmp_path, images, size):
    stamps = []
    for name, batch in (("a", 4), ("b", size)):
        dataset = ImageFoldersDataset(filepath=str(tmp_path / name / "x"))
        dataset.save(cells(images, batch))
        dataset.stamp("this")
        stamps.append(dataset.read_stamp().content)
    assert contents(tmp_path / "a") != {}
    assert stamps[0] == stamps[1]


def test_what_was_written_comes_back_through_its_jpeg(dataset, images):
    dataset.save(cells(images))
    folders = dataset.load()
    assert folders.shifts == ("contrast+fog", "fog", "none")
    assert folders.severities("fog") == (1, 2, 3, 4, 5)
    for shift, severity in (("none", None), ("fog", 4), ("contrast+fog", 1)):
        found = folders.load(shift, severity)
        assert found.names == tuple(sorted(NAMES))
        # They follow the classes that were saved.
        assert found.labels.tolist() == [0, 0, 1, 1, 2, 2]
        assert found.labels.dtype == np.int64
        expected = decoded(shifted(images, shift, severity))
        np.testing.assert_array_equal(to_uint8(found.batch()), expected)
        np.testing.assert_array_equal(np.concatenate(list(found.read(4))), expected)


def test_the_download_is_taken_as_it_is(download, wnids, images):
    before = contents(download)
    dataset = ExternalFoldersDataset(folder=str(download), classes=str(wnids))
    assert dataset.exists()
    folders = dataset.load()
    assert folders.shifts == tuple(sorted(SHIFTS.values()))
    for severity in range(1, 6):
        found = folders.load("fog", severity)
        assert found.labels.tolist() == LABELS
        expected = decoded(shifted(images, "fog", severity))
        np.testing.assert_array_equal(to_uint8(found.batch()), expected)
    assert contents(download) == before
    with pytest.raises(DatasetError, match="read only"):
        dataset.save({})


def test_shifts_may_lie_under_the_archives_names(tmp_path, images):
    root = tmp_path / "ImageNet-C"
    for group, shift in SHIFTS.items():
        unpack(root / group if group != "blur" else root, images, [shift], [2])
    (root / "digital").mkdir()
    (root / ".DS_Store").write_bytes(b"")
    (root / "README.txt").write_text("read me")
    assert set(SHIFTS) | {"digital"} == set(GROUPS)
    folders = ImageFolders(root, WNIDS)
    assert folders.shifts == tuple(sorted(SHIFTS.values()))
    for shift in SHIFTS.values():
        found = folders.load(shift, 2)
        expected = decoded(shifted(images, shift, 2))
        np.testing.assert_array_equal(to_uint8(found.batch()), expected)


def test_a_shift_that_lies_in_two_places_is_refused(download, images):
    unpack(download / "weather", images, ["fog"], [1])
    with pytest.raises(InputError, match=r"fog lies in .*fog and in .*weather/fog: remove one"):
        ImageFolders(download, WNIDS).load("fog", 1)


def test_nothing_is_listed_or_opened_before_it_is_asked_for(download, wnids, monkeypatch):
    listed = []
    real = image_files.visible
    for module in (image_files, image_folders):
        monkeypatch.setattr(module, "visible", lambda f: listed.append(Path(f)) or real(f))
    shutil.rmtree(download / "spatter" / "3")
    for path in (download / "zoom_blur").rglob("*.JPEG"):
        path.write_bytes(b"no image")
    folders = ExternalFoldersDataset(folder=str(download), classes=str(wnids)).load()
    assert listed == [download]
    found = folders.load("zoom_blur", 2)
    assert {path.relative_to(download).parts[:2] for path in listed[1:]} == {
        ("zoom_blur",),
        ("zoom_blur", "2"),
    }
    assert len(found) == len(NAMES)
    with pytest.raises(InputError, match=r"ILSVRC2012_val_00002\.JPEG is not a readable image"):
        found.batch(slice(2))


def test_parts_of_a_set_open_no_other_files(download, images):
    found = ImageFolders(download, WNIDS).load("fog", 5)
    expected = decoded(shifted(images, "fog", 5))
    (download / "fog" / "5" / found.names[0]).write_bytes(b"no image")
    for indices in (slice(1, 3), np.array([5, 1, 1]), np.array([4])):
        np.testing.assert_array_equal(to_uint8(found.batch(indices)), expected[indices])
        some = found.take(indices)
        assert some.labels.tolist() == np.array(LABELS)[indices].tolist()
        np.testing.assert_array_equal(to_uint8(some.batch()), expected[indices])


def test_a_set_travels_to_workers(download):
    found = ImageFolders(download, WNIDS).load("fog", 5)
    there = pickle.loads(pickle.dumps(found))
    assert there.names == found.names
    assert there.batch().equal(found.batch())


@pytest.mark.parametrize(
    ("shift", "severity", "message"),
    [
        ("frost", 1, "does not hold frost; there are: fog, gaussian_noise, spatter, zoom_blur"),
        ("none", None, r"does not hold none \(the benchmark itself lacks it: make it"),
        ("fog", 3, "fog has no severity 3: there are 1, 2, 4, 5"),
        ("fog", 6, "must be a whole number from 1 to 5, not 6"),
        ("fog", None, "must be a whole number from 1 to 5, not None"),
        ("none", 2, "none has no severity: leave 2 out"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(download, shift, severity, message):
    shutil.rmtree(download / "fog" / "3")
    with pytest.raises(InputError, match=message) as error:
        ImageFolders(download, WNIDS).load(shift, severity)
    assert "\n" not in str(error.value)


def empty(folder):
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "n09999999").mkdir(), "n09999999 is the folder of none of the 5 classes"),
        (lambda d: empty(d / WNIDS[2]), rf"{WNIDS[2]} holds no images"),
        (
            lambda d: (empty(d / WNIDS[2]), (d / WNIDS[2] / "a.txt").write_text("a")),
            rf"{WNIDS[2]} holds no images",
        ),
        (lambda d: (d / WNIDS[2] / "more").mkdir(), r"more is a folder within a class"),
        (lambda d: (shutil.rmtree(d), d.mkdir()), r"fog/2 holds no class folders"),
        (
            lambda d: (d / NAMES[0]).rename(d / "a.JPEG"),
            r"fog/2/a\.JPEG lies outside the class folders",
        ),
    ],
)
def test_bad_folders_are_named_in_one_line(download, damage, message):
    damage(download / "fog" / "2")
    folders = ImageFolders(download, WNIDS)
    assert len(folders.load("fog", 1)) == len(NAMES)
    with pytest.raises(InputError, match=message) as error:
        folders.load("fog", 2)
    assert "\n" not in str(error.value)
    assert str(download / "fog" / "2") in str(error.value)


def test_a_truncated_jpeg_is_named(download):
    path = download / "fog" / "2" / NAMES[1]
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(InputError, match=rf"{NAMES[1]} is truncated or damaged"):
        ImageFolders(download, WNIDS).load("fog", 2).batch()


def test_absent_and_empty_roots_are_named(tmp_path):
    with pytest.raises(InputError, match="absent does not exist"):
        ImageFolders(tmp_path / "absent", WNIDS)
    with pytest.raises(InputError, match="holds no <shift>/<severity>/ folders"):
        ImageFolders(tmp_path, WNIDS)
    with pytest.raises(InputError, match="absent does not exist"):
        list_images(tmp_path / "absent", WNIDS)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "at least one image"),
        ([((), np.zeros((0, 16, 16, 3), np.uint8))], "at least one image"),
        ([(("n1/a.png",), np.zeros((2, 16, 16, 3), np.uint8))], "1 names need as many images"),
        ([(("n1/a.png",), np.zeros((1, 16, 16, 3), np.float32))], "not float32"),
        ([(("a.png",), np.zeros((1, 16, 16, 3), np.uint8))], "must be <class>/<file>"),
        ([(("../a.png",), np.zeros((1, 16, 16, 3), np.uint8))], "must be <class>/<file>"),
        ([(("/n1/a.png",), np.zeros((1, 16, 16, 3), np.uint8))], "must be <class>/<file>"),
        (
            [(("n1/a.png", "n1/a.png"), np.zeros((2, 16, 16, 3), np.uint8))],
            r"two images would be written to n1/a\.png",
        ),
        ([(("n1/a.jpg",), np.zeros((1, 16, 16, 3), np.uint8))], r"must end in \.JPEG or \.png"),
    ],
)
def test_what_is_no_set_is_not_written(tmp_path, batches, message):
    with pytest.raises(InputError, match=message):
        write_images(tmp_path / "set", batches)


@pytest.mark.parametrize(("file_format", "ending"), [("jpeg", "JPEG"), ("png", "png")])
def test_endings_become_the_format_s_and_dots_in_names_stay(tmp_path, images, file_format, ending):
    names = ("n1/a.png", "n1/b.jpeg", "n1/c", "n1/d.1", "n1/e.1.JPG")
    new = output_names(names, file_format)
    assert new == tuple(f"n1/{stem}.{ending}" for stem in ("a", "b", "c", "d.1", "e.1"))
    write_images(tmp_path / "set", [(new, images[:5])])
    assert sorted(contents(tmp_path / "set")) == sorted(new)
    read = to_uint8(list_images(tmp_path / "set", ["n1"]).batch())
    assert np.array_equal(read, images[:5]) is (file_format == "png")


def test_names_that_differ_in_their_endings_alone_are_both_named():
    with pytest.raises(InputError, match=r"n1/a\.jpg and n1/a\.png would both be .* n1/a\.JPEG"):
        output_names(("n1/a.jpg", "n2/a.png", "n1/a.png"), "jpeg")


def test_an_interrupted_save_goes_on_and_ends_with_the_same_bytes(dataset, images):
    dataset.save(cells(images))
    straight = contents(dataset.location)
    shutil.rmtree(dataset.location)
    made = []
    dataset.begin("this")
    with pytest.raises(KeyboardInterrupt):
        dataset.save(cells(images, stop=("fog", 4), made=made))
    assert made == [("none", None), ("fog", 1), ("fog", 2), ("fog", 3)]
    assert not dataset.location.exists()
    beside = dataset.location.with_name(".part-sets")
    assert {path.name for path in (beside / "fog").iterdir()} == {"1", "2", "3", ".part-4"}
    times = {path: path.stat().st_mtime_ns for path in (beside / "fog" / "3").rglob("*.JPEG")}
    made.clear()
    # A later process knows nothing of the first.
    later = ImageFoldersDataset(filepath=str(dataset.location))
    later.begin("this")
    later.save(cells(images, made=made))
    assert made == [("fog", 4), ("fog", 5), *(("contrast+fog", s) for s in range(1, 6))]
    assert contents(dataset.location) == straight
    kept = {path: path.stat().st_mtime_ns for path in (later.location / "fog/3").rglob("*.JPEG")}
    assert list(kept.values()) == list(times.values())
    assert {path.name for path in dataset.location.parent.iterdir()} == {"sets", ".sets.stamp.json"}


@pytest.mark.parametrize("made_from", ["that", None])
def test_a_save_of_something_else_starts_anew(dataset, images, made_from):
    dataset.begin("this")
    with pytest.raises(KeyboardInterrupt):
        dataset.save(cells(images // np.uint8(2), stop=("fog", 4)))
    made = []
    if made_from is not None:
        dataset.begin(made_from)
    dataset.save(cells(images, made=made))
    assert len(made) == 11
    name = f"none/{NAMES[0]}"
    assert contents(dataset.location)[name] == encode(shifted(images, "none", None)[0])
    assert {path.name for path in dataset.location.parent.iterdir()} == {"sets", ".sets.stamp.json"}


def test_a_save_killed_between_renaming_and_stamping_makes_nothing_again(dataset, images):
    dataset.begin("this")
    dataset.save(cells(images))
    assert not dataset.exists()
    for made_from, expected in (("this", 0), ("that", 11)):
        made = []
        later = ImageFoldersDataset(filepath=str(dataset.location))
        later.begin(made_from)
        later.save(cells(images, made=made))
        assert len(made) == expected
    later.stamp("that")
    assert later.exists()


def test_a_fresh_save_makes_everything_again(dataset, images):
    dataset.begin("this")
    dataset.save(cells(images))
    made = []
    dataset.begin("this", afresh=True)
    dataset.save(cells(images, made=made))
    assert len(made) == 11


def test_what_was_damaged_before_it_was_stamped_is_made_again(dataset, images):
    dataset.begin("this")
    dataset.save(cells(images))
    shutil.rmtree(dataset.location / "fog" / "2")
    made = []
    dataset.begin("this")
    dataset.save(cells(images, made=made))
    assert len(made) == 11


@pytest.mark.parametrize("begun", [True, False])
def test_a_save_that_fails_at_its_first_set_leaves_nothing(dataset, images, begun):
    if begun:
        dataset.begin("this")
    with pytest.raises(KeyboardInterrupt):
        dataset.save(cells(images, stop=("none", None)))
    assert list(dataset.location.parent.iterdir()) == []


def test_what_no_save_began_is_not_ours(dataset, images):
    assert not dataset.not_ours
    dataset.location.mkdir(parents=True)
    assert not dataset.not_ours
    (dataset.location / "mine.txt").touch()
    assert dataset.not_ours
    dataset.save(cells(images))
    assert not dataset.not_ours
    dataset.stamp("this")
    dataset.invalidate()
    assert not dataset.exists()
    assert not dataset.not_ours


def test_leftovers_without_a_note_are_cleared(dataset, images):
    beside = dataset.location.with_name(".part-sets")
    (beside / "fog" / "1").mkdir(parents=True)
    (beside / "old" / "1").mkdir(parents=True)
    dataset.begin("this")
    dataset.save(cells(images))
    assert len(contents(dataset.location)) == 11 * len(NAMES) + 1
    assert not (dataset.location / "old").exists()


def test_an_interrupted_save_leaves_the_earlier_version_until_it_is_done(dataset, images):
    dataset.save(cells(images))
    dataset.stamp("earlier")
    before = contents(dataset.location)
    dataset.begin("this")
    with pytest.raises(KeyboardInterrupt):
        dataset.save(cells(images // np.uint8(2), stop=("fog", 4)))
    assert contents(dataset.location) == before
    # But it counts as missing: the run did not end.
    assert not dataset.exists()


def test_a_stamp_counts_sets_and_finds_a_lost_file_out(dataset, images):
    dataset.save(cells(images))
    dataset.stamp("this")
    assert dataset.exists()
    assert "fog/3" in dataset.stamp_path.read_text()
    assert NAMES[0].partition("/")[2] not in dataset.stamp_path.read_text()
    path = dataset.location / "fog" / "3" / NAMES[0]
    whole = path.read_bytes()
    path.unlink()
    assert dataset.problem().startswith("is damaged: fog/3 has ")
    path.write_bytes(whole[:-1] + b"?")
    assert dataset.problem() is None
    assert "content has changed" in dataset.problem(Digests())


def test_a_resumed_run_goes_on_from_finished_sets_and_a_fresh_one_begins_anew(
    dataset, images, monkeypatch, tmp_path
):
    monkeypatch.setattr(guards, "pipelines", {"__default__": Pipeline([])})
    made = []

    def run(seed, stop=None, resume=False):
        def generate(given):
            return cells(images // np.uint8(given), stop=stop, made=made)

        pipeline = Pipeline([node(generate, "params:seed", "sets", name="generate")])
        manager = _create_hook_manager()
        manager.register(guards.ProvenanceHook())
        catalog = DataCatalog({"params:seed": MemoryDataset(seed), "sets": dataset})
        given = {"project_path": str(tmp_path), "only_missing_outputs": resume}
        manager.hook.before_pipeline_run(run_params=given, pipeline=pipeline, catalog=catalog)
        made.clear()
        SequentialRunner().run(pipeline, catalog, manager)

    run(1)
    straight, stamp = contents(dataset.location), dataset.read_stamp()
    # A fresh run keeps nothing: the program may be another one.
    for seed, resume, again in ((1, True, 7), (2, True, 11), (1, False, 11)):
        with pytest.raises(KeyboardInterrupt):
            run(1, stop=("fog", 4))
        assert not dataset.exists()
        run(seed, resume=resume)
        assert len(made) == again
        assert dataset.exists()
        assert (contents(dataset.location) == straight) == (seed == 1)
        assert (dataset.read_stamp() == stamp) == (seed == 1)
