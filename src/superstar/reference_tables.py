"""CSV tables of others' results, checked, in our names: the paper's tables, or another run's."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from superstar.corruptions import SURROGATES
from superstar.errors import InputError

CLASSIFIERS = {"none": "standard"}
SHIFTS = {
    "elastic": "elastic_transform",
    "jpeg": "jpeg_compression",
    "gamma_change": "gamma_increase",
    "sigmoid": "sigmoid_decrease",
    "gamma_type_a": "gamma_increase",
    "gamma_type_b": "gamma_decrease",
    "sigmoid_type_a": "sigmoid_increase",
    "sigmoid_type_b": "sigmoid_decrease",
    "gn": "gaussian_noise",
    "shn": "shot_noise",
    "in": "impulse_noise",
    "spn": "speckle_noise",
    "b": "brightness",
    "c": "contrast",
    "s": "saturate",
}
"""What we call the classifiers and shifts of the paper's tables and its release."""

GROUPS = ("surrogate", "benchmark")
SEVERITIES = ("1", "2", "3", "4", "5")
PERCENT = 100.0
FARTHEST = 1e9
"""No distance between images comes near it."""


def read_accuracies(files: Sequence[Path]) -> pd.DataFrame:
    """Accuracies on shifts before and after, from one table or from several of one experiment.

    Args:
        files: CSV with the columns `shift`, `classifier`, `shifted` and `recovered` (percent).
            Further columns, such as those of our own main table, are left out. Of names case does
            not count: `AugMix` is `augmix`.

    Returns:
        `shift`, `classifier`, `shifted`, `recovered`, `delta` (points) and `file`, the name of the
        file. Delta is computed anew, since some of the paper's are not the difference of its
        accuracies.

    Raises:
        InputError: not a table, a missing column, a value that is not a percentage, shares
            for percentages, or a shift and classifier that occur twice; with file and line.
    """
    table = _read(files, ["shift", "classifier"], {"shifted": PERCENT, "recovered": PERCENT})
    table.insert(4, "delta", table["recovered"] - table["shifted"])
    return table


def read_inoperable(files: Sequence[Path]) -> pd.DataFrame:
    """% inoperable by surrogate and shift.

    Args:
        files: CSV with the columns `group` (surrogate or benchmark), `shift` and
            `percent_inoperable`.

    Returns:
        Those columns in our names, and `file`, the name of the file.

    Raises:
        InputError: as `read_accuracies`.
    """
    return _read(files, ["group", "shift"], {"percent_inoperable": PERCENT})


def read_fits(files: Sequence[Path]) -> pd.DataFrame:
    """Accuracy and distance of every surrogate, from which its operability label follows.

    Args:
        files: CSV with the columns `shift`, `severity` (1 to 5), `accuracy` (in [0, 1]) and
            `wasserstein` (the distance). Other columns and other shifts are left out.

    Returns:
        One row a surrogate and severity, in order: `surrogate` in our names, `severity`,
        `accuracy`, `distance`, what `control.operability.regression_labels` takes; and `file`.

    Raises:
        InputError: as `read_accuracies`; or a surrogate and severity that is not there.
    """
    table = _read(files, ["shift", "severity"], {"accuracy": 1.0, "wasserstein": FARTHEST})
    table = table.rename(columns={"shift": "surrogate", "wasserstein": "distance"})
    rows = table.set_index(["surrogate", "severity"])
    wanted = [(surrogate, severity) for surrogate in SURROGATES for severity in SEVERITIES]
    if lacking := [" ".join(cell) for cell in wanted if cell not in rows.index]:
        raise InputError(
            f"the reference table {files[0]} lacks {', '.join(lacking)}: give five severities of "
            "every surrogate, or globals.external_labels: null to measure them"
        )
    return rows.loc[wanted].reset_index().astype({"severity": int})


def shift_name(name: str) -> str:
    """Our name of a shift: `GN + B` is `gaussian_noise+brightness`, `jpeg` `jpeg_compression`."""
    parts = [_plain(part) for part in name.split("+")]
    return "+".join(SHIFTS.get(part, part) for part in parts)


def classifier_name(name: str) -> str:
    """Our name of a classifier: `none` is `standard`, `AugMix` is `augmix`."""
    return CLASSIFIERS.get(_plain(name), _plain(name))


def _plain(name: str) -> str:
    return "_".join(name.lower().split())


def _read(files: Sequence[Path], keys: list[str], numbers: dict[str, float]) -> pd.DataFrame:
    """The rows of all files: `keys`, `numbers` (from 0 to what is given) and `file`."""
    if twice := [str(file) for place, file in enumerate(files) if file in files[:place]]:
        raise InputError(f"the reference table {twice[0]} is listed twice: leave one out")
    table = pd.concat([_read_one(file, keys, numbers) for file in files], ignore_index=True)
    repeats = table[table.duplicated(keys)]
    if len(repeats):
        again = repeats.iloc[0]
        what = f"{again[keys[0]]} for {keys[1]} {again[keys[1]]}"
        same = (table[keys] == again[keys]).all(axis=1)
        first = table[same].iloc[0]
        raise InputError(
            f"{_place(again)}: {what} is there already, in {first['file']}, line {first['line']}: "
            "remove one"
        )
    return table[[*keys, *numbers, "file"]]


def _read_one(file: Path, keys: list[str], numbers: dict[str, float]) -> pd.DataFrame:
    """The rows of a file, each with its `line` there."""
    text = _text(file)
    header = [_plain(name) for name in text.iloc[0]]
    wanted = [*keys, *numbers]
    if missing := [name for name in wanted if name not in header]:
        raise InputError(f"the reference table {file} lacks the columns {', '.join(missing)}")
    if repeated := [name for name in wanted if header.count(name) > 1]:
        raise InputError(f"the reference table {file} has several columns {repeated[0]}: keep one")
    rows = text.iloc[1:].set_axis(header, axis=1)[wanted]
    rows = rows.assign(file=file.name, line=rows.index + 1)
    # Spreadsheets leave empty lines.
    rows = rows[(rows[wanted] != "").any(axis=1)].reset_index(drop=True)
    if rows.empty:
        raise InputError(f"the reference table {file} holds no rows")
    known = {"shift": shift_name, "classifier": classifier_name}
    for column in keys:
        _refuse(rows, column, rows[column] == "", "a name")
        rows[column] = rows[column].map(known.get(column, _plain))
    for column, names in (("group", GROUPS), ("severity", SEVERITIES)):
        if column in keys:
            _refuse(rows, column, ~rows[column].isin(names), " or ".join(names))
    for column, most in numbers.items():
        values = pd.to_numeric(rows[column], errors="coerce").astype(float)
        _refuse(rows, column, ~values.between(0, most), f"a number from 0 to {most:g}")
        rows[column] = values
    largest = rows[list(numbers)].max(axis=None)
    shares = PERCENT in numbers.values() and largest <= 1
    # A tree may well call nothing inoperable, but no classifier is always wrong.
    if shares and (largest > 0 or "recovered" in numbers):
        raise InputError(
            f"the reference table {file}: all of {', '.join(numbers)} are at most 1, which looks "
            "like shares: give percent, such as 76.1 rather than 0.761"
        )
    return rows


def _text(file: Path) -> pd.DataFrame:
    """The cells of a file as text, a row a line, the header among them."""
    try:
        cells = pd.read_csv(
            file,
            header=None,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            encoding="utf-8-sig",
        )
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"the reference table {file} cannot be read ({reason}): see globals.reference_table, "
            "reference_inoperable and external_labels in conf/<environment>/globals.yml"
        ) from error
    return cells.fillna("").map(str.strip)


def _refuse(rows: pd.DataFrame, column: str, wrong: pd.Series, wanted: str) -> None:
    if wrong.any():
        first = rows[wrong].iloc[0]
        raise InputError(f"{_place(first)}, column {column}: {first[column]!r} is not {wanted}")


def _place(row: pd.Series) -> str:
    return f"the reference table {row['file']}, line {row['line']}"
