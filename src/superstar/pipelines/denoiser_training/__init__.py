"""Pipeline `denoiser_training`."""

from superstar.pipelines.denoiser_training.pipeline import create_pipeline

__all__ = ["create_pipeline"]
