"""Pipeline `projection_study`."""

from superstar.pipelines.projection_study.pipeline import create_pipeline

__all__ = ["create_pipeline"]
