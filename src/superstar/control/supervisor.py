"""The supervisor: everything that Algorithm 1 needs, in one folder and behind one call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from superstar.actions import Denoiser, Plan
from superstar.control import supervisor_files
from superstar.control.algorithm import Brakes, Step, StopReason, run_algorithm
from superstar.control.calibrated import Calibrated, Choice, Reason, Score
from superstar.control.controllers import CALIBRATED, PAPER
from superstar.control.networks import Actor, SampledPolicy
from superstar.control.transitions import Transitions, check_actions
from superstar.errors import InputError, check_name
from superstar.images import SMALLEST_SIDE, check_images, stream
from superstar.measures import Distance, Projection
from superstar.measures.bands import band_histograms
from superstar.weights import on_device

if TYPE_CHECKING:
    from superstar.control.env import ShiftEnv


@dataclass(frozen=True)
class Recovery:
    """What `Supervisor.recover` hands back.

    Attributes:
        images: the corrected images, float32 (N, 3, H, W) in [0, 1].
        plan: the corrections applied, in order, with their numbers; empty if it abstained. It can
            be applied to other images of the same stream.
        distances: to clean images at first and after each correction: the controller's distance,
            or its ruler's readings.
        operable: whether the controller could act on the images as they came. `paper`: the tree
            says so. `calibrated`: they could be told from clean ones.
        stopped_by: `paper`: "inoperable", "alpha", "beta", "nop" or "horizon". `calibrated`:
            "clean" (not told from clean images as they came), "home" (no longer), "no_gain" or
            "horizon".
        steps: every decision on the way, those not to act included; of `paper` alone.
        p_value: how often clean images are as far from home as these were; of `calibrated` alone.
    """

    images: Tensor
    plan: Plan
    distances: tuple[float, ...]
    operable: bool
    stopped_by: StopReason | Reason
    steps: tuple[Step, ...] = ()
    p_value: float | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the corrections applied, in order; empty if it abstained."""
        return self.plan.names

    @classmethod
    def of(cls, choice: Choice, images: Tensor) -> "Recovery":
        """What `calibrated` chose, with the corrected images."""
        return cls(
            images=images,
            plan=choice.plan,
            distances=choice.readings,
            operable=choice.stopped_by != "clean",
            stopped_by=choice.stopped_by,
            p_value=choice.p_value,
        )


@dataclass
class Supervisor:
    """Corrects batches of images before a classifier sees them (paper, section 5).

    Attributes:
        actor: the policy network.
        tree: the operability classifier.
        denoiser: for `dncnn`; None where the actions do without.
        validation_points: the projected validation set, float (n, m).
        projection: what projected it.
        alpha: α, in (0, 1].
        beta: β, in (0, 1].
        horizon: k, most corrections.
        actions: names of the actor's actions, in its order.
        image_size: (height, width) of the images it was made for, in pixels.
        benchmark: name of the benchmark it was made for.
        distance: between sets of points, the one that α and β were chosen for; a name stands for
            `Distance.create(name)`. Not `aline_d`, which asks classifiers about the images.
        calibrated: the controller of that name; None leaves `paper` alone.

    Raises:
        InputError: parts that do not fit together or a threshold outside its range.
    """

    actor: Actor
    tree: DecisionTreeClassifier
    denoiser: Denoiser | None
    validation_points: Tensor
    projection: Projection
    alpha: float
    beta: float
    horizon: int
    actions: tuple[str, ...]
    image_size: tuple[int, int]
    benchmark: str
    distance: str | Distance = "wasserstein"
    calibrated: Calibrated | None = None

    def __post_init__(self) -> None:
        self.actions = tuple(self.actions)
        self.image_size = (int(self.image_size[0]), int(self.image_size[1]))
        check_actions(self.actions, self.denoiser)
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if isinstance(value, bool) or not isinstance(value, Real):
                raise InputError(f"{name} must be a number in (0, 1], not {value!r}")
        if not isinstance(self.tree, DecisionTreeClassifier):
            raise InputError(f"the operability tree must be a decision tree, not {self.tree!r}")
        if not 0 < self.beta <= 1:
            raise InputError(f"beta must lie in (0, 1], not {self.beta}")
        _ = self.brakes
        if self.actor.n_actions != len(self.actions):
            raise InputError(
                f"the actor has {self.actor.n_actions} actions, but {len(self.actions)} are named"
            )
        self.distance = Distance.of(self.distance)
        if self.distance.queries_classifiers:
            raise InputError(
                f"a supervisor cannot measure with {self.distance.kind!r}, which asks classifiers "
                "about the images: take a distance between points"
            )
        supervisor_files.check_validation_points(self.validation_points, self.projection)
        height, width = self.image_size
        if min(height, width) < SMALLEST_SIDE or height * width != self.projection.n:
            raise InputError(
                f"an image size of {height}x{width} does not go with a projection of "
                f"{self.projection.n} pixels and a shortest side of {SMALLEST_SIDE}"
            )
        if self.calibrated and self.calibrated.ruler.bands.image_size != self.image_size:
            raise InputError(
                f"its images are {height}x{width} pixels, those of the controller {CALIBRATED!r} "
                "{}x{}".format(*self.calibrated.ruler.bands.image_size)
            )

    @property
    def brakes(self) -> Brakes:
        """What stops the policy."""
        return Brakes(self.alpha, self.beta, self.tree, self.horizon)

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names of those that it holds."""
        return (PAPER,) if self.calibrated is None else (PAPER, CALIBRATED)

    def recover(self, images: Tensor, seed: int = 0, controller: str = PAPER) -> Recovery:
        """Correct a batch of images drawn from one (possibly shifted) distribution.

        Args:
            images: float32 (N, 3, H, W) in [0, 1], of the supervisor's size; not modified. The
                distance is one between sets: the more images, the surer every decision.
            seed: of the policy's sampling, or of the sample that corrections are tried on.
            controller: one of `controllers`.

        Returns:
            The corrected images and the decisions that led to them.

        Raises:
            InputError: not a batch of images, images of another size, a bad seed, or a controller
                that it does not hold.
        """
        check_name("controller", controller, self.controllers)
        self.check_size(check_images(images))
        if controller == CALIBRATED:
            choice = self.need_calibrated().choose(images, self.denoiser, seed)
            return Recovery.of(choice, choice.plan.apply(images))
        # Room for the images before the last action and for those after it.
        transitions = self.transitions([images], memory_limit=2 * images.nbytes)
        policy, rng = SampledPolicy(self.actor), stream(seed, "recover")
        trace = run_algorithm(transitions, 0, policy, self.brakes, rng)
        corrected = transitions.images(0, trace.prefix)
        return Recovery(
            # Where it abstained these are the caller's own images: never hand out the same memory.
            images=corrected if trace.prefix else images.detach().clone(),
            plan=Plan.of(trace.sequence, self.denoiser),
            distances=trace.distances,
            operable=trace.operable,
            stopped_by=trace.stop_reason,
            steps=trace.steps,
        )

    def score(self, images: Tensor) -> Score:
        """How far images are from home, for those who want an alarm alone.

        Args:
            images: as of `recover`.

        Returns:
            The reading, the p-value, and whether clean images read as much too rarely.

        Raises:
            InputError: as of `recover`, or a supervisor without the controller `calibrated`.
        """
        calibrated = self.need_calibrated()
        self.check_size(check_images(images))
        return calibrated.score(band_histograms(images).mean(0), len(images))

    def need_calibrated(self) -> Calibrated:
        """The controller `calibrated`.

        Raises:
            InputError: the supervisor does not hold it.
        """
        if self.calibrated is None:
            raise InputError(
                f"the supervisor for {self.benchmark} holds no controller {CALIBRATED!r}, which "
                "knows how clean images scatter: run the pipeline calibration, then policy_training"
            )
        return self.calibrated

    def check_size(self, images: Tensor) -> None:
        """Refuse images (..., H, W) of another size.

        Raises:
            InputError: both sizes.
        """
        height, width = images.shape[-2:]
        if (height, width) != self.image_size:
            raise InputError(
                f"images are {height}x{width} pixels, the supervisor for "
                f"{self.benchmark} takes {self.image_size[0]}x{self.image_size[1]}: resize them"
            )

    def on(self, device: str) -> "Supervisor":
        """A supervisor whose denoiser computes on a device; this one where it does so already."""
        denoiser = None if self.denoiser is None else on_device(self.denoiser, device)
        return self if denoiser is self.denoiser else replace(self, denoiser=denoiser)

    def transitions(self, batches: Sequence[Tensor], memory_limit: int) -> Transitions:
        """What its actions do to batches of images; arguments are those of `Transitions`."""
        return Transitions(
            batches,
            self.validation_points,
            self.projection,
            distance=self.distance,
            actions=self.actions,
            denoiser=self.denoiser,
            memory_limit=memory_limit,
        )

    def environment(self, batches: Sequence[Tensor], **others: Any) -> "ShiftEnv":
        """The environment of its policy, with its α and horizon.

        Args:
            batches: as of `ShiftEnv`.
            others: of `ShiftEnv`, the terms of the reward and `memory_limit`.
        """
        from superstar.control.env import ShiftEnv  # takes half a second, which few callers need

        return ShiftEnv(
            batches,
            self.validation_points,
            self.projection,
            distance=self.distance,
            actions=self.actions,
            horizon=self.horizon,
            alpha=self.alpha,
            denoiser=self.denoiser,
            **others,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the supervisor's folder, whole or not at all.

        The files are written to a folder beside `path`, which then takes its place. A folder at
        `path` is replaced if a supervisor, or nothing, is in it.

        Raises:
            InputError: `path` is a file, or a folder with something else in it.
        """
        supervisor_files.publish(path, self.write_files)

    def write_files(self, folder: Path) -> None:
        """Write the supervisor's files into an empty folder; `save` publishes them whole."""
        supervisor_files.write_parts(self, folder)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Supervisor":
        """Read what `save` wrote.

        Raises:
            InputError: no such folder; a file in it missing, truncated or of something else.
        """
        parts = supervisor_files.read_parts(path)
        try:
            return cls(**parts)
        except InputError as error:
            spec = Path(path) / supervisor_files.SPEC
            raise InputError(f"{spec} does not fit its folder ({error})") from error
