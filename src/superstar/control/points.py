"""The points of the sweep: which settings are looked at, and which policy each needs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

OWN = "own setting"


@dataclass(frozen=True)
class Setting:
    """What is swept.

    Attributes:
        alpha: α, of Algorithm 1 and of the episodes in training.
        beta: β, of Algorithm 1 alone.
        ssim_weight: λ, of the reward in training.
        ssim_threshold: ω, of the reward in training.
        batch_size: images of a batch, in training and at run time.
        horizon: k, most actions, of Algorithm 1 and of the episodes in training.
        seed: of the training.
    """

    alpha: float
    beta: float
    ssim_weight: float
    ssim_threshold: float
    batch_size: int
    horizon: int
    seed: int


PARAMETERS = tuple(Setting.__dataclass_fields__)


@dataclass(frozen=True)
class Point:
    """A setting, and how it came about.

    Attributes:
        swept: the parameter that differs from the run's own setting; `OWN` where none does.
        retrained: whether the policy was trained in this setting; if not, it is the run's own.
        setting: the values.
    """

    swept: str
    retrained: bool
    setting: Setting

    @property
    def name(self) -> str:
        """`beta=0.97`, `alpha=0.8 retrained` or `own setting`."""
        if self.swept == OWN:
            return OWN
        value = f"{self.swept}={getattr(self.setting, self.swept)}"
        return f"{value} retrained" if self.retrained else value

    @property
    def policy(self) -> str:
        """Under which name the point's policy is kept."""
        return self.name if self.retrained else OWN


def lay_out(
    own: Setting,
    run_time: Mapping[str, Sequence[Any]],
    retrained: Mapping[str, Sequence[Any]],
    beta_at: Callable[[int], float],
) -> Iterator[Point]:
    """The run's own setting, and around it one parameter at a time.

    α, β and the horizon are changed in Algorithm 1, with the run's own policy. What training reads
    (α, λ, ω, the horizon, the batch size, the seed) is changed there and in Algorithm 1: what a run
    would come to whose configuration had that value. No training reads β.

    Args:
        own: the run's setting.
        run_time: values by parameter in Algorithm 1; the run's own, and those that occur twice,
            count once.
        retrained: the values in training, likewise.
        beta_at: β at another batch size.
    """
    yield Point(OWN, False, own)
    for anew, values in ((False, run_time), (True, retrained)):
        for name, listed in values.items():
            for value in sorted(set(listed) - {getattr(own, name)}):
                setting = replace(own, **{name: value})
                if name == "batch_size":
                    setting = replace(setting, beta=beta_at(value))
                yield Point(name, anew, setting)


def to_table(points: list[Point]) -> pd.DataFrame:
    """One row a point: `point` (its name), `swept`, `retrained`, `policy`, and the values."""
    return pd.DataFrame(
        [
            {
                "point": point.name,
                "swept": point.swept,
                "retrained": point.retrained,
                "policy": point.policy,
                **asdict(point.setting),
            }
            for point in points
        ]
    )


def from_table(table: pd.DataFrame) -> list[Point]:
    """The points of such a table."""
    return [
        Point(row["swept"], row["retrained"], Setting(**{name: row[name] for name in PARAMETERS}))
        for row in table.to_dict("records")
    ]
