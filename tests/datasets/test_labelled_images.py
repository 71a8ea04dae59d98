"""Labelled images in the layouts that people have."""

import hashlib
import io
import json
import os
import pickle
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from torchvision.datasets import CIFAR100

from superstar.datasets import LabelledImagesDataset, labelled_images
from superstar.digests import Digests
from superstar.errors import InputError

NAMES = ("apple", "bear", "crab")
COUNTS = {"train": 7, "test": 4}


def pixels(split: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(split))
    count = COUNTS[split]
    images = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    return images, np.arange(count) % 3


def encoded(image: np.ndarray, kind: str = "WEBP") -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind, lossless=True)
    return file.getvalue()


def write_torchvision(folder, monkeypatch) -> None:
    """Batches as CIFAR-100's archive holds them: images as rows of planes, keys as strings."""
    place = folder / "cifar-100-python"
    place.mkdir(parents=True)
    contents = {
        split: {
            "filenames": [f"{n}.png" for n in range(COUNTS[split])],
            "batch_label": "batch 1 of 1",
            "fine_labels": [int(label) for label in pixels(split)[1]],
            "coarse_labels": [0] * COUNTS[split],
            "data": pixels(split)[0].transpose(0, 3, 1, 2).reshape(COUNTS[split], -1),
        }
        for split in COUNTS
    } | {"meta": {"fine_label_names": list(NAMES), "coarse_label_names": ["things"]}}
    sums = {}
    for name, content in contents.items():
        data = pickle.dumps(content, protocol=2)
        (place / name).write_bytes(data)
        sums[name] = hashlib.md5(data, usedforsecurity=False).hexdigest()
    for name, split in (("train_list", "train"), ("test_list", "test")):
        monkeypatch.setattr(CIFAR100, name, [[split, sums[split]]])
    monkeypatch.setitem(CIFAR100.meta, "md5", sums["meta"])


def write_hub(folder, monkeypatch=None, shards: int = 2, metadata: bool = True) -> None:
    """Tables of the hub: images as encoded bytes, class names in the schema's metadata."""
    (folder / "data").mkdir(parents=True)
    names = {"names": list(NAMES), "_type": "ClassLabel"}
    info = {"info": {"features": {"img": {"_type": "Image"}, "fine_label": names}}}
    for split in COUNTS:
        images, labels = pixels(split)
        for shard, places in enumerate(np.array_split(np.arange(len(images)), shards)):
            rows = [{"bytes": encoded(images[n]), "path": f"{n}.webp"} for n in places]
            table = pa.table({"img": rows, "fine_label": pa.array(labels[places], pa.int64())})
            if metadata:
                told = {"huggingface": json.dumps(info)}
                table = table.replace_schema_metadata(told)
            pq.write_table(table, folder / "data" / f"{split}-{shard:05}-of-{shards:05}.parquet")


def write_folders(folder, monkeypatch=None) -> None:
    for split in COUNTS:
        for n, (image, label) in enumerate(zip(*pixels(split), strict=True)):
            path = folder / split / NAMES[label] / f"{n}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded(image, "PNG"))


LAYOUTS = {"torchvision": write_torchvision, "hub": write_hub, "folders": write_folders}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_images(layout, tmp_path, monkeypatch):
    LAYOUTS[layout](tmp_path / "set", monkeypatch)
    dataset = LabelledImagesDataset(folder=str(tmp_path / "set"))
    dataset.check()
    images = dataset.load()()
    assert images.class_names == NAMES
    for split, found in (("train", images.train), ("test", images.test)):
        expected, labels = pixels(split)
        # Folders are read class by class.
        order = np.argsort(labels, kind="stable") if layout == "folders" else np.arange(len(labels))
        np.testing.assert_array_equal(found.images, expected[order])
        np.testing.assert_array_equal(found.labels, labels[order])


@pytest.mark.parametrize("layout", ["hub", "folders"])
def test_changes_are_noticed_and_moves_are_not(layout, tmp_path):
    LAYOUTS[layout](tmp_path / "set")
    known = LabelledImagesDataset(folder=str(tmp_path / "set")).identity(Digests())
    moved = LabelledImagesDataset(folder=str(shutil.copytree(tmp_path / "set", tmp_path / "moved")))
    file = max(path for path in (tmp_path / "moved").rglob("*") if path.is_file())
    os.utime(file, (0, 0))
    assert moved.identity(Digests()) == known
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert moved.identity(Digests()) != known


def test_changes_behind_a_link_are_noticed(tmp_path):
    write_folders(tmp_path / "set")
    elsewhere = (tmp_path / "set" / "train").rename(tmp_path / "elsewhere")
    (tmp_path / "set" / "train").symlink_to(elsewhere)
    dataset = LabelledImagesDataset(folder=str(tmp_path / "set"))
    known = dataset.identity(Digests())
    next(elsewhere.rglob("*.png")).unlink()
    assert dataset.identity(Digests()) != known


def test_a_download_is_no_change(tmp_path, monkeypatch):
    dataset = LabelledImagesDataset(folder=str(tmp_path))
    before = dataset.identity(Digests())
    write_torchvision(tmp_path, monkeypatch)
    assert dataset.identity(Digests()) == before != "none"


def test_no_folder_means_no_images():
    dataset = LabelledImagesDataset(folder=None)
    dataset.check()
    assert dataset.load() is None
    assert dataset.identity(Digests()) == "none"


def test_class_names_may_stand_in_a_file(tmp_path):
    write_hub(tmp_path, metadata=False)
    dataset = LabelledImagesDataset(folder=str(tmp_path))
    with pytest.raises(InputError, match=r"class names are missing.*fine_label_names\.txt"):
        dataset.load()()
    (tmp_path / "fine_label_names.txt").write_text("apple\nbear\n")
    with pytest.raises(InputError, match="labels from 0 to 2, but there are 2 class names"):
        dataset.load()()
    (tmp_path / "fine_label_names.txt").write_text("\n".join(NAMES) + "\n")
    assert dataset.load()().class_names == NAMES


def test_files_that_are_not_cifars_are_not_unpickled(tmp_path, monkeypatch):
    write_torchvision(tmp_path, monkeypatch)
    batch = tmp_path / "cifar-100-python" / "train"
    batch.write_bytes(batch.read_bytes()[:-20])
    with pytest.raises(InputError, match="lacks files of CIFAR-100, or they were cut short"):
        LabelledImagesDataset(folder=str(tmp_path)).check()


def damaged_table(folder) -> None:
    path = min(folder.glob("data/test*"))
    path.write_bytes(path.read_bytes()[:100])


def damaged_image(folder) -> None:
    path = min(folder.glob("data/test*"))
    table = pd.read_parquet(path)
    table.at[1, "img"] = {"bytes": table.at[1, "img"]["bytes"][:30], "path": None}
    table.to_parquet(path)


def no_labels(folder) -> None:
    path = min(folder.glob("data/train*"))
    pd.read_parquet(path).drop(columns="fine_label").to_parquet(path)


def no_test(folder) -> None:
    for path in folder.glob("data/test*"):
        path.unlink()


def checked_and_read(dataset):
    dataset.check()
    return dataset.load()()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damaged_table, "test-00000.*is not a whole parquet table"),
        (damaged_image, r"test-00000.*row 1 is"),
        (no_labels, "has no column fine_label or label; there are: img"),
        (no_test, "holds tables, but none of its test images"),
    ],
)
def test_damaged_tables_are_named(damage, message, tmp_path):
    write_hub(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=message):
        checked_and_read(LabelledImagesDataset(folder=str(tmp_path)))


def test_tables_may_lie_in_a_sub_folder_of_any_name(tmp_path):
    write_hub(tmp_path)
    (tmp_path / "data").rename(tmp_path / "cifar100")
    (tmp_path / "notes").mkdir()
    images = checked_and_read(LabelledImagesDataset(folder=str(tmp_path)))
    np.testing.assert_array_equal(images.train.images, pixels("train")[0])


@pytest.mark.parametrize("other", [".", "cifar100"])
def test_tables_in_two_places_are_refused(other, tmp_path):
    write_hub(tmp_path)
    shutil.copytree(tmp_path / "data", tmp_path / other, dirs_exist_ok=True)
    with pytest.raises(InputError, match=r"tables of images lie in .* and in ") as error:
        LabelledImagesDataset(folder=str(tmp_path)).check()
    for place in (tmp_path / other, tmp_path / "data"):
        assert f" in {place}" in str(error.value)


def rewrite(folder, change, split: str = "train") -> None:
    """Change the first shard, as a pyarrow table, and keep its metadata."""
    path = min(folder.glob(f"data/{split}*"))
    pq.write_table(change(pq.read_table(path)), path)


def with_column(name: str, values):
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.schema.get_field_index(name), name, values(table[name]))

    return change


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_images_may_be_bytes_alone(kind, tmp_path):
    write_hub(tmp_path)
    plain = with_column("img", lambda c: pa.array([row["bytes"] for row in c.to_pylist()], kind))
    rewrite(tmp_path, plain)
    images = checked_and_read(LabelledImagesDataset(folder=str(tmp_path)))
    np.testing.assert_array_equal(images.train.images, pixels("train")[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            with_column("fine_label", lambda c: c.cast(pa.float64())),
            "a whole number as fine_label in every row, not double",
        ),
        (
            with_column("fine_label", lambda c: pa.array([0, None, *c.to_pylist()[2:]])),
            "a whole number as fine_label in every row, not int64, and 1 rows without",
        ),
        (with_column("img", lambda c: pa.array(["a"] * len(c))), "encoded images as img.* not str"),
        (
            with_column("img", lambda c: pa.array([{"path": "a"}] * len(c))),
            "encoded images as img.* not struct<path: string>",
        ),
    ],
)
def test_columns_of_other_types_are_refused(change, message, tmp_path):
    write_hub(tmp_path)
    rewrite(tmp_path, change)
    with pytest.raises(InputError, match=message) as error:
        checked_and_read(LabelledImagesDataset(folder=str(tmp_path)))
    assert "\n" not in str(error.value)


def test_tables_without_rows_are_refused(tmp_path):
    write_hub(tmp_path, shards=1)
    rewrite(tmp_path, lambda table: table.slice(0, 0))
    with pytest.raises(InputError, match=r"train-00000\S+ holds no rows"):
        checked_and_read(LabelledImagesDataset(folder=str(tmp_path)))


@pytest.mark.parametrize(
    "told",
    [
        "{",
        "[]",
        '{"info": {"features": []}}',
        '{"info": {"features": {"fine_label": null}}}',
        "\xff",
    ],
)
def test_damaged_metadata_leaves_the_names_to_a_file(told, tmp_path):
    write_hub(tmp_path)
    metadata = {b"huggingface": told.encode("latin-1")}
    rewrite(tmp_path, lambda table: table.replace_schema_metadata(metadata))
    dataset = LabelledImagesDataset(folder=str(tmp_path))
    with pytest.raises(InputError, match=r"class names are missing, or damaged in the metadata of"):
        checked_and_read(dataset)
    # As editors on Windows begin a file.
    (tmp_path / "fine_label_names.txt").write_text("\n".join(NAMES), encoding="utf-8-sig")
    assert checked_and_read(dataset).class_names == NAMES
    (tmp_path / "fine_label_names.txt").write_bytes("äpple\nbear\ncrab\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"fine_label_names\.txt is not text: it must be text"):
        checked_and_read(dataset)


def test_folders_must_hold_the_same_classes(tmp_path):
    write_folders(tmp_path)
    (tmp_path / "test" / "crab").rename(tmp_path / "test" / "dog")
    with pytest.raises(InputError, match="'crab' is in one alone"):
        labelled_images.read_folders(tmp_path)


def test_unknown_layouts_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match="no images in a known layout"):
        LabelledImagesDataset(folder=str(tmp_path)).check()
    with pytest.raises(InputError, match="is a file"):
        LabelledImagesDataset(folder=str(tmp_path / "notes.txt")).check()
    (tmp_path / "cifar-100-python").mkdir()
    with pytest.raises(InputError, match="lacks files of CIFAR-100"):
        LabelledImagesDataset(folder=str(tmp_path)).check()


def test_without_network_it_is_said_what_to_put_where(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError("no route to host")

    monkeypatch.setattr("torchvision.datasets.CIFAR100", fail)
    dataset = LabelledImagesDataset(folder=str(tmp_path / "absent"))
    dataset.check()
    with pytest.raises(InputError, match=r"could not be downloaded: put cifar-100-python\.tar\.gz"):
        dataset.load()()
