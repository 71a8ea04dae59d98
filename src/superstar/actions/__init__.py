"""What we can do about a shift: the action library and its denoiser."""

from superstar.actions.denoiser import (
    Denoiser,
    denoise,
    load_denoiser,
    packaged_denoiser,
    read_denoiser,
    save_denoiser,
)
from superstar.actions.dncnn import DnCNN
from superstar.actions.library import ACTIONS, apply_action
from superstar.actions.published import load_published_denoiser
from superstar.actions.unet import UNet

__all__ = [
    "ACTIONS",
    "Denoiser",
    "DnCNN",
    "UNet",
    "apply_action",
    "denoise",
    "load_denoiser",
    "load_published_denoiser",
    "packaged_denoiser",
    "read_denoiser",
    "save_denoiser",
]
