"""What all peers have in common: the interface, what they need, and a network of their own."""

from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import torch
from torch import Tensor, nn

from superstar.errors import InputError
from superstar.images import check_images

Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True)
class Needs:
    """What a peer needs at run time, beside images and what the network answers.

    Attributes:
        weights: access to the network's weights or statistics.
        gradients: of the network.
        batch: several images of one distribution at a time.
        order: images in the order in which they came, since earlier ones count.
        clean: clean images, or what was learned from them.
    """

    weights: bool = False
    gradients: bool = False
    batch: bool = False
    order: bool = False
    clean: bool = False


class Peer(Protocol):
    """A classifier that meets shifts in its own way.

    It works on a copy of the network that it was made from, which stays as it is.
    """

    needs: ClassVar[Needs]

    def adapt(self, batch: Tensor) -> None:
        """Learn from images, float32 (N, 3, H, W) in [0, 1], without labels."""
        ...

    def predict(self, batch: Tensor) -> Tensor:
        """Logits (N, classes), or logarithms of probabilities, on the processor."""
        ...

    def reset(self) -> None:
        """Forget all that was learned."""
        ...


class Unadapted:
    """The network as it is.

    Args:
        network: maps images in [0, 1] to logits.
    """

    needs: ClassVar[Needs] = Needs()

    def __init__(self, network: nn.Module) -> None:
        self.network = frozen_copy(network)

    def adapt(self, batch: Tensor) -> None:
        """Learn nothing."""

    def predict(self, batch: Tensor) -> Tensor:
        """Logits of the network."""
        return answer(self.network, batch)

    def reset(self) -> None:
        """There is nothing to forget."""


def frozen_copy(network: Network) -> Network:
    """A copy of a network in eval mode, whose weights ask for no gradients."""
    return deepcopy(network).eval().requires_grad_(False)


def answer(network: nn.Module, batch: Tensor) -> Tensor:
    """Logits of a batch, on the processor.

    Raises:
        InputError: not a batch of images.
    """
    check_images(batch)
    with torch.inference_mode():
        return network(on_device_of(network, batch)).cpu()


def on_device_of(network: nn.Module, batch: Tensor) -> Tensor:
    """The batch on the device of the network."""
    first = next(network.parameters(), None)
    return batch if first is None else batch.to(first.device)


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of each prediction (N,), of logits (N, classes)."""
    logs = logits.log_softmax(1)
    return -(logs.exp() * logs).sum(1)


def batch_norms(network: nn.Module, peer: str) -> list[nn.modules.batchnorm._BatchNorm]:
    """The layers of batch normalisation that keep statistics of training.

    Raises:
        InputError: there is none.
    """
    found = [
        module
        for module in network.modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None
    ]
    if not found:
        raise InputError(
            f"{peer} adapts batch normalisation, which {type(network).__name__} does not have: "
            "leave this peer out"
        )
    return found
