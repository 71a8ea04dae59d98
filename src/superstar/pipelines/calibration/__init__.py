"""Pipeline `calibration`."""

from superstar.pipelines.calibration.pipeline import create_pipeline

__all__ = ["create_pipeline"]
