"""What a classifier says about a batch, and how often it is right."""

from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from superstar.errors import InputError, check_name
from superstar.images import check_images
from superstar.integers import whole

Precision = Literal["float32", "bfloat16"]


class AtPrecision(nn.Module):
    """A network that computes in a precision, in the memory order that convolutions do best in.

    Args:
        network: maps images in [0, 1] to logits.
        precision: as for `predict`.

    Raises:
        InputError: an unknown precision.
    """

    def __init__(self, network: nn.Module, precision: Precision) -> None:
        super().__init__()
        check_name("precision", precision, get_args(Precision))
        self.network, self._half = network, precision == "bfloat16"

    def forward(self, images: Tensor) -> Tensor:
        """Logits (N, classes), float32."""
        with torch.autocast(images.device.type, torch.bfloat16, enabled=self._half):
            return self.network(images.contiguous(memory_format=torch.channels_last)).float()


def predict(
    classifier: nn.Module,
    images: Tensor,
    batch_size: int = 256,
    device: str | torch.device = "cpu",
    precision: Precision = "float32",
) -> Tensor:
    """The class of each image.

    Args:
        classifier: maps images in [0, 1] to logits; put in eval mode and on `device`.
        images: float32 (N, 3, H, W) in [0, 1].
        batch_size: images that go through the network together.
        device: where to compute.
        precision: in which the network computes. In bfloat16 processors with instructions for it
            are two to three times as fast; where two classes are nearly equal it may say the other.

    Returns:
        int64 (N,), on the processor.

    Raises:
        InputError: not a batch of images, a batch size below 1, or an unknown precision.
    """
    check_images(images)
    check_name("precision", precision, get_args(Precision))
    batch_size = whole(batch_size, "batch_size", 1)
    classifier.to(device).to(memory_format=torch.channels_last).eval()
    # Otherwise a GPU's convolutions round what they multiply to 10 bits (TF32).
    exact = torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )
    half = torch.autocast(
        torch.device(device).type, torch.bfloat16, enabled=precision == "bfloat16"
    )
    with torch.inference_mode(), exact, half:
        classes = [
            classifier(part.to(device=device, memory_format=torch.channels_last)).argmax(1).cpu()
            for part in images.split(batch_size)
        ]
    return torch.cat(classes)


def accuracy(
    classifier: nn.Module,
    images: Tensor,
    labels: NDArray[np.int64] | Tensor,
    batch_size: int = 256,
    device: str | torch.device = "cpu",
) -> float:
    """Share of the images whose predicted class is their label, in [0, 1].

    Args:
        classifier: as for `predict`.
        images: float32 (N, 3, H, W) in [0, 1].
        labels: integers (N,).
        batch_size: as for `predict`.
        device: as for `predict`.

    Raises:
        InputError: as `predict`, or a number of labels other than that of the images.
    """
    truth = torch.as_tensor(labels).cpu()
    if truth.shape != images.shape[:1]:
        raise InputError(f"{len(images)} images but labels of shape {tuple(truth.shape)}")
    hits = predict(classifier, images, batch_size, device) == truth
    return hits.double().mean().item()
