"""The supervisor: everything that Algorithm 1 needs, in one folder and behind one call."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from superstar.actions import Denoiser, Plan, load_denoiser, save_denoiser
from superstar.control import calibrated_files
from superstar.control.algorithm import Brakes, Step, StopReason, run_algorithm
from superstar.control.calibrated import Calibrated, Reason, Score
from superstar.control.networks import Actor, SampledPolicy, load_actor, save_actor
from superstar.control.operability import load_tree, save_tree
from superstar.control.transitions import Transitions, check_actions
from superstar.errors import InputError, check_name
from superstar.images import SMALLEST_SIDE, check_images, stream
from superstar.measures import Distance, Projection
from superstar.measures.bands import band_histograms
from superstar.weights import on_device, save_tensors

if TYPE_CHECKING:
    from superstar.control.env import ShiftEnv

SPEC = "supervisor.json"
ACTOR = "actor.safetensors"
TREE = "tree.skops"
DENOISER = "denoiser.safetensors"
POINTS = "validation_points.safetensors"
FILES = frozenset(
    {SPEC, ACTOR, TREE, DENOISER, POINTS, calibrated_files.SPEC, calibrated_files.ARRAYS}
)
POINTS_KEY = "points"
PAPER = "paper"
CALIBRATED = "calibrated"


class _Spec(BaseModel):
    """What `supervisor.json` holds."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["superstar-supervisor"] = "superstar-supervisor"
    # Folders of version 1 hold no controller but the paper's.
    version: Literal[1, 2] = 2
    controllers: tuple[str, ...] = ("paper",)
    benchmark: str
    image_size: tuple[int, int]
    actions: tuple[str, ...]
    alpha: float = Field(gt=0, le=1)
    beta: float = Field(gt=0, le=1)
    horizon: int = Field(ge=1)
    projection: dict[str, Any]
    # Folders written before there was a choice do not name it.
    distance: dict[str, Any] = Field(default_factory=lambda: Distance.of("wasserstein").to_dict())


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
        _check_points(self.validation_points, self.projection)
        height, width = self.image_size
        if min(height, width) < SMALLEST_SIDE or height * width != self.projection.n:
            raise InputError(
                f"an image size of {height}x{width} does not go with a projection of "
                f"{self.projection.n} pixels and a shortest side of {SMALLEST_SIDE}"
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
            return self._recover_calibrated(images, seed)
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

    def _recover_calibrated(self, images: Tensor, seed: int) -> Recovery:
        assert self.calibrated is not None
        choice = self.calibrated.choose(images, self.denoiser, seed)
        return Recovery(
            images=choice.plan.apply(images),
            plan=choice.plan,
            distances=choice.readings,
            operable=choice.stopped_by != "clean",
            stopped_by=choice.stopped_by,
            p_value=choice.p_value,
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
        try:
            path = Path(path).resolve()
        except (OSError, RuntimeError) as error:
            raise InputError(f"{path} is a link that leads nowhere ({error})") from error
        if Path.cwd().is_relative_to(path):
            raise InputError(f"{path} is where this process works: name a folder of its own")
        for place in (path, *path.parents):
            if place.exists() and not place.is_dir():
                raise InputError(f"{place} is a file: a supervisor is a folder")
        if path.is_dir():
            foreign = sorted(
                entry.name
                for entry in path.iterdir()
                if entry.name not in FILES or not entry.is_file()
            )
            if foreign:
                raise InputError(
                    f"{path} holds {foreign[0]!r}, which is no part of a supervisor: "
                    "choose another folder"
                )
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
            fresh = Path(scratch) / "fresh"
            fresh.mkdir()
            self.write_files(fresh)
            former = Path(scratch) / "former"
            replacing = path.is_dir()
            if replacing:
                path.rename(former)
            try:
                fresh.rename(path)
            except OSError:
                if replacing:
                    former.rename(path)
                raise

    def write_files(self, folder: Path) -> None:
        """Write the supervisor's files into an empty folder; `save` publishes them whole."""
        save_actor(self.actor, folder / ACTOR, self.actions)
        save_tree(self.tree, folder / TREE)
        if self.denoiser is not None:
            save_denoiser(self.denoiser, folder / DENOISER)
        save_tensors({POINTS_KEY: self.validation_points}, folder / POINTS)
        spec = _Spec(
            controllers=self.controllers,
            benchmark=self.benchmark,
            image_size=self.image_size,
            actions=self.actions,
            alpha=self.alpha,
            beta=self.beta,
            horizon=self.horizon,
            projection=dict(self.projection.to_dict()),
            distance=Distance.of(self.distance).to_dict(),
        )
        (folder / SPEC).write_text(spec.model_dump_json(indent=2) + "\n", encoding="utf-8")
        if self.calibrated is not None:
            calibrated_files.save_calibrated(self.calibrated, folder)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Supervisor":
        """Read what `save` wrote.

        Raises:
            InputError: no such folder; a file in it missing, truncated or of something else.
        """
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(f"no supervisor at {folder}: train one or correct the path")
        spec = _load_spec(folder / SPEC)
        actor, actions = load_actor(folder / ACTOR)
        if actions != spec.actions:
            raise InputError(
                f"{folder / ACTOR} was trained for {', '.join(actions)}, "
                f"but {SPEC} names {', '.join(spec.actions)}"
            )
        try:
            projection = Projection.from_dict(spec.projection)
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder / SPEC} has a bad projection ({error})") from error
        try:
            distance = Distance.from_dict(spec.distance)
        except InputError as error:
            raise InputError(f"{folder / SPEC} has a bad distance ({error})") from error
        tree = load_tree(folder / TREE)
        denoiser = load_denoiser(folder / DENOISER) if "dncnn" in spec.actions else None
        points = _load_points(folder / POINTS, projection)
        calibrated = None
        if CALIBRATED in spec.controllers:
            calibrated = calibrated_files.load_calibrated(folder)
        try:
            return cls(
                actor=actor,
                tree=tree,
                denoiser=denoiser,
                validation_points=points,
                projection=projection,
                alpha=spec.alpha,
                beta=spec.beta,
                horizon=spec.horizon,
                actions=spec.actions,
                image_size=spec.image_size,
                benchmark=spec.benchmark,
                distance=distance,
                calibrated=calibrated,
            )
        except InputError as error:
            raise InputError(f"{folder / SPEC} does not fit its folder ({error})") from error


def _load_spec(path: Path) -> _Spec:
    if not path.is_file():
        raise InputError(f"no {path.name} in {path.parent}: this is not a supervisor's folder")
    try:
        return _Spec.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{path} is damaged or not a supervisor's ({where or 'file'}: {first['msg']})"
        ) from error


def _check_points(points: Tensor, projection: Projection) -> None:
    if points.dtype not in (torch.float32, torch.float64):
        raise InputError(f"validation points must be float32 or float64, not {points.dtype}")
    if points.ndim != 2 or len(points) == 0 or points.shape[1] != projection.m:
        raise InputError(
            f"validation points must have shape (n, {projection.m}), as their projection makes "
            f"them, not {tuple(points.shape)}"
        )
    if not torch.isfinite(points).all():
        raise InputError("validation points hold NaN or infinite values")


def _load_points(path: Path, projection: Projection) -> Tensor:
    if not path.is_file():
        raise InputError(f"no validation points at {path}: the supervisor is incomplete")
    try:
        tensors: Mapping[str, Tensor] = load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file ({error})") from error
    if set(tensors) != {POINTS_KEY}:
        raise InputError(f"{path} does not hold validation points")
    points = tensors[POINTS_KEY]
    try:
        _check_points(points, projection)
    except InputError as error:
        raise InputError(f"{path} is damaged or of another supervisor ({error})") from error
    return points
