import struct
from urllib.error import URLError

import numpy as np
import pytest
from kedro.io import DatasetError
from torchvision.datasets import mnist as torchvision_mnist

from superstar.datasets import MnistDataset
from superstar.errors import InputError


def write_idx(path, array):
    """An array of bytes in MNIST's format: magic number, extents, values, all big-endian."""
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


@pytest.fixture
def digits(tmp_path):
    """A folder with the four files, three training images in them, and those images."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    images = np.random.default_rng(0).integers(0, 256, size=(3, 28, 28))
    for part, some in (("train", images), ("t10k", images[:1])):
        write_idx(raw / f"{part}-images-idx3-ubyte", some)
        write_idx(raw / f"{part}-labels-idx1-ubyte", np.arange(len(some)))
    return tmp_path, images


@pytest.fixture(autouse=True)
def no_download(monkeypatch):
    def refuse(url, *arguments, **options):
        print(f"Downloading {url}")
        raise URLError("no route to host")

    monkeypatch.setattr(torchvision_mnist, "download_and_extract_archive", refuse)


def test_files_that_are_there_are_used_without_a_download(digits):
    folder, images = digits
    found = MnistDataset(folder=str(folder)).load()()
    assert found.images.shape == (3, 28, 28, 3)
    np.testing.assert_array_equal(found.images, np.repeat(images[..., None], 3, axis=3))
    np.testing.assert_array_equal(found.labels, [0, 1, 2])


def test_nothing_is_asked_for_before_it_is_needed(tmp_path):
    read = MnistDataset(folder=str(tmp_path / "mnist")).load()
    assert not (tmp_path / "mnist").exists()
    with pytest.raises(InputError):
        read()


def test_a_failed_download_says_what_to_do(tmp_path, capsys):
    with pytest.raises(InputError) as error:
        MnistDataset(folder=str(tmp_path)).load()()
    message = str(error.value)
    assert "\n" not in message
    assert (
        f"train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
        f"t10k-labels-idx1-ubyte) into {tmp_path / 'MNIST' / 'raw'}" in message
    )
    assert "projection_study.source to photos" in message
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"<html>", b"\0\0\x08\x03\0\0\0\x03"])
def test_files_that_are_not_mnist_are_refused(digits, content):
    folder, _ = digits
    (folder / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(InputError, match="are not MNIST's") as error:
        MnistDataset(folder=str(folder)).load()()
    assert "\n" not in str(error.value)


def test_is_read_only(tmp_path):
    with pytest.raises(DatasetError, match="read only"):
        MnistDataset(folder=str(tmp_path)).save("digits")
