"""The action library by name, in the order of the actor's outputs (paper, appendix E)."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from superstar.actions.bilateral import bilateral
from superstar.actions.clahe import clahe
from superstar.actions.denoiser import Denoiser, denoise
from superstar.actions.fitted import FITTED
from superstar.actions.wavelets import wavelet_bayes, wavelet_visu
from superstar.errors import InputError, unknown_name
from superstar.images import check_images

_WITHOUT_MODEL: dict[str, Callable[[Tensor], Tensor]] = {
    "bilateral": bilateral,
    "wavelet_bayes": wavelet_bayes,
    "wavelet_visu": wavelet_visu,
    "clahe_2_1": partial(clahe, grid=2, clip_limit=1),
    "clahe_2_2": partial(clahe, grid=2, clip_limit=2),
    "clahe_6_1": partial(clahe, grid=6, clip_limit=1),
}

ACTIONS = ("nop", "dncnn", *_WITHOUT_MODEL)
"""Names of the actions, in the release's order, which is that of the actor's outputs."""

EXTENDED = (*FITTED, *ACTIONS[1:])
"""Names of the extended library: corrections that are fitted to a batch, and the paper's."""


def apply_action(images: Tensor, name: str, denoiser: Denoiser | None = None) -> Tensor:
    """Apply one action to a batch.

    Args:
        images: float32 (N, 3, H, W) in [0, 1]; left as they are.
        name: one of `ACTIONS`.
        denoiser: the network behind "dncnn", such as `packaged_denoiser()`; no other action needs
            it.

    Returns:
        New images of the same shape, in [0, 1], on the device of `images`.

    Raises:
        InputError: not a batch of images, an unknown name, or "dncnn" without a denoiser.
    """
    if name not in ACTIONS:
        raise unknown_name("action", name, ACTIONS)
    if name == "nop":
        pixels = check_images(images).detach().cpu().contiguous().numpy()
        return torch.from_numpy(pixels.copy()).to(images.device)
    if name == "dncnn":
        if denoiser is None:
            raise InputError("the action 'dncnn' needs a denoiser: packaged_denoiser(), say")
        return denoise(denoiser, images)
    return _WITHOUT_MODEL[name](images)
