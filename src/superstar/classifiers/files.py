"""Classifiers in files: TorchScript and ONNX."""

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from superstar.classifiers.own import Asked
from superstar.decoding import user_path
from superstar.errors import InputError, need_packages


def check_file(kind: str, path: str) -> None:
    """Refuse a file that is not there, or that nothing installed can read.

    Raises:
        InputError: what to do.
    """
    if kind == "onnx":
        need_packages(f"onnx:{path}", "onnx", "onnxruntime")
    if not user_path(path).is_file():
        raise InputError(f"there is no classifier {path}")


def script(path: str) -> Asked:
    """The network of a TorchScript file.

    Raises:
        InputError: no such file.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # PyTorch would have others make such files.
            network = torch.jit.load(user_path(path), map_location="cpu").eval()
    except RuntimeError as error:
        raise InputError(
            f"{path} is not a TorchScript file: save a module with torch.jit.save, or use "
            "my_module:load"
        ) from error
    # Called, not held: what modules can do, scripts can in part alone.
    return Asked(lambda images: network(images))


def session(path: str) -> Asked:
    """The network of an ONNX file; one that takes batches of one size gets its batches in parts.

    Raises:
        InputError: no such file.
    """
    from onnxruntime import InferenceSession

    try:
        runtime = InferenceSession(user_path(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises kinds of its own.
        raise InputError(f"{path} is not an ONNX file that can be read") from error
    (given, *_), (scores, *_) = runtime.get_inputs(), runtime.get_outputs()
    together = given.shape[0] if isinstance(given.shape[0], int) else None

    def run(images: Tensor) -> Any:
        parts = images.split(together or len(images))
        return np.concatenate(
            [runtime.run([scores.name], {given.name: part.numpy()})[0] for part in parts]
        )

    return Asked(run)
