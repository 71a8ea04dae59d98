"""Pipeline `ruler_study`."""

from superstar.pipelines.ruler_study.pipeline import create_pipeline

__all__ = ["create_pipeline"]
