"""The best that any policy could do: a search over sequences of corrections.

Sequences are looked through exhaustively up to a depth, and from there on along a beam.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf

from superstar.control.algorithm import Brakes
from superstar.control.env import ShiftEnv
from superstar.control.transitions import Prefix, Transitions
from superstar.errors import InputError
from superstar.integers import whole

Score = Callable[[Prefix], float]
"""How good the images after a prefix of actions are: the higher, the better."""


def best_sequence(
    transitions: Transitions,
    batch: int,
    score: Score,
    *,
    brakes: Brakes,
    exhaustive: int = 2,
    width: int = 8,
    known: Iterable[Prefix] = (),
) -> Prefix:
    """The sequence with the highest score among those that the brakes allow.

    A policy may end its sequence whenever it likes, by `nop`. So a sequence is allowed if each of
    its actions is: the tree calls the images before it operable, it passes β, and α has not been
    reached before it.

    Args:
        transitions: of the batches.
        batch: index of the batch.
        score: of a prefix; () is the batch as it is.
        brakes: what stops a policy; its horizon is the greatest length of a sequence.
        exhaustive: length up to which all sequences are looked at, at least 1.
        width: of the beam beyond that, at least 1.
        known: other sequences to consider, such as those of policies, which the beam may have
            missed. They must be allowed.

    Returns:
        Its actions as indices; empty if no sequence beats the images as they are. Of equally good
        ones the shortest, and of these the first in the order of the actions.

    Raises:
        InputError: a depth or width below 1.
    """
    exhaustive, width = whole(exhaustive, "the exhaustive depth", 1), whole(width, "the width", 1)
    first = transitions.distance_at(batch)
    scores: dict[Prefix, float] = {(): score(())}
    frontier: list[Prefix] = [()] if _may_go_on(transitions, batch, (), brakes, first) else []
    for depth in range(1, brakes.horizon + 1):
        reached = [
            longer for prefix in frontier for longer in _allowed(transitions, batch, prefix, brakes)
        ]
        scores |= {prefix: score(prefix) for prefix in reached}
        if depth == brakes.horizon:
            break
        frontier = [p for p in reached if _may_go_on(transitions, batch, p, brakes, first)]
        if depth >= exhaustive:
            frontier = sorted(frontier, key=lambda prefix: -scores[prefix])[:width]
    scores |= {prefix: score(prefix) for prefix in map(tuple, known) if prefix not in scores}
    return min(scores, key=lambda prefix: (-scores[prefix], len(prefix), prefix))


def best_return(
    env: ShiftEnv,
    batch: int,
    *,
    discount: float,
    exhaustive: int = 2,
    width: int = 8,
    known: Iterable[Sequence[int]] = (),
) -> float:
    """The highest discounted return of an episode that starts from a batch.

    The search is that of `best_sequence`, the beam chosen by the return so far.

    Args:
        env: the environment; its episodes are left alone.
        batch: index of the batch.
        discount: γ, in [0, 1].
        exhaustive: length up to which all sequences are looked at, at least 1.
        width: of the beam beyond that, at least 1.
        known: other sequences of actions to consider, whole episodes; what ends before its episode
            counts for nothing.

    Raises:
        InputError: a depth or width below 1, or a discount outside [0, 1].
    """
    exhaustive, width = whole(exhaustive, "the exhaustive depth", 1), whole(width, "the width", 1)
    if not 0 <= discount <= 1:
        raise InputError(f"the discount must lie in [0, 1], not {discount}")
    view = env.view()
    n_actions = len(env.actions)
    played = [return_of(view, batch, path, discount) for path in known]
    best = max((value for value, ended in played if ended), default=-inf)
    frontier: list[tuple[int, ...]] = [()]
    for depth in range(1, env.horizon + 1):
        running: dict[tuple[int, ...], float] = {}
        for path in frontier:
            for action in range(n_actions):
                value, ended = return_of(view, batch, (*path, action), discount)
                if ended:
                    best = max(best, value)
                else:
                    running[*path, action] = value
        frontier = list(running)
        if depth >= exhaustive:
            frontier = sorted(running, key=lambda path: -running[path])[:width]
    return best


def return_of(
    env: ShiftEnv, batch: int, actions: Iterable[int], discount: float
) -> tuple[float, bool]:
    """The discounted return of actions taken from a batch, and whether the episode ended."""
    env.reset(options={"batch": batch})
    total, weight, ended = 0.0, 1.0, False
    for action in actions:
        if ended:
            break
        _, reward, terminated, truncated, _ = env.step(action)
        total += weight * reward
        weight *= discount
        ended = terminated or truncated
    return total, ended


def _may_go_on(
    transitions: Transitions, batch: int, prefix: Prefix, brakes: Brakes, first: float
) -> bool:
    """Whether the brakes let a policy act after a prefix, `first` being the first distance."""
    # Nothing is measured that no brake asks for.
    braked = brakes.alpha is not None and bool(prefix)
    if braked and brakes.arrived(first, transitions.distance_at(batch, prefix)):
        return False
    return brakes.tree is None or brakes.operable(transitions.state(batch, prefix))


def _allowed(
    transitions: Transitions, batch: int, prefix: Prefix, brakes: Brakes
) -> Iterable[Prefix]:
    for action, name in enumerate(transitions.actions):
        if name == "nop":
            continue
        longer = (*prefix, action)
        if brakes.beta is None or brakes.progress(
            transitions.distance_at(batch, prefix), transitions.distance_at(batch, longer)
        ):
            yield longer
