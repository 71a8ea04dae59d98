"""The supervisor as an MLflow model: image files in, corrected ones out (docs/serve.md)."""

import re
from base64 import b64encode
from importlib.metadata import requires, version
from io import BytesIO
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc import PythonModel
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from numpy.typing import NDArray
from PIL import Image

from superstar.control import Supervisor
from superstar.control.controllers import PAPER
from superstar.decoding import Encoded, read_images
from superstar.errors import InputError
from superstar.images import from_uint8, to_uint8

FOLDER = "supervisor"
"""Artifact of the model."""
CODE = Path(__file__).with_name("service_code.py")
"""What MLflow runs to make the model."""
IMAGE = "image"


class Refused(MlflowException):
    """A request that is the client's to mend: status 400, with a message of one line."""

    def __init__(self, message: str) -> None:
        super().__init__(message, BAD_REQUEST)

    def __setattr__(self, name: str, value: Any) -> None:
        # MLflow's server puts the whole request before a message.
        if name != "message" or not hasattr(self, name):
            super().__setattr__(name, value)


class Service(PythonModel):
    """Corrects the images of a request, which are one batch."""

    def load_context(self, context: Any) -> None:
        """Load the supervisor from the model's artifacts."""
        self.supervisor = Supervisor.load(context.artifacts[FOLDER])

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Correct a batch.

        Args:
            context: MLflow's.
            model_input: column `image`, the bytes of an image file of the supervisor's size each.
            params: `controller` and `seed`, as of `Supervisor.recover`.

        Returns:
            Column `image`, PNG files in base64; and of the whole batch `plan` (JSON), `stopped_by`
            and `p_value` (of the controller `calibrated`), the same in each row.

        Raises:
            Refused: what is no image, has another size, or a controller that it does not hold.
        """
        try:
            sources = [
                Encoded(f"image {number}", content)
                for number, content in enumerate(model_input[IMAGE], 1)
            ]
            images = from_uint8(read_images(sources))
            recovery = self.supervisor.recover(images, **(params or {}))
        except InputError as error:
            raise Refused(str(error)) from None
        return pd.DataFrame(
            {
                IMAGE: [b64encode(png(image)).decode() for image in to_uint8(recovery.images)],
                "plan": recovery.plan.to_json(),
                "stopped_by": recovery.stopped_by,
                "p_value": pd.Series([recovery.p_value] * len(images), dtype=object),
            }
        )


def signature() -> ModelSignature:
    """What the model takes and returns."""
    controller = ParamSpec("controller", DataType.string, PAPER)
    texts = [ColSpec(DataType.string, name) for name in (IMAGE, "plan", "stopped_by")]
    return ModelSignature(
        Schema([ColSpec(DataType.binary, IMAGE)]),
        Schema([*texts, ColSpec(DataType.double, "p_value", required=False)]),
        ParamSchema([controller, ParamSpec("seed", DataType.long, 0)]),
    )


def example(supervisor: Supervisor) -> pd.DataFrame:
    """A gray image of the right size."""
    gray = np.full((*supervisor.image_size, 3), 115, np.uint8)
    return pd.DataFrame({IMAGE: [png(gray)]})


def png(image: NDArray[np.uint8]) -> bytes:
    """An image, uint8 (H, W, 3), as a PNG file."""
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def requirements() -> list[str]:
    """The packages that the library needs, and MLflow, as they are installed here."""
    wanted = [each for each in requires("superstar") or [] if "extra ==" not in each]
    names = [re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in wanted]
    return [f"{name}=={version(name)}" for name in ["mlflow", *names]]


def log_service(folder: Path, registered: str | None = None) -> str:
    """Log the model of a supervisor's folder in the MLflow run in progress.

    The package's code goes with it, so that it is served as it was made.

    Args:
        folder: that `Supervisor.save` wrote.
        registered: name under which it becomes the newest version.

    Returns:
        The model's address.
    """
    supervisor = Supervisor.load(folder)
    return mlflow.pyfunc.log_model(
        name="service",
        registered_model_name=registered,
        python_model=str(CODE),
        artifacts={FOLDER: str(folder)},
        code_paths=[str(Path(__file__).parent)],
        signature=signature(),
        input_example=example(supervisor),
        pip_requirements=requirements(),
    ).model_uri
