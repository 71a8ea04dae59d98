"""Pipeline `recover`."""

from superstar.pipelines.recover.pipeline import create_pipeline

__all__ = ["create_pipeline"]
