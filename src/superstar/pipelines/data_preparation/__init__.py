"""Pipeline `data_preparation`."""

from superstar.pipelines.data_preparation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
