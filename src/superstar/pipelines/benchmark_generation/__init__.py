"""Pipeline `benchmark_generation`."""

from superstar.pipelines.benchmark_generation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
