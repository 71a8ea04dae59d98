"""Tables of images as the Hugging Face hub hands them out.

Shards `train*.parquet` and `test*.parquet` lie in the folder itself, in `data/`, or in a sub-folder
of any name that holds both, which is the hub's own layout of `uoft-cs/cifar100`. Rows hold an
encoded image (`img` or `image`: {bytes, path}, or the bytes alone) and a label (`fine_label` or
`label`).
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from superstar.datasets.image_files import read_class_list
from superstar.decoding import Encoded, read_images
from superstar.errors import InputError
from superstar.images import ImageSet

SPLITS = ("train", "test")
LABELS = ("fine_label", "label")
IMAGES = ("img", "image")
"""Names of the columns."""
NAMES = "fine_label_names.txt"
"""The classes' names, one a line, where a table's metadata lacks them."""

Tables = dict[str, list[Path]]


def find_tables(folder: Path) -> Tables:
    """The shards by split; of a split that is not there, none.

    Raises:
        InputError: shards in several places, so that it is not clear which to read.
    """
    usual = [folder, folder / "data"]
    others = sorted(path for path in folder.glob("[!.]*") if path.is_dir() and path not in usual)
    found = [
        *(there for place in usual if any((there := _shards(place)).values())),
        *(there for place in others if all((there := _shards(place)).values())),
    ]
    if len(found) > 1:
        places = [str(next(path for shards in t.values() for path in shards).parent) for t in found]
        raise InputError(
            f"tables of images lie in {' and in '.join(places)}: leave those of one data set, all "
            "in one of these folders"
        )
    return found[0] if found else {split: [] for split in SPLITS}


def _shards(place: Path) -> Tables:
    return {split: sorted(place.glob(f"{split}*.parquet")) for split in SPLITS}


def read_tables(paths: Sequence[Path]) -> ImageSet:
    """The images and labels of shards, one after another.

    Raises:
        InputError: a table that is damaged, lacks a column, has another type of column or no
            label in a row; an image that cannot be read; no rows.
    """
    sources: list[Encoded] = []
    labels: list[NDArray[np.int64]] = []
    for path in paths:
        columns = _read(pq.read_schema, path).names
        image, label = (_column(path, columns, names) for names in (IMAGES, LABELS))
        table = _read(partial(pq.read_table, columns=[image, label]), path)
        labels.append(_labels(path, label, table[label]))
        sources += [
            Encoded(f"{path}, row {row}", content or b"")
            for row, content in enumerate(_contents(path, image, table[image]))
        ]
    if not sources:
        raise InputError(f"{paths[0]} holds no rows")
    return ImageSet(read_images(sources), np.concatenate(labels))


def read_class_names(folder: Path, tables: Sequence[Path]) -> tuple[str, ...]:
    """The names that the hub writes into a table's metadata, or those of a file beside it.

    Raises:
        InputError: neither is there and can be read.
    """
    if names := _told_names(tables[0]):
        return names
    path = folder / NAMES
    if not path.is_file():
        raise InputError(
            f"class names are missing, or damaged in the metadata of {tables[0]}: put {path} "
            "there, one name a line"
        )
    return read_class_list(path)


def _told_names(path: Path) -> tuple[str, ...]:
    """The names in the metadata; none where they are missing or damaged."""
    schema = _read(pq.read_schema, path)
    label = _column(path, schema.names, LABELS)
    try:
        told = json.loads((schema.metadata or {})[b"huggingface"])
        return tuple(map(str, told["info"]["features"][label]["names"]))
    except (KeyError, TypeError, ValueError):
        return ()


def _labels(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    if not pa.types.is_integer(column.type) or column.null_count:
        lacking = f", and {column.null_count} rows without" if column.null_count else ""
        raise InputError(
            f"{path} must hold a whole number as {name} in every row, not {column.type}{lacking}"
        )
    return column.to_numpy().astype(np.int64)


def _contents(path: Path, name: str, column: pa.ChunkedArray) -> list[bytes | None]:
    kind, inner = column.type, "bytes"
    if pa.types.is_struct(kind) and kind.get_field_index(inner) >= 0:
        parts = [chunk.field(inner) for chunk in column.chunks]
        kind = kind.field(inner).type
    else:
        parts = column.chunks
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InputError(
            f"{path} must hold encoded images as {name}, {{bytes, path}} or bytes, "
            f"not {' '.join(str(column.type).split())}"
        )
    return [content for part in parts for content in part.to_pylist()]


def _column(path: Path, there: Sequence[str], names: Sequence[str]) -> str:
    found = [name for name in names if name in there]
    if not found:
        raise InputError(
            f"{path} has no column {' or '.join(names)}; there are: {', '.join(there)}"
        )
    return found[0]


def _read(reader: Callable[[Path], Any], path: Path) -> Any:
    try:
        return reader(path)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is not a whole parquet table ({reason})") from error
