"""A supervisor as a model of MLflow: image files in, corrected ones and what was decided out."""

import json
import re
import sys
from base64 import b64encode
from importlib.metadata import requires, version
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import torch
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc import PythonModel
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import Array, Object, Property
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from superstar.control import Supervisor
from superstar.decoding import Encoded, read_images
from superstar.errors import InputError
from superstar.images import from_uint8, to_uint8
from superstar.service.bounds import IMAGE, bound_server

FOLDER = "supervisor"
"""Artifact of the model."""
FORMATS = ("PNG", "JPEG", "WEBP")
MOST_IMAGES = 1000
"""Of a request, for the memory that they take; the gate is calibrated for no more."""


class SupervisorModel(PythonModel):
    """Corrects the images of a request, which are one batch."""

    def load_context(self, context: Any) -> None:
        """Load the supervisor, and make ready to serve if MLflow's server asks."""
        self.supervisor = Supervisor.load(context.artifacts[FOLDER])
        self._one_batch = Lock()  # Two at a time take twice the memory, and are no faster.
        if "mlflow.pyfunc.scoring_server.app" in sys.modules:
            bound_server()
            # The first images far from home compile what corrects them, for a minute.
            controller = self.supervisor.controllers[-1]
            self.supervisor.recover(_noise(self.supervisor), controller=controller)

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Correct a batch.

        Args:
            context: MLflow's.
            model_input: column `image`, each the bytes of a file of the supervisor's size.
            params: `controller` and `seed`, as of `Supervisor.recover`.

        Returns:
            `images`, PNG files in base64, in their order; `plan`, the corrections; `stopped_by`
            and `readings`, as `Recovery` has them; and of `calibrated`, None of `paper`, `alarm`
            (whether they can be told from clean images) and `p_value`.

        Raises:
            MlflowException: BAD_REQUEST, of what is no such batch or no controller that it holds.
        """
        try:
            images = self._read(list(model_input[IMAGE]))
            with self._one_batch:
                recovery = self.supervisor.recover(from_uint8(images), **(params or {}))
        except InputError as error:
            raise MlflowException(str(error), BAD_REQUEST) from None
        return {
            "images": [b64encode(_png(image)).decode() for image in to_uint8(recovery.images)],
            "plan": json.loads(recovery.plan.to_json()),
            "alarm": None if recovery.p_value is None else recovery.operable,
            "p_value": recovery.p_value,
            "stopped_by": recovery.stopped_by,
            "readings": list(recovery.distances),
        }

    def _read(self, contents: list[Any]) -> NDArray[np.uint8]:
        """The images of a batch, uint8 (N, H, W, 3)."""
        if len(contents) > MOST_IMAGES:
            raise InputError(f"{len(contents)} images are too many: send {MOST_IMAGES} at most")
        height, width = self.supervisor.image_size
        for number, content in enumerate(contents, 1):
            try:
                with Image.open(BytesIO(content), formats=FORMATS) as image:
                    size = image.size
            except Exception:  # Pillow's readers raise many kinds.
                raise InputError(f"image {number} is no {', '.join(FORMATS)} file") from None
            # Before it is decoded: a small file may hold very many pixels.
            if sorted(size) != sorted((width, height)):
                raise InputError(
                    f"image {number} is {size[1]}x{size[0]} pixels, the supervisor for "
                    f"{self.supervisor.benchmark} takes {height}x{width}: resize it"
                )
        return read_images([Encoded(f"image {i}", each) for i, each in enumerate(contents, 1)])


def log_supervisor(folder: Path) -> None:
    """Log a supervisor's folder as a model in the MLflow run in progress.

    The package's code goes with it, so that it is served as it was made.
    """
    supervisor = Supervisor.load(folder)
    mlflow.pyfunc.log_model(
        name=FOLDER,
        python_model=str(Path(__file__).with_name("served.py")),
        artifacts={FOLDER: str(folder)},
        code_paths=[str(Path(__file__).parents[1])],
        signature=_signature(supervisor),
        input_example=_example(supervisor),
        pip_requirements=_requirements(),
    )


def _signature(supervisor: Supervisor) -> ModelSignature:
    """What the model takes and returns; the last controller that it holds is the default."""
    controller = ParamSpec("controller", DataType.string, supervisor.controllers[-1])
    numbers = Property("numbers", Array(DataType.double))
    correction = Object([Property("name", DataType.string), numbers])
    return ModelSignature(
        Schema([ColSpec(DataType.binary, IMAGE)]),
        Schema(
            [
                ColSpec(Array(DataType.string), "images"),
                ColSpec(Array(correction), "plan"),
                ColSpec(DataType.boolean, "alarm", required=False),
                ColSpec(DataType.double, "p_value", required=False),
                ColSpec(DataType.string, "stopped_by"),
                ColSpec(Array(DataType.double), "readings"),
            ]
        ),
        ParamSchema([controller, ParamSpec("seed", DataType.long, 0)]),
    )


def _example(supervisor: Supervisor) -> pd.DataFrame:
    """A gray image of the right size."""
    return pd.DataFrame({IMAGE: [_png(np.full((*supervisor.image_size, 3), 115, np.uint8))]})


def _noise(supervisor: Supervisor) -> Tensor:
    """Images far from home."""
    shape = (25, 3, *supervisor.image_size)
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def _png(image: NDArray[np.uint8]) -> bytes:
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def _requirements() -> list[str]:
    """MLflow and the packages that the library needs, in the versions that are installed."""
    wanted = [each for each in requires("superstar") or [] if "extra ==" not in each]
    names = ["mlflow", *(re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in wanted)]
    # A local version, such as PyTorch's +cpu, is not what an index offers.
    return [f"{name}=={version(name).partition('+')[0]}" for name in names]
