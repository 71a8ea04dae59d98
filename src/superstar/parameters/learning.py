"""Parameters of what is learned: classifiers, tree and policy."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, field_validator

from superstar.errors import InputError, check_name
from superstar.parameters.base import (
    Count,
    Fraction,
    NotNegative,
    Positive,
    Section,
    Severity,
    check_is_there,
    rising,
    without_repeats,
)


class SmallResNetShape(Section):
    """`superstar.classifiers.SmallResNet`.

    Attributes:
        kind: shape of the network.
        width: channels of the first stage.
    """

    kind: Literal["small_resnet"]
    width: Count


class WideResNetShape(Section):
    """`superstar.classifiers.WideResNet`.

    Attributes:
        kind: the other shape of the network, a Wide ResNet, as in `conf/cifar100/`.
        depth: number of its layers.
        width: factor by which it is wider than a ResNet.
        dropout: share of the numbers within a block that are dropped in training.
    """

    kind: Literal["wide_resnet"]
    depth: Count
    width: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]


class Training(Section):
    """What every training of a classifier needs: its schedule, and the shift of its images.

    Attributes:
        epochs: passes over the training images.
        batch_size: images in an update.
        learning_rate: highest learning rate of the cycle.
        weight_decay: weight decay of the optimiser.
        shift: most pixels by which an image is moved at random.
    """

    epochs: Count
    batch_size: Count
    learning_rate: Positive
    weight_decay: NotNegative
    shift: Annotated[int, Field(ge=0)]

    @property
    def schedule(self) -> dict[str, Any]:
        """What every scheme has."""
        return self.model_dump(include=set(Training.model_fields))

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that only this scheme has."""
        return self.model_dump(exclude=set(Training.model_fields))


class StandardTraining(Training):
    """The ordinary classifier."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)]


class AugmixTraining(Training):
    """AugMix, from the ordinary classifier's weights.

    Attributes:
        consistency: weight of the loss that wants equal outputs for all versions of an image.
        severity: strength of AugMix's operations, 1 to 10.
    """

    consistency: NotNegative
    severity: Annotated[int, Field(ge=1, le=10)]


class NoisymixTraining(AugmixTraining):
    """NoisyMix, from the ordinary classifier's weights.

    Attributes:
        alpha: both parameters of the beta distribution of a mixture's share.
        additive_noise: highest standard deviation of the noise added, in units of the features.
        multiplicative_noise: features are multiplied by up to 1 ± this.
    """

    alpha: Positive
    additive_noise: NotNegative
    multiplicative_noise: NotNegative


class PuzzlemixTraining(Training):
    """Puzzle Mix, from the ordinary classifier's weights.

    Attributes:
        alpha: both parameters of the beta distribution of a mixture's share.
        label_smoothness: weight of neighbouring blocks with other levels, β in its paper.
        data_smoothness: weight of colours at borders, as a share of β.
        prior: weight of the binomial distribution of the levels, η in its paper.
        transport: cost of moving blocks, ξ in its paper.
    """

    alpha: Positive
    label_smoothness: NotNegative
    data_smoothness: Annotated[float, Field(ge=0, le=1)]
    prior: NotNegative
    transport: NotNegative


class Published(Section):
    """A checkpoint that others published."""

    path: str
    layout: str

    @field_validator("path")
    @classmethod
    def _is_there(cls, path: str) -> str:
        check_is_there(path, "classifier_training.published")
        return path

    @field_validator("layout")
    @classmethod
    def _is_known(cls, layout: str) -> str:
        from superstar.classifiers import LAYOUTS

        check_name("layout of a checkpoint", layout, LAYOUTS)
        return layout


def _known_classifier(name: str) -> str:
    from superstar.classifiers import check_named

    check_named(name)
    return name


def _form(value: Any) -> str:
    return "name" if isinstance(value, str) else "checkpoint"


# A checkpoint, or the name of a pretrained network.
NotTrained = Annotated[
    Annotated[Published, Tag("checkpoint")]
    | Annotated[str, AfterValidator(_known_classifier), Tag("name")],
    Discriminator(_form),
]


# Files are called so.
ClassifierName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class ClassifierTraining(Section):
    """The classifiers under study. Those under `published` are not trained."""

    architecture: Annotated[SmallResNetShape | WideResNetShape, Field(discriminator="kind")]
    standard: StandardTraining
    augmix: AugmixTraining | None
    noisymix: NoisymixTraining | None
    puzzlemix: PuzzlemixTraining | None
    published: dict[ClassifierName, NotTrained]

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


def _from_one(sizes: list[int]) -> list[int]:
    if rising(sizes)[0] != 1:
        raise InputError("the sizes must begin with 1")
    return sizes


def _known(candidates: list[str]) -> list[str]:
    from superstar.actions import EXTENDED
    from superstar.actions.plan import THEN

    for candidate in candidates:
        for step in candidate.split(THEN):
            check_name("correction", step, EXTENDED)
    return candidates


class Operability(Section):
    """Labels by regression and the decision tree (paper, Minimum Condition for Operability)."""

    r_squared: Annotated[float, Field(ge=0, le=1)]
    shared_images: Annotated[float, Field(ge=0, le=1)]
    depths: Annotated[list[Count], Field(min_length=1)]
    holdout: Annotated[float, Field(gt=0, lt=1)]


class DenoiserGate(Section):
    """`superstar.actions.denoiser_gate.fit_gate`, and the noise and images that it is fitted to."""

    clean_share: Fraction
    margin: Positive
    rise: Annotated[float, Field(gt=1)]
    strengths: Annotated[list[Fraction], Field(min_length=1), AfterValidator(rising)]
    surrogate: str
    images: Count

    @field_validator("surrogate")
    @classmethod
    def _known_surrogate(cls, name: str) -> str:
        from superstar.corruptions import SURROGATES

        check_name("surrogate", name, SURROGATES)
        return name


class GateCalibration(Section):
    """`superstar.control.gate.calibrate_gate`."""

    images: Annotated[int, Field(ge=2)]
    sizes: Annotated[list[Count], Field(min_length=1), AfterValidator(_from_one)]
    draws: Count
    rate: Annotated[float, Field(gt=0, lt=1)]
    shown_rates: list[Annotated[float, Field(gt=0, lt=1)]]


class SearchLimits(Section):
    """`superstar.control.calibrated.Limits`."""

    horizon: Count
    sample: Annotated[int, Field(ge=2)]
    least_fall: Annotated[float, Field(ge=0, lt=1)]
    most_rise: NotNegative
    least_gain: Annotated[float, Field(ge=0, lt=1)]


class Calibration(Section):
    """The controller `calibrated`: where home is, and what corrections are worth."""

    denoiser: DenoiserGate
    gate: GateCalibration
    images: Count
    severities: Annotated[list[Severity], Field(min_length=1), AfterValidator(rising)]
    pair_severities: Annotated[list[Severity], AfterValidator(rising)]
    line_blur: Annotated[list[Fraction], AfterValidator(rising)]
    candidates: Annotated[
        list[str], Field(min_length=1), AfterValidator(without_repeats), AfterValidator(_known)
    ]
    bound: NotNegative
    clean_bound: NotNegative
    confidence: Annotated[float, Field(gt=0, lt=1)]
    veto: Annotated[float, Field(gt=0, lt=1)]
    own_labels_only: Annotated[list[str], AfterValidator(without_repeats), AfterValidator(_known)]
    limits: SearchLimits


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

    @property
    def training(self) -> dict[str, Any]:
        """What of a `PolicySchedule` is a run's to choose."""
        alike = {"episodes", "learning_rate", "discount", "reward_scale", "checkpoint_episodes"}
        return self.model_dump(include=alike) | {
            f"exploration_{name}": value for name, value in self.exploration
        }

    @property
    def environment(self) -> dict[str, Any]:
        """The arguments of `ShiftEnv` that are a run's to choose, but for α and the horizon."""
        return self.reward.model_dump() | {"memory_limit": self.memory_limit}

    @property
    def memory_limit(self) -> int:
        """In bytes."""
        return self.memory_limit_mb * 2**20
