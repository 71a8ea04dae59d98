"""Sets of images by name, as pipelines hand them to one another: read when they are asked for."""

from collections.abc import Callable

from torch import Tensor

from superstar.control.protocol import Cell
from superstar.images import ImageSet
from superstar.parameters import PolicySurrogates

Parts = dict[str, Callable[[], ImageSet]]


def surrogate_cells(surrogates: Parts) -> list[tuple[Cell, Callable[[], ImageSet]]]:
    """Each surrogate and severity with its set, of parts named `<surrogate>/<severity>`."""
    return [(Cell.of(key), load) for key, load in surrogates.items()]


def policy_batches(
    batches: Parts, split: str, policy: PolicySurrogates, size: int | None = None
) -> list[Tensor]:
    """The policy's batches of one split, surrogate by surrogate.

    Args:
        batches: the images, by `<split>/<surrogate>`.
        split: `training` or `held_out`.
        policy: whose surrogates and size count.
        size: of the batches, if another; images that fill no batch are left out.
    """
    size = policy.batch_size if size is None else size
    whole = (batches[f"{split}/{name}"]().batch() for name in policy.names)
    return [batch for images in whole for batch in images.split(size) if len(batch) == size]
