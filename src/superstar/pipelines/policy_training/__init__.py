"""Pipeline `policy_training`."""

from superstar.pipelines.policy_training.pipeline import create_pipeline

__all__ = ["create_pipeline"]
