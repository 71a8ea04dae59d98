"""Published DnCNN denoisers, from the files that others hand out.

Two code bases: KAIR, by DnCNN's authors (cszn/KAIR: models/network_dncnn.py, basicblock.py), and
the port most used (SaoYan/DnCNN-PyTorch: models.py). Both number the layers of one `Sequential`, in
KAIR `model`, in the port `dncnn`. What comes out is the noise, which is taken off the image.
"""

import re
from collections.abc import Mapping, Sequence
from os import PathLike

import torch
from torch import Tensor

from superstar.actions.dncnn import DnCNN
from superstar.errors import InputError
from superstar.published import read_weights

PORT = "dncnn."
"""What the port's names begin with; `read_weights` takes KAIR's `model.` off."""

EPSILON = {"": 1e-4, PORT: 1e-5}
"""What batch norm adds to the variance, by the beginning of the names: no file tells."""

NORM = ("weight", "bias", "running_mean", "running_var")


def load_published_denoiser(path: str | PathLike[str], enlarge: int = 1) -> DnCNN:
    """Read a published DnCNN: a fused denoiser in eval mode, frozen.

    Depth, width and channels are those of the file's tensors. Batch norms, if they have not been
    merged yet, are folded into the convolutions. A network for gray images takes each channel of
    colour images by itself.

    Args:
        path: a file of torch.save or safetensors, such as KAIR's `dncnn_color_blind.pth` or the
            port's `net.pth`.
        enlarge: how many times as high and wide the images are that the network sees, as in
            `DnCNN`.

    Raises:
        InputError: a file that cannot be read, or that does not hold a DnCNN for gray or colour
            images, complete and finite; enlarge below 1.
    """
    weights = {
        name: tensor
        for name, tensor in read_weights(path).items()
        if not name.endswith("num_batches_tracked")
    }
    prefix = PORT if any(name.startswith(PORT) for name in weights) else ""
    places, normed = _places(weights, prefix)
    complaint = _complaint(weights, prefix, places, normed)
    if complaint:
        raise InputError(f"{path} holds no DnCNN as KAIR or DnCNN-PyTorch save it: {complaint}")
    state = {}
    for number, place in enumerate(places):
        inner = normed and 0 < number < len(places) - 1
        weight, bias = _convolution(weights, prefix, place, inner)
        if not (weight.isfinite().all() and bias.isfinite().all()):
            raise InputError(
                f"{path}: batch norm makes the weights of {prefix}{place} infinite: get it again"
            )
        state[f"layers.{2 * number}.weight"] = weight
        state[f"layers.{2 * number}.bias"] = bias
    width, channels = weights[f"{prefix}{places[0]}.weight"].shape[:2]
    with torch.device("meta"):
        denoiser = DnCNN(len(places), width, 1, channels, enlarge, batch_norm=False)
    denoiser.load_state_dict(state, assign=True)
    return denoiser.eval().requires_grad_(False)


def _places(weights: Mapping[str, Tensor], prefix: str) -> tuple[list[int], bool]:
    """Numbers of the convolutions in the `Sequential`, and whether batch norms follow them."""
    kernel = re.compile(rf"{re.escape(prefix)}(0|[1-9]\d*)\.weight")
    places = sorted(
        int(found[1])
        for name, tensor in weights.items()
        if tensor.ndim == 4 and (found := kernel.fullmatch(name))
    )
    return places, any(name.endswith("running_mean") for name in weights)


def _complaint(
    weights: Mapping[str, Tensor], prefix: str, places: Sequence[int], normed: bool
) -> str:
    """The first thing in which the weights differ from a DnCNN's; empty if nothing does."""
    depth = len(places)
    if depth < 2:
        return f"of its tensors ({', '.join(list(weights)[:3])}, ...) {depth} are convolutions"
    # KAIR merges batch norms into the convolutions and may leave the gaps where they were.
    regular = [[0, *range(2, 2 + step * (depth - 1), step)] for step in (3, 2)]
    if list(places) not in (regular[:1] if normed else regular):
        return f"its convolutions are those numbered {', '.join(map(str, places))}"
    width, channels = weights[f"{prefix}0.weight"].shape[:2]
    if channels not in (1, 3):
        return f"it takes {channels} channels, neither 1 (gray) nor 3 (colour)"
    shapes = _shapes(weights, prefix, places, normed, width, channels)
    for name in (*shapes, *weights):
        if name not in shapes:
            return f"{name} is not part of it"
        if name not in weights:
            return f"{name} is missing"
        if weights[name].shape != shapes[name]:
            return f"{name} is {tuple(weights[name].shape)} instead of {shapes[name]}"
    return ""


def _shapes(
    weights: Mapping[str, Tensor],
    prefix: str,
    places: Sequence[int],
    normed: bool,
    width: int,
    channels: int,
) -> dict[str, tuple[int, ...]]:
    """The tensors of a DnCNN and their shapes. Convolutions may have a bias or not."""
    sizes = [channels, *[width] * (len(places) - 1), channels]
    shapes: dict[str, tuple[int, ...]] = {}
    for number, place in enumerate(places):
        inner, outer = sizes[number : number + 2]
        shapes[f"{prefix}{place}.weight"] = (outer, inner, 3, 3)
        if f"{prefix}{place}.bias" in weights:
            shapes[f"{prefix}{place}.bias"] = (outer,)
        if normed and 0 < number < len(places) - 1:
            shapes |= {f"{prefix}{place + 1}.{part}": (outer,) for part in NORM}
    return shapes


def _convolution(
    weights: Mapping[str, Tensor], prefix: str, place: int, normed: bool
) -> tuple[Tensor, Tensor]:
    """Kernel and bias with the batch norm that follows folded in, float32 from float64."""
    weight = weights[f"{prefix}{place}.weight"].double()
    bias = weights.get(f"{prefix}{place}.bias", torch.zeros(len(weight))).double()
    if normed:
        scale, shift, mean, variance = (
            weights[f"{prefix}{place + 1}.{part}"].double() for part in NORM
        )
        gain = scale / (variance + EPSILON[prefix]).sqrt()
        weight, bias = weight * gain.view(-1, 1, 1, 1), (bias - mean) * gain + shift
    return weight.float(), bias.float()
