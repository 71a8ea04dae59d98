"""Pipeline `surrogate_generation`."""

from superstar.pipelines.surrogate_generation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
