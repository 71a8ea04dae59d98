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
from superstar.actions.library import ACTIONS, EXTENDED, apply_action
from superstar.actions.plan import Correction, Plan
from superstar.actions.published import load_published_denoiser
from superstar.actions.unet import UNet

__all__ = [
    "ACTIONS",
    "EXTENDED",
    "Correction",
    "Denoiser",
    "DnCNN",
    "Plan",
    "UNet",
    "apply_action",
    "denoise",
    "load_denoiser",
    "load_published_denoiser",
    "packaged_denoiser",
    "read_denoiser",
    "save_denoiser",
]
