"""The denoiser: the package's, a file's, or trained on clean images."""

import logging
from collections.abc import Callable
from typing import Any

import pandas as pd

from superstar.actions import Denoiser
from superstar.actions.denoiser_training import DenoiserSchedule, psnr_gains, train_denoiser
from superstar.datasets import DenoiserImages
from superstar.images import ImageSet
from superstar.parameters import DenoiserTraining, Execution
from superstar.pipelines.denoiser_training.blind import held_out, train_on
from superstar.pipelines.pretrained import pretrained_denoiser

logger = logging.getLogger(__name__)

Source = ImageSet | Callable[[], DenoiserImages]
"""Clean images; or, in environment denoiser, what lists and reads them."""


def train(
    images: Source,
    parameters: dict[str, Any],
    jpeg_quality: int | None,
    execution: dict[str, Any],
    seed: int,
) -> tuple[Denoiser, pd.DataFrame]:
    """The denoiser, and its loss by epoch; one that is not trained here has no losses."""
    given, run = DenoiserTraining.model_validate(parameters), Execution.model_validate(execution)
    losses: list[float] = []
    denoiser = pretrained_denoiser(given)
    if denoiser is not None:
        pass
    elif isinstance(images, ImageSet):
        schedule = DenoiserSchedule(
            **given.schedule,
            jpeg_quality=jpeg_quality,
            seed=seed,
            threads=run.threads,
            device=run.device,
        )
        denoiser, losses = train_denoiser(images, schedule, **given.shape)
    else:
        assert given.blind is not None
        denoiser, losses = train_on(images, given.blind, run, seed)
    curve = pd.DataFrame({"epoch": range(1, len(losses) + 1), "loss": losses})
    return denoiser, curve.astype({"loss": float})


def assess(
    denoiser: Denoiser,
    validation: Source,
    parameters: dict[str, Any],
    jpeg_quality: int | None,
    seed: int,
) -> dict[str, float]:
    """Gain in PSNR (dB) on clean validation images with added noise, for each sigma (of 255)."""
    given = DenoiserTraining.model_validate(parameters)
    if not isinstance(validation, ImageSet):
        assert given.blind is not None
        validation = held_out(validation, given.blind, seed)
    images = validation.take(slice(0, given.assessed_images)).batch()
    gains = psnr_gains(
        denoiser, images, sigmas=given.assessed_sigmas, seed=seed, jpeg_quality=jpeg_quality
    )
    advice = "train one on the run's own images (denoiser_training.source=train)"
    if given.trained:
        advice = "train it longer (denoiser_training.epochs), or on more images"
    for sigma, gain in gains.items():
        if gain < 0:
            logger.warning(
                "the denoiser makes noise of sigma %g worse, by %.1f dB: %s", sigma, -gain, advice
            )
    return {f"psnr_gain_db.sigma_{sigma:g}": gain for sigma, gain in gains.items()}
