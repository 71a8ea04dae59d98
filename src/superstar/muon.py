"""Muon: orthogonal updates of the kernels of convolutions, AdamW for all else.

K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024; updates as large
as AdamW's after J. Liu et al., "Muon is Scalable for LLM Training", 2025. PyTorch's own takes
matrices alone, not the kernels of convolutions.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

MOMENTUM = 0.95
UPDATE_RMS = 0.2
"""Root mean square of an update's elements at a learning rate of 1, about that of AdamW's."""

ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""The odd polynomial of fifth degree that drives all singular values towards 1."""


class Muon(torch.optim.AdamW):
    """AdamW in all but the kernels of convolutions."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step from the gradients; those of the kernels are used up."""
        for group in self.param_groups:
            for kernel in group["params"]:
                if kernel.grad is None or kernel.ndim != 4:
                    continue
                gradient, kernel.grad = kernel.grad, None
                state = self.state[kernel]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(kernel)
                    state["step"] = torch.zeros(())  # AdamW asks for it when it is loaded.
                state["momentum"].lerp_(gradient, 1 - MOMENTUM)
                # Channels last, as the loop of training has them: no copies are made.
                direction = gradient.lerp(state["momentum"], MOMENTUM).permute(0, 2, 3, 1)
                update = orthogonal(direction.flatten(1))
                scale = group["lr"] * UPDATE_RMS * max(update.shape) ** 0.5
                kernel.mul_(1 - group["lr"] * group["weight_decay"])
                kernel.permute(0, 2, 3, 1).sub_(update.view(direction.shape), alpha=scale)
        return super().step(closure)


def orthogonal(matrix: Tensor) -> Tensor:
    """About U Vᵀ of a matrix U S Vᵀ, by Newton-Schulz steps in bfloat16.

    Args:
        matrix: float32 (m, n).

    Returns:
        float32 (m, n), whose singular values lie around 1.
    """
    if len(matrix) > len(matrix.T):
        return orthogonal(matrix.T).T
    a, b, c = COEFFICIENTS
    powers = matrix.bfloat16()
    powers = powers / (powers.norm() + 1e-7)
    for _ in range(ITERATIONS):
        square = powers @ powers.T
        powers = a * powers + (b * square + c * square @ square) @ powers
    return powers.float()
