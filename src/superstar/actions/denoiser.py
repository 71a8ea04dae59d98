"""Denoisers of all shapes: how they are applied, and their files."""

from copy import deepcopy
from functools import cache
from importlib.resources import as_file, files
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from superstar.actions.dncnn import DnCNN
from superstar.actions.published import load_published_denoiser
from superstar.actions.unet import UNet
from superstar.errors import InputError
from superstar.images import check_images
from superstar.training import supports_bfloat16
from superstar.weights import announces, load_weights, save_weights

KIND = "denoiser"
SHAPES: dict[str, type[DnCNN] | type[UNet]] = {"dncnn": DnCNN, "unet": UNet}
PIXELS_AT_ONCE = {"cpu": 2**17, "gpu": 2**22}

PACKAGED_SHA256 = "109e57f538da3a624e2b56ad285852e505c4d6160c80b270792da4a057310eb3"
"""Digest of the file of `packaged_denoiser`."""

Denoiser = DnCNN | UNet
"""What `apply_action` takes as `denoiser`."""


def denoise(
    model: Denoiser,
    images: Tensor,
    batch_size: int | None = None,
    device: str | torch.device | None = None,
) -> Tensor:
    """Denoise a batch.

    Computes in bfloat16 where the processor has instructions for it. A U-Net takes off as much of
    the noise that it finds as its `gate` lets it.

    Args:
        model: a trained denoiser, fused or not.
        images: float32 (N, 3, H, W) in [0, 1].
        batch_size: images that go through the network together; by default so few that what
            passes from layer to layer stays in a processor's cache, or enough to keep a GPU busy.
        device: where to compute; by default where the denoiser's weights are.

    Returns:
        float32 (N, 3, H, W) in [0, 1], on the device of `images`.

    Raises:
        InputError: not a batch of images, or a batch size below 1.
    """
    return _applied(model, images, batch_size, device, gated=True)


def restore(
    model: Denoiser,
    images: Tensor,
    batch_size: int | None = None,
    device: str | torch.device | None = None,
) -> Tensor:
    """Images less all the noise that the network finds, whatever a gate says; as `denoise`."""
    return _applied(model, images, batch_size, device, gated=False)


def _applied(
    model: Denoiser,
    images: Tensor,
    batch_size: int | None,
    device: str | torch.device | None,
    gated: bool,
) -> Tensor:
    check_images(images)
    device = torch.device(device or next(model.parameters()).device)
    if batch_size is None:
        at_once = PIXELS_AT_ONCE["cpu" if device.type == "cpu" else "gpu"]
        batch_size = max(1, round(at_once / model.pixels_of(images)))
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, not {batch_size}")
    network = _ready(model, device)
    clean = torch.empty_like(images, memory_format=torch.contiguous_format)
    half = torch.autocast(device.type, torch.bfloat16, enabled=supports_bfloat16(device))
    with torch.no_grad(), half:
        for start in range(0, len(images), batch_size):
            part = images[start : start + batch_size].to(device)
            part = part.contiguous(memory_format=torch.channels_last)
            restored = network(part)
            if gated and isinstance(network, UNet):
                restored = network.gated(part, restored)
            clean[start : start + batch_size] = restored.clamp_(0, 1)
    return clean


def _ready(model: Denoiser, device: torch.device) -> Denoiser:
    """The fused denoiser there; one that is another's is not moved."""
    network = model.fuse()
    if next(network.parameters()).device != device:
        network = deepcopy(network).to(device)
    return network.to(memory_format=torch.channels_last)


def save_denoiser(model: Denoiser, path: str | PathLike[str], half: bool = False) -> None:
    """Write the fused denoiser as safetensors, its shape in the file's header.

    Args:
        model: a denoiser.
        path: of the file.
        half: whether weights are kept in half precision.
    """
    kind = next(name for name, shape in SHAPES.items() if isinstance(model, shape))
    fused = model.fuse().half() if half else model.fuse()
    save_weights(fused, path, KIND, {"kind": kind, "half": half, **model.shape})


def load_denoiser(path: str | PathLike[str]) -> Denoiser:
    """Read what `save_denoiser` wrote: a fused denoiser in eval mode, in float32.

    Raises:
        InputError: no such file, truncated, or not a denoiser of this package.
    """
    return load_weights(path, KIND, _without_weights)[0].float()


def read_denoiser(path: str | PathLike[str], enlarge: int = 1) -> Denoiser:
    """Read a denoiser that `save_denoiser` wrote, or else a published DnCNN.

    Args:
        path: of the file.
        enlarge: of a published one, as of `load_published_denoiser`.

    Raises:
        InputError: as those two.
    """
    if announces(path, KIND):
        return load_denoiser(path)
    return load_published_denoiser(path, enlarge)


def _without_weights(spec: dict[str, Any]) -> Denoiser:
    """The shape of a fused denoiser, waiting for weights: initialising none, it draws none."""
    shape = dict(spec)
    build = SHAPES[shape.pop("kind")]
    dtype = torch.float16 if shape.pop("half") else torch.float32
    with torch.device("meta"):
        return build.fused(**shape).to(dtype)


@cache
def packaged_denoiser() -> UNet:
    """The denoiser that the package brings along (docs/denoiser.md).

    Blind: for noise of σ 0 to 130 of 255, of several kinds, with and without JPEG after it, on
    colour images of any size from 16 pixels; it leaves clean images as they are.
    """
    with as_file(files("superstar.actions") / "weights" / "denoiser.safetensors") as path:
        denoiser = load_denoiser(path)
    assert isinstance(denoiser, UNet)
    return denoiser
