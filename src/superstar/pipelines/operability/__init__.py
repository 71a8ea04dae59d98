"""Pipeline `operability`."""

from superstar.pipelines.operability.pipeline import create_pipeline

__all__ = ["create_pipeline"]
