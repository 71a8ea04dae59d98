"""The operability labels that the paper's authors release, read without running what they hold."""

import pickle
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from superstar.errors import InputError
from superstar.reference_tables import shift_name

ACCURACIES, DISTANCES = "accuracis", "wdists"
"""Keys of the release, spelt as there."""


def read_labels(path: str | PathLike[str]) -> pd.DataFrame:
    """Accuracies and distances behind the labels: the release's `labels_cs.pkl`.

    The file is a pickle of a dictionary by shift, each with arrays of five accuracies and of five
    distances. Nothing but plain values and NumPy's arrays of numbers is built from it.

    Args:
        path: the file.

    Returns:
        One row a shift and severity: `surrogate` in our names, `severity` from 1, `accuracy` in
        [0, 1], `distance`; what `control.operability.regression_labels` takes; and `file`, the
        name of the file.

    Raises:
        InputError: no such file, a damaged one, or one that holds anything else.
    """
    try:
        with open(path, "rb") as file:
            given = _PlainUnpickler(file).load()
    except OSError as error:
        raise InputError(f"the labels {path} cannot be read ({error.strerror})") from error
    except Exception as error:  # damaged pickles raise nearly anything
        raise InputError(
            f"{path} is no file of labels as the paper's authors release it, labels_cs.pkl say "
            f"({error or type(error).__name__})"
        ) from error
    if not isinstance(given, dict) or not given:
        raise InputError(
            f"{path} holds no labels: a dictionary by shift is expected, as in labels_cs.pkl of "
            "the paper's authors"
        )
    return pd.concat([_rows(path, shift, fit) for shift, fit in given.items()], ignore_index=True)


def _rows(path: str | PathLike[str], shift: Any, fit: Any) -> pd.DataFrame:
    if not isinstance(shift, str) or not isinstance(fit, dict):
        raise InputError(f"{path}: {shift!r} is no shift with its figures")
    columns = {}
    for key, name in ((ACCURACIES, "accuracy"), (DISTANCES, "distance")):
        try:
            column = np.asarray(fit[key], dtype=np.float64)
        except KeyError:
            raise InputError(f"{path}: {shift} lacks {key!r}") from None
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: {key!r} of {shift} are no numbers") from error
        if column.ndim != 1 or not np.isfinite(column).all():
            raise InputError(f"{path}: {key!r} of {shift} is no row of finite numbers")
        columns[name] = column
    if len(columns["accuracy"]) != len(columns["distance"]):
        raise InputError(f"{path}: {shift} has more accuracies than distances, or fewer")
    if not ((columns["accuracy"] >= 0) & (columns["accuracy"] <= 1)).all():
        raise InputError(f"{path}: accuracies of {shift} are not in [0, 1]")
    severities = np.arange(1, len(columns["accuracy"]) + 1)
    return pd.DataFrame(
        {"surrogate": shift_name(shift), "severity": severities, **columns, "file": Path(path).name}
    )


class _PlainUnpickler(pickle.Unpickler):
    """Builds plain values and NumPy's arrays and scalars, and refuses whatever else is named."""

    _PLAIN: ClassVar[set[tuple[str, str]]] = {
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy.core.multiarray", "scalar"),
        ("_codecs", "encode"),  # bytes, in protocols before 3
    }

    def find_class(self, module: str, name: str) -> Any:
        # NumPy 2 has another name for it, and warns of the old one.
        if (module.replace("numpy._core", "numpy.core"), name) not in self._PLAIN:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)
