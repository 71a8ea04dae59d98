"""Pipeline `peers`."""

from superstar.pipelines.peers.pipeline import create_pipeline

__all__ = ["create_pipeline"]
