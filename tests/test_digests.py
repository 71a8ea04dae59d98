"""Digests: told by content, read once."""

import os
import time

import pytest

from superstar import digests as module
from superstar.digests import Digests
from superstar.errors import InputError

NAMES = ["cat/1.png", "cat/2.png", "dog/1.png", "top.txt"]


@pytest.fixture
def folder(tmp_path):
    """Four files whose last change lies behind the clock's tick."""
    for name in NAMES:
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    time.sleep(2 * module.TICK / 1e9)
    return tmp_path / "files"


@pytest.fixture
def read(monkeypatch):
    """Names of the files whose contents were read."""
    names = []
    real = module._content
    monkeypatch.setattr(
        module, "_content", lambda path: names.append(path.split("/")[-1]) or real(path)
    )
    return names


def digest(tmp_path, folder, names=NAMES):
    """As a process of its own takes it."""
    return Digests(tmp_path / "data" / ".digests").of_files(folder, names)


def test_what_did_not_change_is_read_once(tmp_path, folder, read):
    first = digest(tmp_path, folder)
    assert len(read) == 4
    assert digest(tmp_path, folder) == first == Digests().of_files(folder, NAMES)
    assert len(read) == 4 + 4


def test_another_time_has_a_folder_read_again_and_is_no_change(tmp_path, folder, read):
    first = digest(tmp_path, folder)
    os.utime(folder / "cat" / "1.png", (0, 0))
    read.clear()
    assert digest(tmp_path, folder) == first
    assert read == ["1.png", "2.png"]


def test_a_change_that_keeps_size_and_time_is_noticed(tmp_path, folder):
    first, path = digest(tmp_path, folder), folder / "dog" / "1.png"
    told = path.stat()
    path.write_bytes(b"x" * told.st_size)
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert digest(tmp_path, folder) != first


def test_a_change_within_the_clock_s_tick_is_noticed(tmp_path, folder, read):
    path = folder / "new.png"
    found = set()
    for content in (b"one", b"two", b"six"):
        path.write_bytes(content)
        found |= {digest(tmp_path, folder, ["new.png"]) for _ in range(2)}
    assert len(found) == 3


@pytest.mark.parametrize("names", [NAMES[1:], [*NAMES[:3], "cat/3.png"]])
def test_other_files_are_another_digest(tmp_path, folder, names):
    first = digest(tmp_path, folder)
    (folder / "top.txt").rename(folder / "cat" / "3.png")
    if NAMES[3] in names:
        (folder / "cat" / "3.png").rename(folder / "top.txt")
    assert digest(tmp_path, folder, names) != first


def test_what_was_read_before_an_interruption_is_remembered(tmp_path, folder, monkeypatch):
    real, read = module._content, []

    def stop_at_dog(path):
        read.append(path.split("/")[-2])
        if "dog" in path:
            raise KeyboardInterrupt
        return real(path)

    monkeypatch.setattr(module, "_content", stop_at_dog)
    for expected in (["cat", "cat", "dog"], ["dog"]):
        read.clear()
        with pytest.raises(KeyboardInterrupt):
            digest(tmp_path, folder)
        assert sorted(read) == expected


def test_where_a_folder_lies_has_no_bearing(tmp_path, folder):
    first = digest(tmp_path, folder)
    assert digest(tmp_path, folder.rename(tmp_path / "moved")) == first


def test_of_a_file_the_content_alone_counts(folder):
    one = Digests().of_file(folder / "cat" / "1.png")
    assert Digests().of_file((folder / "cat" / "1.png").rename(folder / "other")) == one
    assert Digests().of_file(folder / "cat" / "2.png") != one


@pytest.mark.parametrize("content", ["", "{", "[]", '{"folders": 3}'])
def test_a_damaged_record_is_made_again(tmp_path, folder, content):
    first = digest(tmp_path, folder)
    (record,) = (tmp_path / "data" / ".digests").iterdir()
    whole = record.read_text()
    record.write_text(content)
    assert digest(tmp_path, folder) == first
    assert record.read_text() == whole


def test_names_may_be_any_bytes(tmp_path, folder):
    os.rename(folder / "top.txt", os.fsencode(folder) + b"/caf\xe9.txt")
    first = digest(tmp_path, folder, ["caf\udce9.txt"])
    assert digest(tmp_path, folder, ["caf\udce9.txt"]) == first


def test_what_cannot_be_read_is_named(tmp_path, folder):
    with pytest.raises(InputError, match=r"absent cannot be read \(No such file"):
        digest(tmp_path, folder, ["absent"])
    with pytest.raises(InputError, match=r"cat is not a file: remove it"):
        digest(tmp_path, folder, ["cat"])
