"""Parameters of how a run computes, and of the images that it makes."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from superstar.errors import InputError, check_name
from superstar.parameters.base import (
    Colour,
    Count,
    Interval,
    Positive,
    Scatter,
    Section,
    Severities,
    Severity,
    Shifts,
    without_repeats,
)


class Execution(Section):
    """Where and how a run computes."""

    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")]
    workers: Annotated[int, Field(ge=1, le=1024)]
    threads: Annotated[int, Field(ge=1, le=1024)]
    batch_size: Count
    backend: Literal["loky", "dask"]
    address: str | None
    retries: Annotated[int, Field(ge=0, le=100)]

    @field_validator("device")
    @classmethod
    def _present(cls, device: str) -> str:
        if device != "cpu":
            import torch

            index = int(device.partition(":")[2] or 0)
            if index >= torch.cuda.device_count():
                raise InputError(f"there is no {device} on this machine")
        return device

    @model_validator(mode="after")
    def _address_of_a_cluster(self) -> "Execution":
        if self.address is not None and self.backend == "loky":
            raise InputError(
                f"address = {self.address!r} names a cluster, but backend = 'loky' runs on this "
                "machine: set execution.backend to dask, or execution.address to null"
            )
        return self


class Distance(Section):
    """How far a set of images is from the validation set (paper, Dimensionality Reduction)."""

    projection: Literal["dct", "uniform_qr", "haar", "gaussian", "sparse"]
    dimensions: Count
    mean: Colour
    std: Scatter
    measure: dict[str, Any]

    @field_validator("measure")
    @classmethod
    def _between_points(cls, measure: dict[str, Any]) -> dict[str, Any]:
        from superstar.measures import Distance as Measure

        if Measure.from_dict(measure).queries_classifiers:
            raise InputError("a run measures images: take a distance that asks no classifiers")
        return measure


class DataPreparation(Section):
    """The clean sets of images."""

    size: Annotated[int, Field(ge=16)]
    resize: Annotated[int, Field(ge=16)] | None
    design_classes: Count | None
    train: Count | None
    validation: Annotated[int, Field(ge=2)]
    test: Count | None

    @model_validator(mode="after")
    def _crop_fits(self) -> "DataPreparation":
        if self.resize is not None and self.size > self.resize:
            raise InputError(f"size = {self.size} exceeds resize = {self.resize}")
        return self


class SeverityCalibration(Section):
    """Strengths of the surrogates (paper, appendix E)."""

    severities: Literal["preset", "calibrated"]
    images: Count
    change: Interval
    grids: dict[str, list[Positive]]

    @field_validator("change")
    @classmethod
    def _low_to_high(cls, change: tuple[float, float]) -> tuple[float, float]:
        if not change[0] < change[1]:
            raise InputError("the interval runs from low to high")
        return change

    @field_validator("grids")
    @classmethod
    def _known_surrogates(cls, grids: dict[str, list[float]]) -> dict[str, list[float]]:
        from superstar.corruptions import SURROGATES

        for name, grid in grids.items():
            check_name("surrogate", name, SURROGATES)
            if len(set(grid)) < 5 or len(set(grid)) < len(grid):
                raise InputError(f"{name}: a grid needs at least five strengths, all different")
        if missing := set(SURROGATES) - set(grids):
            raise InputError(f"no grid for {', '.join(sorted(missing))}")
        return grids


class PolicySurrogates(Section):
    """Which shifted batches the policy learns from."""

    names: Annotated[list[str], Field(min_length=1)]
    severity: Severity
    batch_size: Annotated[int, Field(ge=2)]
    training_batches: Count
    held_out_batches: Count

    @field_validator("names")
    @classmethod
    def _known_surrogates(cls, names: list[str]) -> list[str]:
        from superstar.corruptions import SURROGATES

        for name in names:
            check_name("surrogate", name, SURROGATES)
        return without_repeats(names)


class SurrogateGeneration(Section):
    """The surrogates that the policy learns from."""

    policy: PolicySurrogates


class BenchmarkGeneration(Section):
    """The shifted test sets."""

    shifts: Shifts
    batch_size: Count


class Corrupt(Section):
    """Shifted copies of a folder of your images, as a benchmark of your own.

    Attributes:
        input: folder of the images; given with `--params`.
        output: folder of the shifted copies; given with `--params`.
    """

    shifts: Shifts
    severities: Severities
    resize: Annotated[int, Field(ge=16)] | None
    crop: Annotated[int, Field(ge=16)] | None
    format: Literal["jpeg", "png"]
    batch_size: Count
    input: str | None = None
    output: str | None = None

    @model_validator(mode="after")
    def _crop_fits(self) -> "Corrupt":
        if self.resize is not None and self.crop is not None and self.crop > self.resize:
            raise InputError(f"crop = {self.crop} exceeds resize = {self.resize}")
        return self


class Recover(Section):
    """Corrected copies of a folder of your images.

    Attributes:
        input: folder of the images; given with `--params`.
        output: folder of the corrected copies; given with `--params`.
        supervisor: benchmark that was trained here, or a supervisor's folder; given with
            `--params`.
    """

    group: Literal["all", "folder", "windows"]
    window: Count
    order: Literal["name", "time"]
    controller: Literal["paper", "calibrated"] | None
    size: Literal["supervisor", "original"]
    resize: Annotated[int, Field(ge=16)] | None
    decide_on: Count
    quality: Annotated[int, Field(ge=1, le=100)]
    shown: Annotated[int, Field(ge=0)]
    noise_images: Count
    noise_crop: Annotated[int, Field(ge=16)]
    input: str | None = None
    output: str | None = None
    supervisor: str | None = None
