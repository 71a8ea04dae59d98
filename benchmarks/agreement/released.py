"""The figures that the paper's authors released, as tables under our names."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from superstar.corruptions import SHIFTS, SURROGATES
from superstar.errors import InputError
from superstar.measures import FEATURES
from superstar.reference_tables import shift_name

STATES_FILE = "released_surrogate_states.csv"
DISTANCES_FILE = "released_operability_fits.csv"
SEVERITIES = (1, 2, 3, 4, 5)
STATE_SEVERITY = 5
WITH_SHIFTS = ("imagenet",)
"""Data sets of which the release has distances under the benchmark's shifts."""

_MEANS = {f"{name}_mean": name for name in FEATURES}
_DEVIATIONS = {f"{name}_sd": name for name in FEATURES}


@dataclass(frozen=True)
class Released:
    """Figures of surrogates and benchmark shifts, by (benchmark, shift, severity).

    Attributes:
        means: mean of each state feature over images under the surrogates, at severity 5; columns
            FEATURES.
        deviations: standard deviation over images; the same rows and columns.
        distances: distance of the shifted from the clean images, column `wasserstein`; under the
            surrogates, and under the benchmark's shifts for the data sets `WITH_SHIFTS`.
    """

    means: pd.DataFrame
    deviations: pd.DataFrame
    distances: pd.DataFrame

    def mean(self, benchmark: str, shift: str, feature: str) -> float:
        return float(self.means.loc[(benchmark, shift, STATE_SEVERITY), feature])

    def deviation(self, benchmark: str, shift: str, feature: str) -> float:
        return float(self.deviations.loc[(benchmark, shift, STATE_SEVERITY), feature])

    def distance(self, benchmark: str, shift: str, severity: int) -> float:
        return float(self.distances.loc[(benchmark, shift, severity), "wasserstein"])


def read_released(folder: Path, benchmarks: Sequence[str]) -> Released:
    """Read the two tables of the release.

    Args:
        folder: holds `released_surrogate_states.csv` (benchmark, shift, severity, and of each
            state feature `_mean` and `_sd`) and `released_operability_fits.csv` (benchmark,
            shift, severity, wasserstein).
        benchmarks: whose figures are wanted, of "imagenet" and "cifar100".

    Raises:
        InputError: the folder, a file, a column or a figure is missing.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} with the released figures")
    state_rows = [(name, SURROGATES) for name in benchmarks]
    distance_rows = state_rows + [(name, SHIFTS) for name in benchmarks if name in WITH_SHIFTS]
    states = _read(
        folder / STATES_FILE, state_rows, (STATE_SEVERITY,), columns=[*_MEANS, *_DEVIATIONS]
    )
    distances = _read(folder / DISTANCES_FILE, distance_rows, SEVERITIES, columns=["wasserstein"])
    return Released(
        states[list(_MEANS)].rename(columns=_MEANS),
        states[list(_DEVIATIONS)].rename(columns=_DEVIATIONS),
        distances,
    )


def _read(
    path: Path,
    shifts: Sequence[tuple[str, Sequence[str]]],
    severities: Sequence[int],
    columns: list[str],
) -> pd.DataFrame:
    """The figures of each data set's shifts in these columns, one row each."""
    if not path.is_file():
        raise InputError(f"there is no file {path} with released figures")
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a table ({' '.join(str(error).split())})") from error
    keys = ["benchmark", "shift", "severity"]
    missing = [name for name in (*keys, *columns) if name not in table]
    if missing:
        raise InputError(f"{path} lacks the columns {', '.join(missing)}")
    rows = table.assign(shift=table["shift"].map(shift_name)).set_index(keys)[columns]
    wanted = pd.MultiIndex.from_tuples(
        [
            (benchmark, name, severity)
            for benchmark, names in shifts
            for name in names
            for severity in severities
        ],
        names=keys,
    )
    figures = rows[~rows.index.duplicated()].reindex(wanted)
    figures = figures.apply(pd.to_numeric, errors="coerce")
    absent = figures.index[figures.isna().any(axis=1)]
    if len(absent):
        benchmark, shift, severity = absent[0]
        raise InputError(f"{path} lacks figures of {benchmark}, {shift}, severity {severity}")
    return figures
