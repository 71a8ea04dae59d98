import torch
from torch import nn

from superstar.muon import UPDATE_RMS, Muon, orthogonal
from superstar.training import global_seed


def test_singular_values_come_near_one():
    matrix = torch.randn(24, 90, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonal(matrix))
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_all_but_square_kernels_are_adamws():
    def step(kind, size):
        with global_seed(0):
            layer = nn.Conv2d(size, 8, 3)
            optimizer = kind(layer.parameters(), lr=1e-2, weight_decay=0.1)
            before = layer.weight.detach().clone()
            layer(torch.rand(2, size, 8, 8)).square().mean().backward()
        optimizer.step()
        return layer.weight.detach() - 0.999 * before, layer.bias

    assert all(map(torch.equal, step(Muon, 4), step(torch.optim.AdamW, 4)))
    change, bias = step(Muon, 8)
    assert torch.equal(bias, step(torch.optim.AdamW, 8)[1])
    assert 0.5 < change.square().mean().sqrt() / (1e-2 * UPDATE_RMS) < 1.5
