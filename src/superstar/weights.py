"""Networks on disk: weights in safetensors, what is needed to build the network in the header."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from superstar.errors import InputError

Network = TypeVar("Network", bound=nn.Module)


def save_weights(
    network: nn.Module, path: str | PathLike[str], kind: str, spec: Mapping[str, Any]
) -> None:
    """Write a network's weights. Equal networks give equal files, byte for byte.

    Args:
        network: any.
        path: of the file.
        kind: what it is, in a word; the file tells it.
        spec: what `load_weights` hands to `build`, as JSON can hold it.
    """
    weights = {name: tensor.cpu().contiguous() for name, tensor in network.state_dict().items()}
    header = {"format": f"superstar-{kind}", "spec": json.dumps(dict(spec), default=index)}
    Path(path).write_bytes(_in_order(save(weights, metadata=header)))


def save_tensors(
    tensors: Mapping[str, Tensor],
    path: str | PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors as safetensors, readable by whoever may read the folder's other files.

    (The library's own `save_file` leaves a file that its owner alone can read.)
    """
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    Path(path).write_bytes(save(whole, metadata=None if metadata is None else dict(metadata)))


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata sorted: the library writes it in an order of chance."""
    start, length = 8, int.from_bytes(content[:8], "little")
    header = json.loads(content[start : start + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    # Tensors begin at a multiple of eight bytes; the format pads its header with spaces.
    text = text.ljust(-(-len(text) // 8) * 8)
    return len(text).to_bytes(8, "little") + text + content[start + length :]


def announces(path: str | PathLike[str], kind: str) -> bool:
    """Whether a file says that it is what `save_weights` wrote of that kind."""
    try:
        with safe_open(path, framework="pt") as file:
            return (file.metadata() or {}).get("format") == f"superstar-{kind}"
    except (SafetensorError, OSError):
        return False


def load_weights(
    path: str | PathLike[str], kind: str, build: Callable[[dict[str, Any]], Network]
) -> tuple[Network, dict[str, Any]]:
    """Read what `save_weights` wrote.

    Args:
        path: of the file.
        kind: what it must be.
        build: makes the network, without its weights, from the spec.

    Returns:
        The network in eval mode, frozen, and the spec.

    Raises:
        InputError: no such file; a damaged one; one of another kind; weights that are not finite
            or that do not fit the network.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no {kind} at {path}: train one or correct the path")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file ({error})") from error
    if header.get("format") != f"superstar-{kind}":
        raise InputError(f"{path} holds no {kind} that this package saved")
    if not all(torch.isfinite(tensor).all() for tensor in weights.values()):
        raise InputError(f"{path} holds NaN or infinite weights: train the {kind} again")
    try:
        spec = json.loads(header["spec"])
        network = build(spec)
        _check_types(weights, network)
        network.load_state_dict(weights, assign=True)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        # PyTorch says in its first line that something is wrong, and only then what.
        lines = [line.strip() for line in str(error).splitlines()]
        summary = (lines[1:] or lines or [type(error).__name__])[0]
        raise InputError(f"{path} does not hold the {kind} it announces ({summary})") from error
    return network.eval().requires_grad_(False), spec


def _check_types(weights: Mapping[str, Tensor], network: nn.Module) -> None:
    for name, own in network.state_dict().items():
        if name in weights and weights[name].dtype != own.dtype:
            raise TypeError(f"{name} is {weights[name].dtype}, not {own.dtype}")


def on_device(network: Network, device: str | torch.device) -> Network:
    """A copy of a network on a device; the network itself where it is there."""
    wanted = torch.device(device)
    here = next((parameter.device for parameter in network.parameters()), wanted)
    if here.type == wanted.type and wanted.index in (None, here.index):
        return network
    return deepcopy(network).to(wanted)
