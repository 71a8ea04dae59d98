"""DnCNN, trained on clean images or taken as it was published."""

import logging
from typing import Any

import pandas as pd

from superstar.actions import DnCNN
from superstar.actions.denoiser_training import psnr_gains, train_denoiser
from superstar.images import ImageSet
from superstar.parameters import DenoiserTraining, Execution
from superstar.pipelines.pretrained import pretrained_denoiser

logger = logging.getLogger(__name__)


def train(
    images: ImageSet,
    parameters: dict[str, Any],
    jpeg_quality: int | None,
    execution: dict[str, Any],
    seed: int,
) -> tuple[DnCNN, pd.DataFrame]:
    """The denoiser, and its loss by epoch; a published one has no losses."""
    given, run = DenoiserTraining.model_validate(parameters), Execution.model_validate(execution)
    losses: list[float] = []
    denoiser = pretrained_denoiser(given)
    if denoiser is None:
        denoiser, losses = train_denoiser(
            images,
            **given.model_dump(exclude={"assessed_sigmas", "assessed_images", "published"}),
            jpeg_quality=jpeg_quality,
            seed=seed,
            threads=run.threads,
            device=run.device,
        )
    curve = pd.DataFrame({"epoch": range(1, len(losses) + 1), "loss": losses})
    return denoiser, curve.astype({"loss": float})


def assess(
    denoiser: DnCNN,
    validation: ImageSet,
    parameters: dict[str, Any],
    jpeg_quality: int | None,
    seed: int,
) -> dict[str, float]:
    """Gain in PSNR (dB) on clean validation images with added noise, for each sigma (of 255)."""
    given = DenoiserTraining.model_validate(parameters)
    images = validation.take(slice(0, given.assessed_images)).batch()
    gains = psnr_gains(
        denoiser, images, sigmas=given.assessed_sigmas, seed=seed, jpeg_quality=jpeg_quality
    )
    for sigma, gain in gains.items():
        if gain < 0:
            logger.warning(
                "the denoiser makes noise of sigma %g worse, by %.1f dB: train it longer "
                "(denoiser_training.epochs), or on more images",
                sigma,
                -gain,
            )
    return {f"psnr_gain_db.sigma_{sigma:g}": gain for sigma, gain in gains.items()}
