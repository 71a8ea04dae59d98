"""Pipeline `evaluation`."""

from superstar.pipelines.evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
