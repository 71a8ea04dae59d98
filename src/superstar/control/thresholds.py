"""β from clean images: how far the distance falls when there is nothing to correct."""

from collections.abc import Callable, Sequence

import pandas as pd
import torch
from torch import Tensor

from superstar.actions import ACTIONS, Denoiser, apply_action
from superstar.control.transitions import Embedding, check_actions
from superstar.errors import InputError
from superstar.images import check_images, stream
from superstar.integers import whole


def choose_beta(ratios: pd.DataFrame, margin: float) -> float:
    """The β that no action passes on clean images.

    Two clean samples are not at distance 0, and whatever takes variance away brings them nearer,
    so with β near 1 Algorithm 1 would smooth images that need nothing. β is the smallest ratio
    w_1 / w_0 that any action reaches on draws of clean images, less `margin` standard deviations
    of that action's ratios, and at most 1. A second action comes only after a first has passed,
    so first actions suffice.

    Args:
        ratios: of `clean_ratios`.
        margin: in standard deviations, at least 0.

    Raises:
        InputError: a negative margin, or ratios so different that no β in (0, 1] keeps it.
    """
    if not margin >= 0:
        raise InputError(f"the margin must be at least 0, not {margin}")
    by_action = ratios.groupby("action")["ratio"].agg(["min", "std"])
    strongest = by_action.iloc[int(by_action["min"].to_numpy().argmin())]
    lowest, deviation = float(strongest["min"]), float(strongest["std"])
    beta = min(1.0, lowest) - margin * deviation
    if not beta > 0:
        raise InputError(
            f"no beta in (0, 1] keeps a margin of {margin:g}: {strongest.name} takes clean images "
            f"to {lowest:.3g} of their distance, with a standard deviation of {deviation:.3g}"
        )
    return beta


def clean_ratios(
    clean: Tensor,
    projection: Embedding,
    distance: Callable[[Tensor], float],
    *,
    batch_size: int,
    draws: int,
    actions: Sequence[str] = ACTIONS,
    denoiser: Denoiser | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """What each action alone does to the distance of clean images.

    Args:
        clean: clean validation images other than those that `distance` compares with, float32
            (N, 3, H, W) in [0, 1]. No test image and no shift takes part.
        projection: from images to points (N, m).
        distance: from the projected validation set to such points, the one that Algorithm 1 will
            use: β belongs to it.
        batch_size: images a draw, as many as at run time; at most N.
        draws: at least 2.
        actions: names; `nop`, which changes nothing, is passed over.
        denoiser: for `dncnn`.
        seed: of the draws.

    Returns:
        One row a draw and action: `draw`, `action`, `ratio` of the distance after the action to
        that before.

    Raises:
        InputError: not a batch of images, an argument outside its range, an unknown action, or
            images at distance 0.
    """
    check_images(clean, "clean images")
    check_actions(actions, denoiser)
    names = [name for name in actions if name != "nop"]
    if not names:
        raise InputError("calibrating beta needs an action other than 'nop'")
    batch_size = whole(batch_size, "the number of clean images a draw", 1, len(clean))
    draws = whole(draws, "the number of draws", 2)

    # Actions and projection treat each image alone: once for all draws.
    before_points = _points(clean, "nop", projection, batch_size, denoiser)
    after_points = {name: _points(clean, name, projection, batch_size, denoiser) for name in names}
    rows = []
    for draw in range(draws):
        order = stream(seed, "calibrate_beta", draw).permutation(len(clean))
        chosen = torch.from_numpy(order[:batch_size])
        before = distance(before_points[chosen])
        if not before > 0:
            raise InputError(
                "clean images are at distance 0 from the validation set: take other images"
            )
        for name in names:
            after = distance(after_points[name][chosen])
            rows.append({"draw": draw, "action": name, "ratio": after / before})
    return pd.DataFrame(rows)


def _points(
    images: Tensor, action: str, projection: Embedding, chunk: int, denoiser: Denoiser | None
) -> Tensor:
    """The points (N, m) of the images after an action, a chunk of them in memory at a time."""
    parts = images.split(chunk)
    return torch.cat([projection(apply_action(part, action, denoiser=denoiser)) for part in parts])
