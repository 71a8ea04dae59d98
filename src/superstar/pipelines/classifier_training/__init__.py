"""Pipeline `classifier_training`."""

from superstar.pipelines.classifier_training.pipeline import create_pipeline

__all__ = ["create_pipeline"]
