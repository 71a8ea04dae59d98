"""Parameters of what is measured and reported."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from superstar.errors import InputError
from superstar.parameters.base import (
    Count,
    Fraction,
    NotNegative,
    Positive,
    Section,
    Seed,
    Severities,
    Severity,
    Strengths,
    known_shifts,
    rising,
    split_numbers,
    split_words,
    without_repeats,
)

SPLIT = BeforeValidator(split_numbers)
"""Lists may be given on the command line, whose commas part parameters, with spaces between."""


class Evaluation(Section):
    """Both controllers on every shift, severity and trial."""

    severities: Severities
    trials: Count
    batch_size: Annotated[int, Field(ge=2)]
    precision: Literal["float32", "bfloat16"]


class Reporting(Section):
    """Tables and figures."""

    bootstrap_resamples: Annotated[int, Field(ge=10)]
    confidence: Annotated[float, Field(gt=0, lt=1)]
    curve_window: Count
    highlighted: Annotated[list[str], BeforeValidator(split_words), AfterValidator(known_shifts)]
    mce: Literal["alexnet"] | None
    worst_cells: Count
    example_shift: str
    example_beta_shift: str
    example_beta_severity: Severity
    example_beta: Positive
    cluster_samples: Count
    most_clusters: Count


class Oracle(Section):
    """The search for the best that any policy could do."""

    severities: Severities
    seeds: Count
    exhaustive: Count
    width: Count
    memory_limit_mb: Count


class RunTimeSweep(Section):
    """Values in Algorithm 1, with the run's own policy."""

    alpha: Annotated[list[Fraction], SPLIT]
    beta: Annotated[list[Positive], SPLIT]
    horizon: Annotated[list[Count], SPLIT]


class TrainingSweep(Section):
    """Values with policies trained anew."""

    alpha: Annotated[list[Fraction], SPLIT]
    ssim_weight: Annotated[list[NotNegative], SPLIT]
    ssim_threshold: Annotated[list[Annotated[float, Field(ge=0, le=1)]], SPLIT]
    horizon: Annotated[list[Count], SPLIT]
    batch_size: Annotated[list[Annotated[int, Field(ge=2)]], SPLIT]
    seed: Annotated[list[Seed], SPLIT]


class Sensitivity(Section):
    """Values of each setting, changed one at a time around the run's own."""

    run_time: RunTimeSweep
    retrained: TrainingSweep
    trials: Count


class PerturbationStrengths(Section):
    """Strengths of each perturbation, from 0 (images as they are) upwards."""

    gaussian_noise: Strengths
    impulse_noise: Strengths
    gaussian_blur: Strengths

    @field_validator("*")
    @classmethod
    def _from_none(cls, strengths: list[float]) -> list[float]:
        if strengths[0] != 0:
            raise InputError("the first strength must be 0, which leaves images as they are")
        return rising(strengths)

    @field_validator("impulse_noise")
    @classmethod
    def _shares(cls, strengths: list[float]) -> list[float]:
        if strengths[-1] > 1:
            raise InputError("a share of pixels is 1 at most")
        return strengths


class ProjectionStudy(Section):
    """Distances under several projections (paper, appendix C)."""

    source: Literal["photos", "mnist"]
    images: Count
    size: Annotated[int, Field(ge=16)]
    dimensions: Count
    sample_sizes: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1)]
    trials: Annotated[int, Field(ge=2)]
    strengths: PerturbationStrengths

    @field_validator("sample_sizes")
    @classmethod
    def _growing(cls, sizes: list[int]) -> list[int]:
        return rising(sizes)


class RulerStudy(Section):
    """Rulers beside one another."""

    distances: Annotated[
        list[
            Literal[
                "wasserstein",
                "sliced_wasserstein",
                "total_variation",
                "kullback_leibler",
                "jensen_shannon",
            ]
        ],
        AfterValidator(without_repeats),
    ]
    test_severities: Severities
    telling: NotNegative
    severity: Severity
    sizes: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1), AfterValidator(rising)]
    draws: Count
    rate: Fraction
    detected: Fraction


class BatchNormPeer(Section):
    """`superstar.peers.BatchNormAdaptation`."""

    prior: NotNegative


class TentPeer(Section):
    """`superstar.peers.Tent`.

    Attributes:
        learning_rate: learning rate of Adam.
        reset: number of batches after which it begins anew; null: never.
    """

    learning_rate: Positive
    reset: Count | None = None


class AveragingPeer(Section):
    """`superstar.peers.Averaging`."""

    views: Count
    severity: Annotated[int, Field(ge=1, le=10)]


class MemoPeer(AveragingPeer):
    """`superstar.peers.Memo`."""

    learning_rate: Positive


class QuantilePeer(Section):
    """`superstar.peers.QuantileAdapter`."""

    images: Count
    levels: Annotated[int, Field(ge=2)]


class ShiftingStream(Section):
    """`superstar.peers.shifting_stream`."""

    segments: Annotated[int, Field(ge=2)]
    kinds: Annotated[int, Field(ge=2)]
    clean: Annotated[float, Field(ge=0, lt=1)]
    shortest: Count
    longest: Count

    @model_validator(mode="after")
    def _in_order(self) -> "ShiftingStream":
        if self.longest < self.shortest:
            raise InputError("longest must not be below shortest")
        return self


class Peers(Section):
    """Peers on the same images, alone and behind the controllers."""

    compared: Annotated[
        list[
            Literal[
                "batch_statistics",
                "batch_norm",
                "tent",
                "tent_reset",
                "memo",
                "averaging",
                "switching",
                "quantiles",
            ]
        ],
        Field(min_length=1),
        BeforeValidator(split_words),
        AfterValidator(without_repeats),
    ]
    classifiers: Annotated[
        list[str],
        Field(min_length=1),
        BeforeValidator(split_words),
        AfterValidator(without_repeats),
    ]
    behind_paper: bool
    severities: Severities
    images: Annotated[int, Field(ge=2)]
    batch_size: Annotated[int, Field(ge=2)]
    every: Count
    batch_statistics: BatchNormPeer
    batch_norm: BatchNormPeer
    tent: TentPeer
    tent_reset: TentPeer
    memo: MemoPeer
    averaging: AveragingPeer
    quantiles: QuantilePeer
    stream: ShiftingStream
