"""All parameters of a run, and what is wrong with them in one line."""

from math import ceil
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Field, ValidationError, model_validator

from superstar.errors import InputError, unknown_name
from superstar.parameters.base import Scale, Section, Seed
from superstar.parameters.denoising import DenoiserTraining
from superstar.parameters.images import (
    BenchmarkGeneration,
    Corrupt,
    DataPreparation,
    Distance,
    Execution,
    Recover,
    SeverityCalibration,
    SurrogateGeneration,
)
from superstar.parameters.learning import (
    Calibration,
    ClassifierTraining,
    Operability,
    PolicyTraining,
)
from superstar.parameters.studies import (
    Evaluation,
    Oracle,
    Peers,
    ProjectionStudy,
    Reporting,
    RulerStudy,
    Sensitivity,
)

HALF = "half of data_preparation.validation"
"""The images that calibrate, label and are shifted."""

# Characters of a value that a message repeats.
LONGEST_VALUE = 80


class Parameters(Section):
    """All parameters of a run."""

    benchmark: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    run_name: Annotated[str, Field(min_length=1, max_length=250)] | None = None
    source: str | None = None
    classifier: str | None = None
    class_list: str | None = None
    seed: Seed
    scale: Scale
    jpeg_quality: Annotated[int, Field(ge=1, le=100)] | None
    execution: Execution
    distance: Distance
    data_preparation: DataPreparation
    severity_calibration: SeverityCalibration
    surrogate_generation: SurrogateGeneration
    classifier_training: ClassifierTraining
    denoiser_training: DenoiserTraining
    operability: Operability
    calibration: Calibration
    policy_training: PolicyTraining
    benchmark_generation: BenchmarkGeneration
    evaluation: Evaluation
    reporting: Reporting
    projection_study: ProjectionStudy
    corrupt: Corrupt
    recover: Recover
    oracle: Oracle
    peers: Peers
    ruler_study: RulerStudy
    sensitivity: Sensitivity

    @model_validator(mode="after")
    def _fit_the_images(self) -> "Parameters":
        size, denoiser = self.data_preparation.size, self.denoiser_training
        for name, value, most in (
            ("distance.dimensions", self.distance.dimensions, size**2),
            *([("denoiser_training.crop", denoiser.crop, size)] if denoiser.trained else []),
            *(
                (f"classifier_training.{name}.shift", training.shift, size - 1)
                for name, training in self.classifier_training.trained.items()
            ),
        ):
            if value > most:
                raise InputError(
                    f"{name} = {value}: images of {size}x{size} pixels allow {most} at most"
                )
        if "puzzlemix" in self.classifier_training.trained and size % 2:
            raise InputError(
                f"data_preparation.size = {size}: Puzzle Mix cuts images into blocks, so that "
                "their sides must be even: change the size or leave out "
                "classifier_training.puzzlemix"
            )
        return self

    @model_validator(mode="after")
    def _enough_images(self) -> "Parameters":
        """Numbers alone are compared: of a source that is taken whole they are not known yet."""
        sets, policy = self.data_preparation, self.surrogate_generation.policy
        batches = policy.training_batches + policy.held_out_batches
        design = sets.validation // 2
        for name, wanted, source, there in (
            ("severity_calibration.images", self.severity_calibration.images, HALF, design),
            ("surrogate_generation.policy.batch_size", policy.batch_size, HALF, design),
            (
                "surrogate_generation.policy: (training_batches + held_out_batches) * batch_size",
                batches * policy.batch_size,
                "data_preparation.train",
                sets.train,
            ),
        ):
            if there is not None and wanted > there:
                raise InputError(
                    f"{name} = {wanted}: {source} gives {there} images, so lower the one or raise "
                    "the other"
                )
        gate, rate = self.calibration.gate, self.calibration.gate.rate
        there = min(gate.images, gate.draws, sets.train or gate.images)
        if rate < 1 / (there + 1):
            raise InputError(
                f"calibration.gate.rate = {rate:g}: {there} clean images or draws of them "
                "(data_preparation.train, calibration.gate.images, calibration.gate.draws) support "
                f"{1 / (there + 1):.2g} at least, so raise the rate, or take {ceil(1 / rate) - 1} "
                "images and draws"
            )
        held_out = ceil(self.operability.holdout * design)
        if held_out >= design:
            raise InputError(
                f"operability.holdout = {self.operability.holdout:g}: {HALF} gives {design} "
                "images, of which it leaves none to learn from"
            )
        return self

    @model_validator(mode="after")
    def _compare_like_with_like(self) -> "Parameters":
        design, deployed = self.surrogate_generation.policy.batch_size, self.evaluation.batch_size
        if design != deployed:
            raise InputError(
                f"surrogate_generation.policy.batch_size ({design}) and evaluation.batch_size "
                f"({deployed}) must be equal: the distance falls as a batch grows"
            )
        return self

    @model_validator(mode="after")
    def _examples_are_evaluated(self) -> "Parameters":
        for name in ("example_shift", "example_beta_shift"):
            shift = getattr(self.reporting, name)
            if shift not in self.benchmark_generation.shifts:
                raise InputError(
                    f"reporting.{name} {shift!r} is not among benchmark_generation.shifts: "
                    "set it to one of them"
                )
        return self

    @model_validator(mode="after")
    def _errors_are_of_the_same_classes(self) -> "Parameters":
        if self.reporting.mce is not None and self.scale != "imagenet":
            raise InputError(
                f"reporting.mce = {self.reporting.mce!r} with scale = {self.scale!r}: its errors "
                "are of ImageNet's classes under ImageNet-C, so set it to null"
            )
        return self

    @model_validator(mode="after")
    def _study_has_images(self) -> "Parameters":
        study = self.projection_study
        if study.dimensions > study.size**2:
            raise InputError(
                f"projection_study.dimensions = {study.dimensions}: images of "
                f"{study.size}x{study.size} pixels allow {study.size**2} at most"
            )
        if study.images < 2 * study.sample_sizes[-1]:
            raise InputError(
                f"projection_study.images = {study.images}: disjoint samples of "
                f"{study.sample_sizes[-1]} clean and {study.sample_sizes[-1]} perturbed images "
                f"need {2 * study.sample_sizes[-1]}"
            )
        return self

    @classmethod
    def check(cls, values: dict[str, Any]) -> "Parameters":
        """The parameters, checked.

        Raises:
            InputError: the first thing that is wrong, by its full name.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InputError(_first_line(error, values)) from None

    @classmethod
    def check_names(cls, values: dict[str, Any]) -> None:
        """Refuse names that no parameter has, whatever the values are.

        Raises:
            InputError: the first of them.
        """
        try:
            cls.model_validate(values)
        except ValidationError as error:
            if any(each["type"] == "extra_forbidden" for each in error.errors()):
                raise InputError(_first_line(error, values)) from None


def is_text(name: str) -> bool:
    """Whether a parameter, by its full name, is a text and nothing else."""
    return _kinds(name.split(".")) == [str]


def _first_line(error: ValidationError, values: dict[str, Any]) -> str:
    first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    path = _without_kinds([str(part) for part in first["loc"]])
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        known = [f"{'.'.join(path[:-1])}.{field}".lstrip(".") for field in _fields(path[:-1])]
        deeper = [full for full in _names(values) if full.endswith(f".{path[-1]}")]
        if len(path) == 1 and deeper:
            nearest = min(deeper, key=lambda full: (full.count("."), full))
            return f"unknown parameter {name!r}; did you mean {nearest!r}?"
        return str(unknown_name("parameter", name, known))
    if first["type"] == "missing":
        return f"parameter {name} is missing"
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return message
    given = f" = {first['input']!r}"
    if len(given) > LONGEST_VALUE:
        given = ""
    return f"parameter {name}{given}: {message[:1].lower()}{message[1:]}"


def _names(values: dict[str, Any]) -> list[str]:
    """The full names of all parameters."""
    return [
        full
        for name, value in values.items()
        for full in (
            (f"{name}.{inner}" for inner in _names(value)) if isinstance(value, dict) else [name]
        )
    ]


def _without_kinds(path: list[str]) -> list[str]:
    """A place in the configuration: of several kinds of value pydantic names the kind too."""
    return [part for place, part in enumerate(path) if len(_kinds(path[:place])) < 2]


def _fields(path: list[str]) -> list[str]:
    sections = [kind for kind in _kinds(path) if _is_section(kind)]
    return list(dict.fromkeys(field for section in sections for field in section.model_fields))


def _kinds(path: list[str]) -> list[Any]:
    """The types of value that may stand at a place."""
    found: list[Any] = [Parameters]
    for part in path:
        found = [kind for outer in found for kind in _kinds_in(outer, part)]
    return found


def _kinds_in(outer: Any, part: str) -> list[Any]:
    if _is_section(outer):
        field = outer.model_fields.get(part)
        return [] if field is None else _alternatives(field.annotation)
    return _alternatives(get_args(outer)[1]) if get_origin(outer) is dict else []


def _alternatives(annotation: Any) -> list[Any]:
    """The types that an annotation allows, None aside."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for part in get_args(annotation) for kind in _alternatives(part)]
    return [] if annotation is NoneType else [annotation]


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)
