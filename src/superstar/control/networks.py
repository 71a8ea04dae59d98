"""The policy and value networks, policies made of them, and their files (paper, appendix E)."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from superstar.actions import ACTIONS
from superstar.errors import InputError
from superstar.published import read_weights
from superstar.training import fixed_threads
from superstar.weights import load_weights, save_weights

ACTOR, CRITIC = "actor", "critic"
N_FEATURES = 3
HIDDEN = (128, 256)
THREADS = 1
"""More cost more than they save on networks this small, and change the sums."""
OURS = ".safetensors"
"""Ending of the files that this package writes; others are read as the authors' released ones."""

Policy = Callable[[NDArray[np.float32], np.random.Generator], int]
"""A policy π: (state float32 (3,), random stream) → index of an action."""


class _Perceptron(nn.Module):
    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(n_inputs, HIDDEN[0])
        self.linear2 = nn.Linear(HIDDEN[0], HIDDEN[1])
        self.linear3 = nn.Linear(HIDDEN[1], n_outputs)

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        hidden = functional.relu(self.linear1(states))
        return self.linear3(functional.relu(self.linear2(hidden)))


Network = TypeVar("Network", bound=_Perceptron)


class Actor(_Perceptron):
    """The policy network: 3 raw state features → 128 → 256 → logits of the actions, ReLU.

    The softmax is not part of it. The names of the layers are those of the released weights.

    Args:
        n_actions: size of the action space, at least 1.
    """

    def __init__(self, n_actions: int) -> None:
        super().__init__(N_FEATURES, n_actions)

    @property
    def n_actions(self) -> int:
        """Size of the action space."""
        return self.linear3.out_features

    @torch.no_grad()
    def probabilities(self, states: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probabilities of the actions, float64 (..., n_actions) of sum 1, in states (..., 3).

        Computed in float64, so that a state alone and one of many get the same to some 1e-16.

        Raises:
            InputError: the weights have grown beyond all numbers.
        """
        device = self.linear1.weight.device
        with fixed_threads(THREADS):
            hidden = torch.as_tensor(states, dtype=torch.float64, device=device)
            for layer in (self.linear1, self.linear2):
                hidden = functional.relu(_in_float64(layer, hidden))
            logits = _in_float64(self.linear3, hidden)
        chances = torch.softmax(logits, dim=-1).cpu().numpy()
        if not np.isfinite(chances).all():
            raise InputError(
                "the policy's probabilities are not numbers: its training has diverged; lower "
                "learning_rate or reward_scale"
            )
        return chances


class Critic(_Perceptron):
    """The value network: 3 raw state features → 128 → 256 → expected (scaled) return, ReLU."""

    def __init__(self) -> None:
        super().__init__(N_FEATURES, 1)

    def forward(self, states: Tensor) -> Tensor:
        """Map states (T, 3) to values (T,)."""
        return super().forward(states).squeeze(-1)


class SampledPolicy:
    """The policy that draws its action from the actor's probabilities.

    Args:
        actor: the policy network.
    """

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def __call__(self, state: NDArray[np.float32], rng: np.random.Generator) -> int:
        """The action in a state (3,)."""
        return self.choose(state[None], [rng])[0]

    def choose(
        self, states: NDArray[np.float32], streams: Sequence[np.random.Generator]
    ) -> list[int]:
        """The actions in states (B, 3), each from a stream of its own: one pass of the network."""
        return [
            int(stream.choice(self.actor.n_actions, p=probabilities))
            for probabilities, stream in zip(self.actor.probabilities(states), streams, strict=True)
        ]


def uniform(n_actions: int) -> Policy:
    """The policy that draws any action alike: the floor that a learned policy must beat."""
    return lambda state, rng: int(rng.integers(n_actions))


def always(action: int) -> Policy:
    """The policy that takes one action whatever it sees."""
    return lambda state, rng: action


def _in_float64(layer: nn.Linear, inputs: Tensor) -> Tensor:
    return functional.linear(inputs, layer.weight.double(), layer.bias.double())


def save_actor(actor: Actor, path: str | PathLike[str], actions: Sequence[str]) -> None:
    """Write the actor as safetensors (`linear1.weight`, ...), names of its actions as metadata.

    Raises:
        InputError: another number of names than actions.
    """
    if len(actions) != actor.n_actions:
        raise InputError(f"{len(actions)} action names for an actor of {actor.n_actions} actions")
    save_weights(actor, path, ACTOR, {"actions": list(actions)})


def load_actor(path: str | PathLike[str]) -> tuple[Actor, tuple[str, ...]]:
    """Read an actor, in eval mode, and the names of its actions.

    What ends in .safetensors `save_actor` wrote. Any other file is a state dict of torch.save, as
    the paper's authors release theirs (`actor_network.pth.tar`), for the whole action library.

    Raises:
        InputError: no such file, damaged, or neither an actor of this package nor a released one.
    """
    if Path(path).suffix != OURS:
        return _load_released(path, ACTOR, lambda: Actor(len(ACTIONS))), ACTIONS
    actor, spec = load_weights(path, ACTOR, lambda spec: Actor(len(spec["actions"])))
    return actor, tuple(str(name) for name in spec["actions"])


def save_critic(critic: Critic, path: str | PathLike[str]) -> None:
    """Write the critic as safetensors."""
    save_weights(critic, path, CRITIC, {})


def load_critic(path: str | PathLike[str]) -> Critic:
    """Read a critic, in eval mode: what `save_critic` wrote, or a released one, as `load_actor`.

    Raises:
        InputError: no such file, damaged, or neither a critic of this package nor a released one.
    """
    if Path(path).suffix != OURS:
        return _load_released(path, CRITIC, Critic)
    return load_weights(path, CRITIC, lambda _: Critic())[0]


def _load_released(path: str | PathLike[str], kind: str, build: Callable[[], Network]) -> Network:
    weights = read_weights(path)
    with torch.device("meta"):
        network = build()
    found, wanted = (
        {name: tuple(tensor.shape) for name, tensor in state.items()}
        for state in (weights, network.state_dict())
    )
    for name in wanted | found:
        if found.get(name) != wanted.get(name):
            raise InputError(
                f"{path} is no {kind} as the paper's authors release it: {name} is "
                f"{found.get(name, 'missing')} instead of {wanted.get(name, 'missing')}"
            )
    network.load_state_dict({n: tensor.float() for n, tensor in weights.items()}, assign=True)
    return network.eval().requires_grad_(False)
