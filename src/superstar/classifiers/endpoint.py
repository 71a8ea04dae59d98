"""A classifier that answers over HTTP.

A batch goes there as JSON, `{"instances": [{"image": "<PNG in base64>"}, ...]}`, and comes back as
`{"predictions": [...]}`: a label or a list of scores for each image. KServe (version 1) and Vertex
AI speak so, and MLflow's scoring server of a model with a column `image` of strings. The images
have 8 bits a channel there, as in any file.
"""

import json
import socket
from base64 import b64encode
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BytesIO
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from superstar.classifiers.own import Asked
from superstar.errors import InputError
from superstar.images import to_uint8

CONNECT_SECONDS = 5
ANSWER_SECONDS = 60
"""How long an endpoint may take to be reached, and for a batch."""


def check_endpoint(scheme: str, rest: str) -> None:
    """Refuse an address that cannot be reached; nothing is sent there.

    Args:
        scheme: "http" or "https".
        rest: of the address, after the colon.

    Raises:
        InputError: what is wrong with it, or that nobody listens.
    """
    address = _address(scheme, rest)
    try:
        socket.create_connection(_host(address), CONNECT_SECONDS).close()
    except OSError as error:
        raise _silent(address, error) from error


def ask_endpoint(scheme: str, rest: str) -> Asked:
    """The classifier at an address; arguments are those of `check_endpoint`."""
    return Asked(partial(_ask, _address(scheme, rest)))


def _ask(address: SplitResult, images: Tensor) -> NDArray[Any]:
    """What it says of images: scores (N, classes) or labels (N,).

    Raises:
        InputError: it does not answer in time, or something else than that.
    """
    instances = [{"image": _png(image)} for image in to_uint8(images)]
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = kind(*_host(address), timeout=ANSWER_SECONDS)
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    try:
        body, headers = json.dumps({"instances": instances}), {"Content-Type": "application/json"}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        status, content = answer.status, answer.read()
    except (OSError, HTTPException) as error:
        raise _silent(address, error) from error
    finally:
        connection.close()
    if status != 200:
        told = " ".join(content[:200].decode(errors="replace").split())
        raise InputError(f"{_called(address)} answers with status {status} ({told})")
    try:
        said = np.asarray(json.loads(content)["predictions"])
    except (ValueError, KeyError, TypeError):
        said = np.empty(0, object)
    if said.ndim not in (1, 2) or len(said) != len(images) or said.dtype.kind not in "iuf":
        raise InputError(
            f'{_called(address)} does not answer {{"predictions": [...]}} with a label, or a list '
            "of scores, for each image"
        )
    return said


def _png(image: NDArray[np.uint8]) -> str:
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG", compress_level=1)
    return b64encode(file.getvalue()).decode()


def _address(scheme: str, rest: str) -> SplitResult:
    try:
        address = urlsplit(f"{scheme}:{rest}")
        if address.hostname and address.port != 0:
            return address
    except ValueError:
        pass
    raise InputError(
        f"{scheme}:{rest} is not the address of a classifier: {scheme}://HOST:PORT/PATH"
    )


def _host(address: SplitResult) -> tuple[str, int]:
    return address.hostname or "", address.port or (443 if address.scheme == "https" else 80)


def _called(address: SplitResult) -> str:
    """Without what may be secret."""
    host, port = _host(address)
    return f"the classifier at {address.scheme}://{host}:{port}{address.path}"


def _silent(address: SplitResult, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return InputError(
        f"{_called(address)} does not answer ({reason}): start it, or correct the address"
    )
