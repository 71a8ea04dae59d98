"""How far a long computation has come, on disk, so that a killed one can go on from there."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.optim import Optimizer

from superstar.errors import InputError
from superstar.weights import save_tensors

FORMAT = "superstar-checkpoint"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingState:
    """What a training must know to go on; or what a finished part of an evaluation has found.

    Attributes:
        tensors: by name, on the processor.
        values: whatever JSON can hold.
    """

    tensors: Mapping[str, Tensor]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A safetensors file with the last state saved of one computation; or a folder of such.

    Attributes:
        path: of the file or folder, which need not exist.
        made_from: what tells the computation's data apart, such as a digest. A state saved under
            another one is never handed out.
    """

    path: Path
    made_from: str = ""

    def save(self, settings: Mapping[str, Any], state: TrainingState) -> None:
        """Replace what was saved before; written beside and renamed, so that no kill harms it.

        Args:
            settings: what else the computation depends on, as JSON can hold it.
            state: of it.
        """
        beside = self._beside
        beside.parent.mkdir(parents=True, exist_ok=True)
        values = json.dumps(state.values)
        header = {"values": values, "digest": digest(state.tensors, values)}
        save_tensors(state.tensors, beside, self._identity(settings) | header)
        os.replace(beside, self.path)

    def load(self, settings: Mapping[str, Any]) -> TrainingState | None:
        """The state saved by a computation from the same data with equal settings, if any.

        A file that cannot be read counts as none, with a warning.

        Raises:
            InputError: there is a folder in the file's place.
        """
        if self.path.is_dir():
            raise InputError(f"{self.path} is a folder: a checkpoint is a file")
        if not self.path.is_file():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                header = file.metadata() or {}
                if any(header.get(key) != own for key, own in self._identity(settings).items()):
                    return None
                # Copies, since what lies in the file is not aligned, and some sums depend on that.
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            if digest(tensors, header["values"]) != header["digest"]:
                raise ValueError("its contents are not those that were written")
            return TrainingState(tensors, json.loads(header["values"]))
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            logger.warning("%s is damaged and will be replaced (%s)", self.path, error)
            return None

    def part(self, name: str) -> "Checkpoint":
        """That of one of several computations, which share this one's path as their folder."""
        return replace(self, path=self.path / f"{name}.safetensors")

    def remove(self) -> None:
        """Forget the state, and those of all parts."""
        if self.path.is_dir():
            shutil.rmtree(self.path)
            return
        self.path.unlink(missing_ok=True)
        self._beside.unlink(missing_ok=True)

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f".part-{self.path.name}")

    def _identity(self, settings: Mapping[str, Any]) -> dict[str, str]:
        return {
            "format": FORMAT,
            "made_from": self.made_from,
            "settings": json.dumps(dict(settings), sort_keys=True, default=index),
        }


def tensors_of(**parts: nn.Module | Optimizer) -> dict[str, Tensor]:
    """Weights of networks and moments of optimisers, by the parts' names and their own."""
    tensors: dict[str, Tensor] = {}
    for name, part in parts.items():
        state = part.state_dict()
        if isinstance(part, Optimizer):
            moments = state["state"]
            state = {f"{i}.{key}": moments[i][key] for i in moments for key in moments[i]}
        tensors |= {f"{name}.{key}": tensor.detach().cpu() for key, tensor in state.items()}
    return tensors


def restore(tensors: Mapping[str, Tensor], **parts: nn.Module | Optimizer) -> None:
    """Give networks and optimisers back what `tensors_of` took of them.

    Raises:
        KeyError, ValueError, RuntimeError: tensors of other parts.
    """
    for name, part in parts.items():
        start = f"{name}."
        own = {key.removeprefix(start): t for key, t in tensors.items() if key.startswith(start)}
        if not isinstance(part, Optimizer):
            part.load_state_dict(own)
            continue
        parameters = [p for group in part.param_groups for p in group["params"]]
        moments: dict[int, dict[str, Tensor]] = {}
        for place, tensor in own.items():
            index, _, key = place.partition(".")
            if key != "step":
                # In the parameter's own order in memory, since sums of products may depend on the
                # loop that goes through them.
                tensor = torch.empty_like(parameters[int(index)]).copy_(tensor)
            moments.setdefault(int(index), {})[key] = tensor.detach()
        part.load_state_dict(part.state_dict() | {"state": moments})


_OWN: ContextVar[Checkpoint | None] = ContextVar("own checkpoint", default=None)


def keep_in(checkpoint: Checkpoint | None) -> None:
    """From here on what runs in this thread has this folder for what it must know to go on."""
    _OWN.set(checkpoint)


def own_checkpoint() -> Checkpoint | None:
    """The folder that `keep_in` named last; None where nothing is to be kept."""
    return _OWN.get()


def own_part(name: str) -> Checkpoint | None:
    """The file of one computation in that folder."""
    folder = own_checkpoint()
    return None if folder is None else folder.part(name)


def digest(tensors: Mapping[str, Tensor], values: str = "") -> str:
    """Digest of the contents: safetensors notices a file cut short, but not a changed byte."""
    found = hashlib.sha256(values.encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()[:32]
