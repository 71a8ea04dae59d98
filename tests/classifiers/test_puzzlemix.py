import itertools
import math

import numpy as np
import pytest
import torch
from classifier_toys import QUICK, tinted, untrained
from scipy.stats import binom
from torch import nn

from superstar.classifiers import train_puzzlemix
from superstar.classifiers.puzzlemix import (
    GRIDS,
    LEVELS,
    PuzzleWeights,
    best_masks,
    best_places,
    mix,
    saliency,
)
from superstar.errors import InputError
from superstar.images import ImageSet, stream

WEIGHTS = PuzzleWeights()


def images_and_saliency(count=8, height=32, width=32, seed=0):
    random = stream(seed, "puzzle")
    images = torch.from_numpy(random.random((count, 3, height, width), dtype=np.float32))
    salience = torch.from_numpy(random.random((count, height, width), dtype=np.float32) ** 4)
    partners = torch.from_numpy(random.permutation(count))
    return images, salience, partners


def blockwise(salience, grid):
    blocks = nn.functional.avg_pool2d(salience[:, None], salience.shape[1] // grid)[:, 0].double()
    return (blocks / blocks.sum((1, 2), keepdim=True)).numpy()


def test_saliency_of_a_linear_network_is_known():
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 4)).double()
    images = torch.rand(5, 3, 16, 16, dtype=torch.float64)
    targets = torch.tensor([0, 1, 2, 3, 0])
    misses = network(images).softmax(1) - nn.functional.one_hot(targets, 4)
    gradient = (misses @ network[1].weight).reshape(images.shape)
    network[1].weight.grad = None
    found = saliency(network, images, targets)
    torch.testing.assert_close(
        found.double(), (gradient.square().mean(1)).sqrt(), rtol=1e-4, atol=1e-7
    )
    assert network[1].weight.grad is None
    assert not images.requires_grad


def test_saliency_leaves_the_network_as_it_is_and_images_apart():
    network = untrained().train()
    images, targets = tinted(count=6).batch(), torch.arange(6) % 3
    before = {name: value.clone() for name, value in network.state_dict().items()}
    together = saliency(network, images, targets)
    assert network.training
    assert all(value.equal(before[name]) for name, value in network.state_dict().items())
    alone = torch.cat([saliency(network, images[i : i + 1], targets[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-6)


def energy_of_mask(z, image, partner, own, other, share, grid, weights):
    """The paper's objective, pixel by pixel; cells of colour are single pixels here."""
    block = image.shape[1] // grid
    total = -(z * own).sum() - ((1 - z) * other).sum()
    chances = binom.pmf(np.rint(z * (LEVELS - 1)), LEVELS - 1, share)
    total -= weights.prior / grid**2 * np.log(chances + 1e-8).sum()
    stiffness = weights.label_smoothness / (16 * grid)
    for axis, (r, c) in itertools.product((0, 1), np.ndindex(grid, grid)):
        s, d = (r + 1, c) if axis == 0 else (r, c + 1)
        if max(s, d) == grid:
            continue
        total += stiffness * (z[r, c] - z[s, d]) ** 2
        ends = [(s * block - 1, c * block + k) for k in range(block)]
        starts = [(s * block, c * block + k) for k in range(block)]
        if axis == 1:
            ends = [(r * block + k, d * block - 1) for k in range(block)]
            starts = [(r * block + k, d * block) for k in range(block)]
        for (u, before), (v, behind) in itertools.product(enumerate((partner, image)), repeat=2):
            apart = np.mean(
                [
                    np.abs(before[:, i, j] - behind[:, k, n]).mean()
                    for (i, j), (k, n) in zip(ends, starts, strict=True)
                ]
            )
            chance = abs(1 - u - z[r, c]) * abs(1 - v - z[s, d])
            total += stiffness * weights.data_smoothness * chance * apart
    return total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "weights", [WEIGHTS, PuzzleWeights(8.0, 1.0, 0.2), PuzzleWeights(0.0, 0.0, 2.0)]
)
def test_no_mask_has_less_energy_by_the_papers_objective(weights, seed):
    # Blocks of odd sides, so that colours are compared pixel by pixel.
    grid, share = 2, 0.35
    images, salience, partners = images_and_saliency(count=3, height=18, width=18, seed=seed)
    blocks = blockwise(salience, grid)
    masks = best_masks(images, blocks, partners, share, grid, weights)
    for n, partner in enumerate(partners.tolist()):
        arguments = (
            images[n].double().numpy(),
            images[partner].double().numpy(),
            blocks[n],
            blocks[partner],
        )
        lowest = min(
            energy_of_mask(np.reshape(z, (2, 2)), *arguments, share, grid, weights)
            for z in itertools.product((0, 0.5, 1), repeat=4)
        )
        found = energy_of_mask(masks[n], *arguments, share, grid, weights)
        assert found == pytest.approx(lowest, abs=1e-9)


@pytest.mark.parametrize("grid", GRIDS)
def test_masks_take_their_levels_and_swap_with_the_images(grid):
    images, salience, _ = images_and_saliency()
    partners = torch.arange(8).flip(0)
    blocks = blockwise(salience, grid)
    masks = best_masks(images, blocks, partners, 0.3, grid, WEIGHTS)
    assert set(np.unique(masks)) <= {0, 0.5, 1}
    swapped = best_masks(images, blocks, partners, 0.7, grid, WEIGHTS)
    np.testing.assert_array_equal(swapped[::-1], 1 - masks)


def test_a_strong_prior_gives_the_wanted_ratio_and_none_the_salient_blocks():
    images, salience, partners = images_and_saliency()
    blocks = blockwise(salience, 8)
    for share, level in ((0.05, 0), (0.5, 0.5), (0.95, 1)):
        masks = best_masks(images, blocks, partners, share, 8, PuzzleWeights(prior=100))
        assert (masks == level).all()
    free = best_masks(images, blocks, partners, 0.5, 8, PuzzleWeights(0.0, 0.0, 0.0))
    clear = blocks != blocks[partners.numpy()]
    np.testing.assert_array_equal(free[clear], (blocks > blocks[partners.numpy()])[clear])


@pytest.mark.parametrize("grid", GRIDS)
def test_the_ratio_follows_the_share(grid):
    images, salience, partners = images_and_saliency(count=48)
    # What a network looks at is one region of an image, not all of it.
    rows, columns = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
    centres = 32 * torch.rand(2, 48, 1, 1, generator=torch.Generator().manual_seed(0))
    squares = (rows - centres[0]).square() + (columns - centres[1]).square()
    salience = (-squares / (2 * 6**2)).exp() * salience**0.25 + 0.05
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    means = [mix(images, salience, partners, s, grid, WEIGHTS)[1].mean().item() for s in shares]
    np.testing.assert_allclose(means, shares, atol=0.1)
    assert means[2] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_movement_is_better(seed):
    random = np.random.default_rng(seed)
    salience = random.dirichlet(np.full(4, 0.5), size=1)
    masks = random.choice([0, 0.5, 1], size=(1, 4))
    (found,) = best_places(salience, masks, 2, 0.3)

    def cost(sources):
        ways = [
            (place // 2 - block // 2) ** 2 + (place % 2 - block % 2) ** 2
            for place, block in enumerate(sources)
        ]
        return 0.3 * sum(ways) - (masks[0] * salience[0, list(sources)]).sum()

    assert cost(found) == pytest.approx(min(map(cost, itertools.permutations(range(4)))))


def test_blocks_stay_where_moving_gains_nothing_or_costs_too_much():
    random = np.random.default_rng(0)
    salience = random.dirichlet(np.ones(16), size=3)
    stay = np.tile(np.arange(16), (3, 1))
    np.testing.assert_array_equal(best_places(salience, np.ones((3, 16)), 4, 0.8), stay)
    masks = random.choice([0.0, 1.0], size=(3, 16))
    np.testing.assert_array_equal(best_places(salience, masks, 4, 1e3), stay)
    assert (best_places(salience, masks, 4, 1e-3) != stay).any()


def test_what_is_moved_is_whole_blocks():
    images, salience, partners = images_and_saliency(count=6, height=16, width=32)
    free = PuzzleWeights(0.0, 0.0, 0.0, 1e-3)
    before = images.clone()
    mixed, ratios = mix(images, salience, partners, 0.5, 4, free)
    assert torch.equal(images, before)
    assert mixed.shape == images.shape

    def blocks(batch):
        return {
            tuple(batch[:, 4 * r : 4 * r + 4, 8 * c : 8 * c + 8].flatten().tolist())
            for r in range(4)
            for c in range(4)
        }

    strangers = 0
    for n, partner in enumerate(partners.tolist()):
        own, other, found = blocks(images[n]), blocks(images[partner]), blocks(mixed[n])
        assert found <= own | other
        if partner != n:
            assert len(found & own) / 16 == pytest.approx(ratios[n].item())
            strangers += 1
    assert strangers > 0


def test_a_twin_without_movement_changes_nothing():
    images, salience, _ = images_and_saliency(count=4)
    mixed, ratios = mix(images, salience, torch.arange(4), 0.3, 4, PuzzleWeights(transport=1e3))
    torch.testing.assert_close(mixed, images)
    assert ((ratios >= 0) & (ratios <= 1)).all()


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_flat_images_without_saliency_are_mixed_too(level):
    images = torch.full((3, 3, 16, 16), level)
    mixed, ratios = mix(images, torch.zeros(3, 16, 16), torch.tensor([1, 2, 0]), 0.5, 8, WEIGHTS)
    assert torch.equal(mixed, images)
    assert torch.isfinite(ratios).all()


def test_one_image_alone_and_sides_of_any_even_length():
    images, salience, partners = images_and_saliency(count=1, height=18, width=40)
    mixed, _ = mix(images, salience, partners, 0.5, 2, WEIGHTS)
    torch.testing.assert_close(mixed.sum(), images.sum(), rtol=0.5, atol=0)
    random = np.random.default_rng(0)
    odd = ImageSet(random.integers(0, 255, (8, 17, 16, 3), dtype=np.uint8), np.arange(8) % 3)
    with pytest.raises(InputError, match="one side of 17x16 pixels is odd"):
        train_puzzlemix(untrained(), odd, QUICK)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, "alpha above 0"),
        ({"prior": -1.0}, "at least 0"),
        ({"transport": math.nan}, "at least 0"),
        ({"data_smoothness": 1.5}, r"data_smoothness must lie in \[0, 1\]"),
    ],
)
def test_settings_out_of_range_are_refused(standard, arguments, message):
    with pytest.raises(InputError, match=message):
        train_puzzlemix(standard[0], tinted(), QUICK, **arguments)
