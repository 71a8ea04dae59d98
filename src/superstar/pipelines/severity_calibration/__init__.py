"""Pipeline `severity_calibration`."""

from superstar.pipelines.severity_calibration.pipeline import create_pipeline

__all__ = ["create_pipeline"]
