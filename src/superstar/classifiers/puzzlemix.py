"""Puzzle Mix: pairs of images joined so that what is salient in either stays in sight."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from math import comb, gcd, inf

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn import functional

from superstar.classifiers.labelling import best_labels
from superstar.classifiers.training import ClassifierSchedule, Network, draw_seed, train_scheme
from superstar.errors import InputError
from superstar.images import ImageSet, stream

GRIDS = (2, 4, 8, 16)
"""Blocks along a side of an image; each step draws one of these."""

LEVELS = 3
"""Values that a mask takes: 0, 1/2 and 1."""

CELL = 4
"""Largest side in pixels of the cells whose mean colours are compared across borders of blocks."""


def train_puzzlemix(
    standard: Network,
    images: ImageSet,
    schedule: ClassifierSchedule,
    *,
    alpha: float = 1.0,
    **weights: float,
) -> tuple[Network, list[float]]:
    """Fine-tune a classifier with Puzzle Mix (Kim, Choo and Song, ICML 2020).

    Each step draws λ ~ Beta(alpha, alpha), a grid of blocks and a partner for each image. From the
    saliency of both, the size of the loss's gradient, follow a mask that keeps the salient blocks
    of either (see `best_masks`) and a movement of blocks that brings salient ones into sight (see
    `best_places`). The loss is the cross-entropy of the joint image, mixed between both labels in
    the ratio of the mask.

    As in the paper, but for this: mask and movement are each optimised once, in this order, and
    both exactly (the authors' program cuts graphs by α-β swaps and assigns places row by row);
    blocks move on the grid of the mask; the loss is cross-entropy, where the program
    takes its binary form; training starts from a trained classifier; no adversarial noise.

    Args:
        standard: where to start from; not changed.
        images: training images and their labels; both sides must be even.
        schedule: of the training.
        alpha: of the beta distribution of λ, above 0.
        weights: of `PuzzleWeights`, where others than the authors' are wanted.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: labels out of range, images that cannot be cut into blocks, other arguments
            out of their range, or no progress.
    """
    if not alpha > 0:
        raise InputError(f"Puzzle Mix needs an alpha above 0, not {alpha}")
    costs = PuzzleWeights(**weights)
    grids = _grids(*images.images.shape[1:3])

    def augment(
        windows: Tensor, labels: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        return windows, labels, draw_seed(generator)

    def loss(model: nn.Module, batch: Tensor, targets: Tensor, seed_of_step: Tensor) -> Tensor:
        random = stream(int(seed_of_step), "puzzlemix")
        share, grid = float(random.beta(alpha, alpha)), int(random.choice(grids))
        partners = torch.from_numpy(random.permutation(len(batch)))
        salience = saliency(model, batch, targets)
        mixed, ratios = mix(batch, salience, partners, share, grid, costs)
        logits = model(mixed).float()
        own, other = (
            functional.cross_entropy(logits, labels, reduction="none")
            for labels in (targets, targets[partners.to(targets.device)])
        )
        return (ratios * own + (1 - ratios) * other).mean()

    return train_scheme(
        "puzzlemix",
        standard,
        images,
        schedule,
        augment,
        loss,
        alpha=alpha,
        **asdict(costs),
    )


@dataclass(frozen=True)
class PuzzleWeights:
    """Weights in the energy of a mask and a movement, at least 0; defaults are the authors'.

    Attributes:
        label_smoothness: β of the paper, of neighbouring blocks with other levels.
        data_smoothness: γ as a share of β, of colours at borders, in [0, 1].
        prior: η, of a binomial distribution of the levels, which draws a mask's ratio towards λ.
        transport: ξ, of moving blocks.

    Raises:
        InputError: a weight out of its range.
    """

    label_smoothness: float = 1.2
    data_smoothness: float = 0.5
    prior: float = 0.2
    transport: float = 0.8

    def __post_init__(self) -> None:
        weights = (self.label_smoothness, self.prior, self.transport)
        if not all(0 <= weight < inf for weight in weights):
            raise InputError(f"weights of Puzzle Mix must be at least 0, not {self}")
        # Above 1, unlike colours could outweigh unlike levels, and no cut would find the minimum.
        if not 0 <= self.data_smoothness <= 1:
            raise InputError(f"data_smoothness must lie in [0, 1], but is {self.data_smoothness}")


def saliency(model: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
    """How strongly each pixel bears on the loss: the size of its gradient over the colours.

    The network is in eval mode meanwhile, so that images do not bear on one another.

    Args:
        model: maps images to logits.
        images: float32 (N, 3, H, W) in [0, 1].
        targets: classes, int64 (N,).

    Returns:
        float32 (N, H, W), at least 0.
    """
    training = model.training
    model.eval()
    pixels = images.detach().requires_grad_(True)
    total = functional.cross_entropy(model(pixels).float(), targets, reduction="sum")
    (gradient,) = torch.autograd.grad(total, pixels)
    model.train(training)
    return gradient.square().mean(1).sqrt()


def mix(
    images: Tensor,
    salience: Tensor,
    partners: Tensor,
    share: float,
    grid: int,
    weights: PuzzleWeights,
) -> tuple[Tensor, Tensor]:
    """Join each image with its partner.

    Args:
        images: float32 (N, 3, H, W) in [0, 1], both sides divisible by `grid`.
        salience: of each pixel, at least 0, float32 (N, H, W).
        partners: which image each one is joined with, int64 (N,).
        share: λ, the wanted share of an image in its joint image, in [0, 1].
        grid: blocks along either side.
        weights: of the energy.

    Returns:
        The joint images, float32 (N, 3, H, W) in [0, 1], and the share that each image has in its
        own, float32 (N,) in [0, 1].
    """
    height, width = images.shape[2:]
    sides = (height // grid, width // grid)
    blocks = functional.avg_pool2d(salience[:, None].float(), sides)[:, 0].double().cpu().numpy()
    total = blocks.sum((1, 2), keepdims=True)
    with np.errstate(invalid="ignore"):
        blocks = np.where(total > 0, blocks / total, 1 / grid**2)
    chosen = partners.numpy()
    masks = best_masks(images, blocks, partners, share, grid, weights)
    flat = blocks.reshape(len(blocks), -1)
    sources = best_places(flat, masks.reshape(flat.shape), grid, weights.transport)
    others = best_places(flat[chosen], 1 - masks.reshape(flat.shape), grid, weights.transport)
    own = _rearranged(images, torch.from_numpy(sources), grid)
    other = _rearranged(images[partners.to(images.device)], torch.from_numpy(others), grid)
    mask = torch.from_numpy(masks).float().to(images.device)
    whole = mask.repeat_interleave(sides[0], 1).repeat_interleave(sides[1], 2)[:, None]
    return whole * own + (1 - whole) * other, mask.mean((1, 2))


def best_masks(
    images: Tensor,
    salience: NDArray[np.float64],
    partners: Tensor,
    share: float,
    grid: int,
    weights: PuzzleWeights,
) -> NDArray[np.float64]:
    """The masks of least energy: which blocks of an image stay, and which its partner fills.

    The energy of a mask z is minus the saliency in sight, −Σ z·s − Σ (1 − z)·s', plus for
    neighbouring blocks (β/16n)·(z − z')² and (βγ/16n)·Σ z_u·z'_v·d_uv (u and v either image; d the
    distance of the colours that meet at the border), minus (η/n²)·Σ log p(z), p binomial of mean
    λ. This is the paper's objective; the factors of n are those of the authors' program.

    Args:
        images: float32 (N, 3, H, W) in [0, 1].
        salience: of each block, adding up to 1 for an image, (N, grid, grid).
        partners: which image each one is joined with, int64 (N,).
        share: λ, in [0, 1].
        grid: blocks along either side.
        weights: of the energy.

    Returns:
        (N, grid, grid), the share of the image itself in each block, of `LEVELS` levels in [0, 1].
    """
    return best_labels(*energy(images, salience, partners, share, grid, weights)) / (LEVELS - 1)


def energy(
    images: Tensor,
    salience: NDArray[np.float64],
    partners: Tensor,
    share: float,
    grid: int,
    weights: PuzzleWeights,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The energy of `best_masks` as `best_labels` takes it: costs, weights down and to the right.

    A product z·z' is (z² + z'² − (z − z')²) / 2, which leaves costs of single blocks and of
    differences.
    """
    levels = np.arange(LEVELS) / (LEVELS - 1)
    chances = [
        comb(LEVELS - 1, k) * share**k * (1 - share) ** (LEVELS - 1 - k) for k in range(LEVELS)
    ]
    costs = -salience[..., None] * levels - salience[partners.numpy(), ..., None] * (1 - levels)
    costs -= weights.prior / grid**2 * np.log(np.array(chances) + 1e-8)
    stiffness = weights.label_smoothness / (16 * grid)
    pairs = []
    for axis in (1, 2):
        same, across, back, both = _border_distances(images, partners, grid, axis)
        bend = across + back - same - both
        before, after = _sides(costs, axis)
        colours = stiffness * weights.data_smoothness
        squares = bend[..., None] / 2 * levels**2
        before += colours * ((across - both)[..., None] * levels - squares)
        after += colours * ((back - both)[..., None] * levels - squares)
        pairs.append(stiffness * (1 + weights.data_smoothness * bend / 2))
    return costs, pairs[0], pairs[1]


def _border_distances(
    images: Tensor, partners: Tensor, grid: int, axis: int
) -> tuple[NDArray[np.float64], ...]:
    """Distances in [0, 1] of the colours at the borders of blocks that follow along an axis.

    Four arrays (N, grid − 1, grid) or (N, grid, grid − 1). Before and behind the border lie, in
    turn: image and image, image and partner, partner and image, partner and partner.
    """
    along = images if axis == 1 else images.transpose(2, 3)
    block = [side // grid for side in along.shape[2:]]
    cell = [gcd(CELL, side) for side in block]
    cells = functional.avg_pool2d(along, cell).double().cpu().numpy()
    step = block[0] // cell[0]
    ends, starts = cells[:, :, step - 1 : -1 : step], cells[:, :, step::step]
    one, other = np.arange(len(images)), partners.numpy()
    distances = (
        np.abs(ends[before] - starts[behind])
        .mean(1)
        .reshape(len(images), grid - 1, grid, -1)
        .mean(3)
        for before, behind in ((one, one), (one, other), (other, one), (other, other))
    )
    return tuple(part if axis == 1 else part.swapaxes(1, 2) for part in distances)


def _sides(costs: NDArray[np.float64], axis: int) -> tuple[NDArray[np.float64], ...]:
    """Views of the blocks before and behind each border along an axis."""
    if axis == 1:
        return costs[:, :-1], costs[:, 1:]
    return costs[:, :, :-1], costs[:, :, 1:]


def best_places(
    salience: NDArray[np.float64], masks: NDArray[np.float64], grid: int, transport: float
) -> NDArray[np.int64]:
    """The movement of blocks that shows most saliency under the mask for the least way.

    Minimises the sum of ξ·C − s·z over blocks with saliency s that go to places with mask z, C the
    squared way over the squared side: an assignment, solved exactly.

    Args:
        salience: of each block, adding up to 1 for an image, (N, grid²).
        masks: at each place, in [0, 1], (N, grid²).
        grid: blocks along either side.
        transport: ξ.

    Returns:
        int64 (N, grid²), for each place the block that comes there.
    """
    ways = transport * _ways(grid)
    sources = np.empty(salience.shape, np.int64)
    for n, (blocks, mask) in enumerate(zip(salience, masks, strict=True)):
        sources[n] = linear_sum_assignment(ways - mask[:, None] * blocks)[1]
    return sources


@lru_cache(maxsize=len(GRIDS))
def _ways(grid: int) -> NDArray[np.float64]:
    """Squared ways between blocks, over the squared longest one along a side: (grid², grid²)."""
    steps = np.square(np.subtract.outer(np.arange(grid), np.arange(grid)))
    both = steps[:, None, :, None] + steps[None, :, None, :]
    return both.reshape(grid**2, grid**2) / (grid - 1) ** 2


def _rearranged(images: Tensor, sources: Tensor, grid: int) -> Tensor:
    """Images whose block at each place is the one that `sources`, (N, grid²), names."""
    count, channels, height, width = images.shape
    shape = (count, channels, grid, height // grid, grid, width // grid)
    blocks = images.reshape(shape).permute(0, 2, 4, 3, 5, 1).flatten(1, 2)
    moved = blocks[torch.arange(count)[:, None].to(images.device), sources.to(images.device)]
    rows = moved.unflatten(1, (grid, grid)).permute(0, 1, 3, 2, 4, 5)
    return rows.reshape(count, height, width, channels).permute(0, 3, 1, 2)


def _grids(height: int, width: int) -> list[int]:
    grids = [grid for grid in GRIDS if height % grid == 0 and width % grid == 0]
    if not grids:
        raise InputError(
            f"Puzzle Mix cuts images into blocks, but one side of {height}x{width} pixels is odd: "
            "crop the images to even sides"
        )
    return grids
