"""What MLflow runs to make the model of a supervisor: code, no pickle."""

from mlflow.models import set_model

from superstar.service import SupervisorModel

set_model(SupervisorModel())
