"""The operability labels that the paper's authors release, read without running what they hold."""

import pickle
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superstar.errors import InputError
from superstar.reference_tables import shift_name

ACCURACIES, DISTANCES = "accuracis", "wdists"
"""Keys of the release, spelt as there."""

SEVERITIES = 5
FARTHEST = 1e9
"""No distance between images comes near it."""
LARGEST_FILE = 2**20
"""Bytes; the release's files have a few thousand."""


def read_labels(path: str | PathLike[str]) -> pd.DataFrame:
    """Accuracies and distances behind the labels: the release's `labels_cs.pkl`.

    The file is a pickle of a dictionary by shift, each with arrays of five accuracies and of five
    distances. Of what it names nothing is imported or called: `_Numbers` stand for NumPy's arrays.

    Args:
        path: the file.

    Returns:
        One row a shift and severity: `surrogate` in our names, `severity` from 1, `accuracy` in
        [0, 1], `distance`; what `control.operability.regression_labels` takes; and `file`, the
        name of the file.

    Raises:
        InputError: no such file, a damaged one, one that holds anything else, or a shift twice.
    """
    given = _unpickle(Path(path))
    if not isinstance(given, dict) or not given:
        raise InputError(
            f"{path} holds no labels: a dictionary by shift is expected, as in labels_cs.pkl of "
            "the paper's authors"
        )
    tables: dict[str, pd.DataFrame] = {}
    for shift, fit in given.items():
        if not isinstance(shift, str) or not isinstance(fit, dict):
            raise InputError(f"{path}: {_brief(shift)} is no shift with its figures")
        name = shift_name(shift)
        if name in tables:
            raise InputError(f"{path} has labels of {_brief(name)} twice, once as {_brief(shift)}")
        tables[name] = pd.DataFrame(
            {
                "surrogate": name,
                "severity": range(1, SEVERITIES + 1),
                "accuracy": _row(path, shift, fit, ACCURACIES, 1.0),
                "distance": _row(path, shift, fit, DISTANCES, FARTHEST),
                "file": Path(path).name,
            }
        )
    return pd.concat(tables.values(), ignore_index=True)


def _row(
    path: str | PathLike[str], shift: str, fit: dict[Any, Any], key: str, largest: float
) -> list[float]:
    where = f"{path}: {key!r} of {_brief(shift)}"
    if key not in fit:
        raise InputError(f"{path}: {_brief(shift)} lacks {key!r}")
    given = fit[key]
    if isinstance(given, _Numbers):
        row = given.values
    else:
        row = [n for n in given if type(n) in (int, float)] if isinstance(given, list) else []
    if len(row) != SEVERITIES:
        raise InputError(f"{where} must be {SEVERITIES} numbers, one a severity")
    if not all(0 <= number <= largest for number in row):  # as nan is not
        raise InputError(f"{where} must lie in [0, {largest:g}]")
    return [float(number) for number in row]


def _unpickle(path: Path) -> Any:
    hint = "see globals.released_labels in conf/<environment>/globals.yml"
    try:
        if not path.is_file():
            raise InputError(f"the labels {path} cannot be read (there is no such file): {hint}")
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"the labels {path} cannot be read ({error.strerror}): {hint}") from error
    try:
        if len(content) > LARGEST_FILE:
            raise pickle.UnpicklingError("it is too large")
        return _Reader(BytesIO(content)).load()
    except Exception as error:  # damaged pickles raise nearly anything
        reason = error if isinstance(error, pickle.UnpicklingError) and str(error) else "damaged"
        raise InputError(
            f"{path} is no file of labels as the paper's authors release it, labels_cs.pkl say "
            f"({_brief(str(reason))})"
        ) from error


def _brief(given: Any) -> str:
    """What was given, in so few characters of one line that a message can hold it."""
    text = repr(given) if isinstance(given, str | int | float) else type(given).__name__
    return text if len(text) <= 60 else f"{text[:60]}..."


class _Kind:
    """Stands for a dtype of plain numbers."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any, *_: Any) -> None:
        if code not in ("f4", "f8", "i4", "i8"):
            raise pickle.UnpicklingError("it holds arrays of something else than numbers")
        self.code, self.order = code, "<"

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">"):
            raise pickle.UnpicklingError("it holds arrays of something else than numbers")
        self.order = order

    def read(self, data: Any) -> list[float]:
        if not isinstance(data, bytes | bytearray):
            raise pickle.UnpicklingError("it holds arrays without their numbers")
        return np.frombuffer(data, np.dtype(self.order + self.code)).astype(np.float64).tolist()


class _Numbers:
    """Stands for an array; of those with several dimensions or none it has no values."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[float] = []

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, _, data = state
        self._take(shape, kind, data)

    def _take(self, shape: Any, kind: Any, data: Any) -> None:
        if not isinstance(kind, _Kind):
            raise pickle.UnpicklingError("it holds arrays of something else than numbers")
        values = kind.read(data)
        if shape == (len(values),):
            self.values = values

    @classmethod
    def of_buffer(cls, data: Any, kind: Any, shape: Any, _: Any) -> "_Numbers":
        """As protocol 5 has it."""
        numbers = cls()
        numbers._take(shape, kind, data)
        return numbers


def _scalar(kind: Any, data: Any) -> float:
    if not isinstance(kind, _Kind):
        raise pickle.UnpicklingError("it holds something else than numbers")
    (value,) = kind.read(data)
    return value


def _bytes_of(text: Any, encoding: Any) -> bytes:
    """As protocols before 3 write bytes."""
    if encoding != "latin1":
        raise pickle.UnpicklingError("it holds text in place of numbers")
    return str(text).encode("latin1")


# The implementation in Python: the one in C reserves as much memory as a file asks for.
class _Reader(pickle._Unpickler):
    """Builds plain values; what names NumPy's arrays gets our stand-ins, all else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        # NumPy 2 has another name for its inner modules than NumPy 1.
        named = f"{module}.{name}".replace("numpy._core", "numpy.core")
        if named == "numpy.ndarray":
            return None  # named as an argument alone
        known = {
            "numpy.dtype": lambda *given: _Kind(*given),
            "numpy.core.multiarray._reconstruct": lambda *_: _Numbers(),
            "numpy.core.multiarray.scalar": lambda *given: _scalar(*given),
            "numpy.core.numeric._frombuffer": lambda *given: _Numbers.of_buffer(*given),
            "_codecs.encode": lambda *given: _bytes_of(*given),
        }
        if named not in known:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return known[named]
