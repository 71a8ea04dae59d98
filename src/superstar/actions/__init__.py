"""What we can do about a shift: the action library and its denoiser."""

from superstar.actions.dncnn import Denoiser, DnCNN, denoise, load_denoiser, save_denoiser
from superstar.actions.library import ACTIONS, apply_action
from superstar.actions.published import load_published_denoiser

__all__ = [
    "ACTIONS",
    "Denoiser",
    "DnCNN",
    "apply_action",
    "denoise",
    "load_denoiser",
    "load_published_denoiser",
    "save_denoiser",
]
