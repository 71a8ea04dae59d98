"""The supervisor's folder: written whole, and read with care."""

import tempfile
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from superstar.actions import load_denoiser, save_denoiser
from superstar.control import calibrated_files
from superstar.control.controllers import CALIBRATED
from superstar.control.networks import load_actor, save_actor
from superstar.control.operability import load_tree, save_tree
from superstar.errors import InputError
from superstar.measures import Distance, Projection
from superstar.weights import save_tensors

if TYPE_CHECKING:
    from superstar.control.supervisor import Supervisor

SPEC = "supervisor.json"
ACTOR = "actor.safetensors"
TREE = "tree.skops"
DENOISER = "denoiser.safetensors"
POINTS = "validation_points.safetensors"
FILES = frozenset(
    {SPEC, ACTOR, TREE, DENOISER, POINTS, calibrated_files.SPEC, calibrated_files.ARRAYS}
)
POINTS_KEY = "points"


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


def publish(path: str | PathLike[str], write: Callable[[Path], None]) -> None:
    """Write a supervisor's folder, whole or not at all.

    The files are written to a folder beside `path`, which then takes its place. A folder at `path`
    is replaced if a supervisor, or nothing, is in it.

    Args:
        path: of the folder.
        write: writes the files into an empty folder.

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
            entry.name for entry in path.iterdir() if entry.name not in FILES or not entry.is_file()
        )
        if foreign:
            raise InputError(
                f"{path} holds {foreign[0]!r}, which is not part of a supervisor: "
                "choose another folder"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
        fresh = Path(scratch) / "fresh"
        fresh.mkdir()
        write(fresh)
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


def write_parts(supervisor: "Supervisor", folder: Path) -> None:
    """Write a supervisor's files into an empty folder."""
    save_actor(supervisor.actor, folder / ACTOR, supervisor.actions)
    save_tree(supervisor.tree, folder / TREE)
    if supervisor.denoiser is not None:
        save_denoiser(supervisor.denoiser, folder / DENOISER)
    save_tensors({POINTS_KEY: supervisor.validation_points}, folder / POINTS)
    spec = _Spec(
        controllers=supervisor.controllers,
        benchmark=supervisor.benchmark,
        image_size=supervisor.image_size,
        actions=supervisor.actions,
        alpha=supervisor.alpha,
        beta=supervisor.beta,
        horizon=supervisor.horizon,
        projection=dict(supervisor.projection.to_dict()),
        distance=Distance.of(supervisor.distance).to_dict(),
    )
    (folder / SPEC).write_text(spec.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if supervisor.calibrated is not None:
        calibrated_files.save_calibrated(supervisor.calibrated, folder)


def read_parts(path: str | PathLike[str]) -> dict[str, Any]:
    """The arguments of the `Supervisor` in a folder.

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
    return {
        "actor": actor,
        "tree": tree,
        "denoiser": denoiser,
        "validation_points": points,
        "projection": projection,
        "alpha": spec.alpha,
        "beta": spec.beta,
        "horizon": spec.horizon,
        "actions": spec.actions,
        "image_size": spec.image_size,
        "benchmark": spec.benchmark,
        "distance": distance,
        "calibrated": calibrated,
    }


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


def check_validation_points(points: Tensor, projection: Projection) -> None:
    """Refuse points that the projection did not make.

    Raises:
        InputError: what is wrong with them.
    """
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
        check_validation_points(points, projection)
    except InputError as error:
        raise InputError(f"{path} is damaged or of another supervisor ({error})") from error
    return points
