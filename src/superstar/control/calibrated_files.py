"""The calibrated controller's files: `calibrated.json` and `calibrated.safetensors`."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file

from superstar.actions import EXTENDED
from superstar.actions.appearance import Appearance
from superstar.actions.plan import THEN
from superstar.control.calibrated import Calibrated, Limits
from superstar.control.gate import Gate
from superstar.control.worth import Worth
from superstar.errors import InputError, check_name, unreadable
from superstar.measures.bands import BINS, Bands
from superstar.measures.rulers import BandRuler
from superstar.weights import save_tensors

SPEC = "calibrated.json"
ARRAYS = "calibrated.safetensors"


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal["superstar-calibrated"] = "superstar-calibrated"
    # In version 1 gains were points, and the reading a mean.
    version: Literal[2] = 2
    image_size: tuple[int, int]
    images: int
    appearance: dict[str, Any]
    sizes: tuple[int, ...]
    gate_images: int
    rate: float
    worth: dict[str, Worth]
    limits: Limits


def save_calibrated(controller: Calibrated, folder: Path) -> None:
    """Write the controller's files into a folder."""
    ruler, gate = controller.ruler, controller.gate
    arrays = {"clean": ruler.clean, "variance": ruler.variance, "readings": gate.readings}
    save_tensors(
        {name: torch.from_numpy(array).contiguous() for name, array in arrays.items()},
        folder / ARRAYS,
    )
    spec = _Spec(
        image_size=ruler.bands.image_size,
        images=ruler.images,
        appearance=controller.appearance.to_dict(),
        sizes=gate.sizes,
        gate_images=gate.images,
        rate=gate.rate,
        worth=dict(controller.worth),
        limits=Limits(**asdict(controller.limits)),
    )
    (folder / SPEC).write_text(spec.model_dump_json(indent=2) + "\n", encoding="utf-8")


def load_calibrated(folder: Path) -> Calibrated:
    """Read what `save_calibrated` wrote.

    Raises:
        InputError: a file missing, truncated or of something else.
    """
    try:
        spec = _Spec.model_validate_json((folder / SPEC).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("version",):
            raise InputError(
                f"{folder / SPEC} is of another version of SuperStAR: run the pipelines "
                "calibration and policy_training again, or load it with the version that wrote it"
            ) from error
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise InputError(f"{folder / SPEC} is damaged ({where}: {first['msg']})") from error
    except OSError as error:
        raise unreadable(error) from error
    try:
        tensors: Mapping[str, torch.Tensor] = load_file(folder / ARRAYS)
        arrays = {name: tensors[name].numpy() for name in ("clean", "variance", "readings")}
    except (OSError, SafetensorError, KeyError) as error:
        raise InputError(f"{folder / ARRAYS} is missing or damaged ({error})") from error
    for name in spec.worth:
        for step in name.split(THEN):
            check_name("correction", step, EXTENDED)
    bands = Bands.of(*spec.image_size)
    expected = {
        "clean": (len(bands.names), BINS),
        "variance": (len(bands.names), BINS),
        "readings": (len(spec.sizes), arrays["readings"].shape[-1]),
    }
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise InputError(
                f"{folder / ARRAYS} does not fit {SPEC}: {name} is {arrays[name].shape}, "
                f"not {shape}"
            )
        if not np.isfinite(arrays[name]).all():
            raise InputError(f"{folder / ARRAYS} is damaged: {name} holds NaN or infinite values")
    return Calibrated(
        BandRuler(bands, arrays["clean"], arrays["variance"], spec.images),
        Appearance.from_dict(spec.appearance),
        Gate(spec.sizes, arrays["readings"], spec.gate_images, spec.rate),
        spec.worth,
        spec.limits,
    )
