"""The parameters of a run: which there are, of what type, and in what range.

One model a pipeline, in the order of the pipelines. Values live in `conf/<environment>/`.
"""

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from superstar.errors import InputError, unknown_name

Fraction = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Severity = Annotated[int, Field(ge=1, le=5)]
# Configuration files know lists only, so tuples are made from them.
Colour = Annotated[tuple[float, float, float], Field(strict=False)]
Scatter = Annotated[tuple[Positive, Positive, Positive], Field(strict=False)]
Interval = Annotated[tuple[Positive, Positive], Field(strict=False)]
Strengths = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2)]
Scale = Literal["imagenet", "cifar"]

# Characters of a value that a message repeats.
LONGEST_VALUE = 80


class Section(BaseModel):
    """A group of parameters: nothing unknown, nothing missing, nothing converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Execution(Section):
    """How to run: `threads` and `device` affect what is trained, the others speed alone."""

    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")]
    workers: Annotated[int, Field(ge=1, le=1024)]
    threads: Annotated[int, Field(ge=1, le=1024)]
    batch_size: Count

    @field_validator("device")
    @classmethod
    def _present(cls, device: str) -> str:
        if device != "cpu":
            import torch

            index = int(device.partition(":")[2] or 0)
            if index >= torch.cuda.device_count():
                raise InputError(f"there is no {device} on this machine")
        return device


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
    """Clean sets."""

    size: Annotated[int, Field(ge=16)]
    train: Count | None
    validation: Annotated[int, Field(ge=2)]
    test: Count | None


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
            if name not in SURROGATES:
                raise unknown_name("surrogate", name, SURROGATES)
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
            if name not in SURROGATES:
                raise unknown_name("surrogate", name, SURROGATES)
        return _without_repeats(names)


class SurrogateGeneration(Section):
    """Surrogate sets."""

    policy: PolicySurrogates


class SmallResNetShape(Section):
    """`superstar.classifiers.SmallResNet`."""

    kind: Literal["small_resnet"]
    width: Count


class WideResNetShape(Section):
    """`superstar.classifiers.WideResNet`."""

    kind: Literal["wide_resnet"]
    depth: Count
    width: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]


class Training(Section):
    """What every training of a classifier needs."""

    epochs: Count
    batch_size: Count
    learning_rate: Positive
    weight_decay: NotNegative
    shift: Annotated[int, Field(ge=0)]


class StandardTraining(Training):
    """The ordinary classifier."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)]


class AugmixTraining(Training):
    """AugMix, from the ordinary classifier's weights."""

    consistency: NotNegative
    severity: Annotated[int, Field(ge=1, le=10)]


class NoisymixTraining(AugmixTraining):
    """NoisyMix, likewise."""

    alpha: Positive
    additive_noise: NotNegative
    multiplicative_noise: NotNegative


class PuzzlemixTraining(Training):
    """Puzzle Mix, likewise."""

    alpha: Positive
    label_smoothness: NotNegative
    data_smoothness: NotNegative
    prior: NotNegative
    transport: NotNegative


class Published(Section):
    """A checkpoint that others published."""

    path: str
    layout: str

    @field_validator("path")
    @classmethod
    def _is_there(cls, path: str) -> str:
        from superstar.decoding import user_path

        if not user_path(path).is_file():
            raise InputError(f"there is no checkpoint {path}: see classifier_training.published")
        return path

    @field_validator("layout")
    @classmethod
    def _is_known(cls, layout: str) -> str:
        from superstar.classifiers import LAYOUTS

        if layout not in LAYOUTS:
            raise unknown_name("layout of a checkpoint", layout, LAYOUTS)
        return layout


class ClassifierTraining(Section):
    """Classifiers under study. Those that were published are not trained."""

    architecture: Annotated[SmallResNetShape | WideResNetShape, Field(discriminator="kind")]
    standard: StandardTraining
    augmix: AugmixTraining | None
    noisymix: NoisymixTraining | None
    puzzlemix: PuzzlemixTraining | None
    published: dict[str, Published]

    @property
    def trained(self) -> dict[str, Training]:
        """The trainings by the classifier's name, without those that were published."""
        schemes: dict[str, Training | None] = {
            "standard": self.standard,
            "augmix": self.augmix,
            "noisymix": self.noisymix,
            "puzzlemix": self.puzzlemix,
        }
        return {
            name: scheme
            for name, scheme in schemes.items()
            if scheme is not None and name not in self.published
        }


class DenoiserTraining(Section):
    """DnCNN."""

    depth: Annotated[int, Field(ge=2)]
    width: Count
    unshuffle: Count
    enlarge: Count
    epochs: Count
    batch_size: Count
    crop: Annotated[int, Field(ge=16)]
    learning_rate: Positive
    largest_sigma: Annotated[float, Field(gt=0, le=255)]
    assessed_sigmas: Annotated[list[Annotated[float, Field(gt=0, le=255)]], Field(min_length=1)]
    assessed_images: Count


class Operability(Section):
    """Labels by regression and the decision tree (paper, Minimum Condition for Operability)."""

    r_squared: Annotated[float, Field(ge=0, le=1)]
    depths: Annotated[list[Count], Field(min_length=1)]
    holdout: Annotated[float, Field(gt=0, lt=1)]


class Reward(Section):
    """The reward's similarity term: weight and threshold (lambda and omega in the paper), form."""

    ssim_weight: Annotated[float, Field(ge=0)]
    ssim_threshold: Annotated[float, Field(ge=0, le=1)]
    data_range: Annotated[float, Field(ge=1e-3)]
    regulariser: Literal["paper", "monotone"]


class Exploration(Section):
    """Probability of a uniform action in episode e: max(floor, base ** (rate * (e + 1)))."""

    base: Fraction
    rate: Positive
    floor: Annotated[float, Field(ge=0, le=1)]


class PolicyTraining(Section):
    """Actor-critic (paper, appendix E) and the thresholds of Algorithm 1."""

    episodes: Count
    learning_rate: Positive
    discount: Annotated[float, Field(ge=0, lt=1)]
    exploration: Exploration
    reward: Reward
    reward_scale: Positive
    horizon: Count
    alpha: Fraction
    beta: Fraction | Literal["calibrated"]
    beta_draws: Annotated[int, Field(ge=2)]
    beta_margin: Annotated[float, Field(ge=0)]
    memory_limit_mb: Count
    checkpoint_episodes: Count


def _without_repeats(values: list[Any]) -> list[Any]:
    repeated = [value for place, value in enumerate(values) if value in values[:place]]
    if repeated:
        raise InputError(f"{repeated[0]!r} is named twice")
    return values


def _known_shifts(shifts: list[str]) -> list[str]:
    from superstar.corruptions import SHIFT_SETS, SHIFTS, spell_out

    listed = spell_out(shifts)
    for shift in listed:
        for part in shift.split("+"):
            if not part:
                raise InputError(f"{shift!r} has an empty part: put a name on each side of '+'")
            if part not in SHIFTS:
                raise unknown_name("shift", part, [*SHIFTS, *SHIFT_SETS])
    return _without_repeats(listed)


def _split_words(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


def _split_numbers(value: Any) -> Any:
    if isinstance(value, str):
        return [int(word) if word.isdecimal() else word for word in value.split()]
    return [value] if isinstance(value, int) else value


# Lists, or on the command line, whose commas part parameters, words with spaces between.
# Shifts: names of shifts, composites and sets of shifts, the sets spelt out.
Shifts = Annotated[
    list[str],
    Field(min_length=1),
    BeforeValidator(_split_words),
    AfterValidator(_known_shifts),
]
Severities = Annotated[
    list[Severity],
    Field(min_length=1),
    BeforeValidator(_split_numbers),
    AfterValidator(_without_repeats),
]


class BenchmarkGeneration(Section):
    """Shifted test sets."""

    shifts: Shifts


class Corrupt(Section):
    """Shifted copies of a folder of images; `input` and `output` are given with `--params`."""

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


class Evaluation(Section):
    """Algorithm 1 on every shift, severity and trial."""

    severities: Severities
    trials: Count
    batch_size: Annotated[int, Field(ge=2)]
    precision: Literal["float32", "bfloat16"]


class Reporting(Section):
    """Tables and figures."""

    bootstrap_resamples: Annotated[int, Field(ge=10)]
    confidence: Annotated[float, Field(gt=0, lt=1)]
    curve_window: Count
    highlighted: list[str]
    example_shift: str
    example_beta_shift: str
    example_beta_severity: Severity
    example_beta: Positive
    cluster_samples: Count
    most_clusters: Count


class Oracle(Section):
    """The search for the best that any policy could do."""

    seeds: Count
    exhaustive: Count
    width: Count
    memory_limit_mb: Count


class RunTimeSweep(Section):
    """Values in Algorithm 1, with the run's own policy."""

    alpha: list[Fraction]
    beta: list[Positive]
    horizon: list[Count]


class TrainingSweep(Section):
    """Values with policies trained anew."""

    alpha: list[Fraction]
    ssim_weight: list[Annotated[float, Field(ge=0)]]
    ssim_threshold: list[Annotated[float, Field(ge=0, le=1)]]
    horizon: list[Count]
    batch_size: list[Annotated[int, Field(ge=2)]]
    seed: list[Seed]


class Sensitivity(Section):
    """Values of each setting, changed one at a time around the run's own."""

    run_time: RunTimeSweep
    retrained: TrainingSweep
    trials: Count


class PerturbationStrengths(Section):
    """Of each perturbation, from 0 (images as they are) upwards."""

    gaussian_noise: Strengths
    impulse_noise: Strengths
    gaussian_blur: Strengths

    @field_validator("*")
    @classmethod
    def _from_none(cls, strengths: list[float]) -> list[float]:
        if strengths[0] != 0:
            raise InputError("the first strength must be 0, which leaves images as they are")
        return _rising(strengths)

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
        return _rising(sizes)


class Parameters(Section):
    """All parameters of a run."""

    benchmark: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    seed: Seed
    scale: Scale
    execution: Execution
    distance: Distance
    data_preparation: DataPreparation
    severity_calibration: SeverityCalibration
    surrogate_generation: SurrogateGeneration
    classifier_training: ClassifierTraining
    denoiser_training: DenoiserTraining
    operability: Operability
    policy_training: PolicyTraining
    benchmark_generation: BenchmarkGeneration
    evaluation: Evaluation
    reporting: Reporting
    projection_study: ProjectionStudy
    corrupt: Corrupt
    oracle: Oracle
    sensitivity: Sensitivity

    @model_validator(mode="after")
    def _fit_the_images(self) -> "Parameters":
        size = self.data_preparation.size
        for name, value, most in (
            ("distance.dimensions", self.distance.dimensions, size**2),
            ("denoiser_training.crop", self.denoiser_training.crop, size),
            *(
                (f"classifier_training.{name}.shift", training.shift, size - 1)
                for name, training in self.classifier_training.trained.items()
            ),
        ):
            if value > most:
                raise InputError(
                    f"{name} = {value}: images of {size}x{size} pixels allow {most} at most"
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


def _rising(values: list[Any]) -> list[Any]:
    if any(later <= earlier for earlier, later in pairwise(values)):
        raise InputError("the values must rise")
    return values


def _first_line(error: ValidationError, values: dict[str, Any]) -> str:
    first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    path = [str(part) for part in first["loc"]]
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        known = [f"{'.'.join(path[:-1])}.{field}".lstrip(".") for field in _fields(path[:-1])]
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


def _fields(path: list[str]) -> list[str]:
    model: Any = Parameters
    for part in path:
        model = model.model_fields[part].annotation
    return list(model.model_fields)
