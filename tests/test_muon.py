import torch
from torch import nn

from superstar.muon import UPDATE_RMS, Muon, orthogonal
from superstar.training import global_seed


def test_singular_values_come_near_one():
    matrix = torch.randn(24, 90, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonal(matrix))
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_matrices_with_more_rows_than_columns_are_turned():
    matrix = torch.randn(90, 24, generator=torch.Generator().manual_seed(0))
    assert torch.equal(orthogonal(matrix), orthogonal(matrix.T).T)


def test_kernels_move_as_far_as_with_adamw_and_biases_as_adamws():
    def step(kind):
        with global_seed(0):
            layer = nn.Conv2d(4, 8, 3)
            optimizer = kind(layer.parameters(), lr=1e-2, weight_decay=0.0)
            before = layer.weight.detach().clone()
            layer(torch.rand(2, 4, 8, 8)).square().mean().backward()
        optimizer.step()
        return layer.weight.detach() - before, layer.bias

    change, bias = step(Muon)
    assert torch.equal(bias, step(torch.optim.AdamW)[1])
    assert 0.5 < change.square().mean().sqrt() / (1e-2 * UPDATE_RMS) < 1.5
