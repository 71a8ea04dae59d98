"""Published weights: what other code saved, read without running any of it."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from superstar.errors import InputError

WRAPPERS = ("state_dict", "model_state_dict", "model", "net")
"""Where checkpoints keep the state dict, if it is not all there is."""

PREFIXES = ("module.", "model.")
"""What networks wrapped in others put before the names of their tensors."""

DTYPES = frozenset(
    (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool),
    )
)
"""Kinds of numbers that weights, and counters beside them, may be."""


class _StandIn:
    """Takes the place of another's object: it keeps that object's state and does nothing."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


def read_weights(path: str | PathLike[str], harmless: Sequence[str] = ()) -> dict[str, Tensor]:
    """The tensors of a checkpoint by name, on the processor.

    Files of torch.save are read with `weights_only=True`. They hold a state dict, or a dict with
    one among other things, or a whole network of `harmless` classes. Files that end in
    .safetensors are read as such. The prefixes that wrappers such as DataParallel leave are taken
    off the names.

    Args:
        path: of the file.
        harmless: classes and functions, by their full names, that the file may mention. They are
            neither imported nor called: something inert stands in for them.

    Raises:
        InputError: no such file; one that is damaged, cut short or no checkpoint; one with other
            objects than `harmless` ones; one without a state dict, or with several; tensors that
            are sparse, quantised or otherwise not plain numbers; weights that are not finite.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no checkpoint at {path}: download it or correct the path")
    if path.suffix == ".safetensors":
        content = _read_safetensors(path)
    else:
        content = _read_torch(path, harmless)
    weights = dict(_tensors(_state_dict(content, path), path))
    if not all(torch.isfinite(tensor).all() for tensor in weights.values()):
        raise InputError(f"{path} holds NaN or infinite weights: get another copy")
    return weights


def _read_safetensors(path: Path) -> Any:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is truncated or not a checkpoint: get it again") from error


def _read_torch(path: Path, harmless: Sequence[str]) -> Any:
    stand_ins: list[Any] = [(_StandIn, name) for name in harmless]
    try:
        with torch.serialization.safe_globals(stand_ins), warnings.catch_warnings():
            # Torch warns of sparse tensors, which are refused afterwards.
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # What PyTorch raises for a bad file has nothing in common.
        other = re.search(r"GLOBAL (\S+)", str(error))
        if other:
            raise InputError(
                f"{path} holds more than weights ({other[1]}), which is not read because it "
                "could run code: load it with the code it came from and save its state_dict() alone"
            ) from error
        raise InputError(f"{path} is truncated or not a checkpoint: get it again") from error


def _state_dict(content: Any, path: Path) -> Mapping[Any, Any]:
    """The state dict in what a file holds."""
    if isinstance(content, _StandIn):
        return dict(_parameters(content))
    if not isinstance(content, Mapping):
        raise InputError(f"{path} holds no state dict but {type(content).__name__}")
    for key in WRAPPERS:
        if isinstance(content.get(key), Mapping | _StandIn):
            return _state_dict(content[key], path)
    inner = {key: value for key, value in content.items() if _is_network(value)}
    if len(inner) > 1:
        names = ", ".join(map(str, inner))
        raise InputError(f"{path} holds several networks ({names}): save one of them alone")
    return _state_dict(next(iter(inner.values())), path) if inner else content


def _is_network(value: Any) -> bool:
    if isinstance(value, _StandIn):
        return "_modules" in vars(value)
    return isinstance(value, Mapping) and any(
        isinstance(tensor, Tensor) for tensor in value.values()
    )


def _parameters(network: _StandIn, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """What state_dict() of a whole network would return."""
    parts = vars(network)
    for name, tensor in {**parts.get("_parameters", {}), **parts.get("_buffers", {})}.items():
        if tensor is not None:
            yield f"{prefix}{name}", tensor
    for name, module in parts.get("_modules", {}).items():
        if isinstance(module, _StandIn):
            yield from _parameters(module, f"{prefix}{name}.")


def _tensors(state: Mapping[Any, Any], path: Path) -> Iterator[tuple[str, Tensor]]:
    """Tensors of a state dict, under names without prefixes."""
    others = [str(key) for key, value in state.items() if not isinstance(value, Tensor)]
    if others or not state:
        which = f"{others[0]} is not a tensor" if others else "it is empty"
        raise InputError(f"{path} holds no state dict ({which}): save one with torch.save")
    seen = set()
    for key, tensor in state.items():
        name = str(key)
        while name.startswith(PREFIXES):
            name = name.split(".", 1)[1]
        if name in seen:
            raise InputError(f"{path} holds two tensors {name}: save one network alone")
        seen.add(name)
        if not _is_plain(tensor):
            raise InputError(
                f"{path} holds {key} as a tensor of {tensor.layout}, {tensor.dtype}, on "
                f"{tensor.device}: save the network with dense weights that are not quantised"
            )
        yield name, tensor


def _is_plain(tensor: Tensor) -> bool:
    dense = tensor.layout == torch.strided and not tensor.is_nested
    return dense and tensor.dtype in DTYPES and not tensor.is_meta
