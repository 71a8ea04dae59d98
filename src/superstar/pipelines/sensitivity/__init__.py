"""Pipeline `sensitivity`."""

from superstar.pipelines.sensitivity.pipeline import create_pipeline

__all__ = ["create_pipeline"]
