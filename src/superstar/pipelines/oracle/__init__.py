"""Pipeline `oracle`."""

from superstar.pipelines.oracle.pipeline import create_pipeline

__all__ = ["create_pipeline"]
