"""Pipeline `corrupt`."""

from superstar.pipelines.corrupt.pipeline import create_pipeline

__all__ = ["create_pipeline"]
