"""The supervisor as an MLflow model, which `mlflow models serve` serves."""

from superstar.service.model import SupervisorModel, log_supervisor

__all__ = ["SupervisorModel", "log_supervisor"]
