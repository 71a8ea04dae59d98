"""What MLflow runs to make the model: code in place of a pickle."""

from mlflow.models import set_model

from superstar.service import Service

set_model(Service())
