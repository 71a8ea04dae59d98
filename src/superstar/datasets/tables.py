"""Tables, texts, metrics and figures: kedro-datasets' own classes, written whole."""

import math
from typing import Any

import pandas as pd
from kedro_datasets._typing import HTMLPreview, ImagePreview, JSONPreview, TablePreview
from kedro_datasets.json import JSONDataset as _JSONDataset
from kedro_datasets.matplotlib import MatplotlibDataset as _MatplotlibDataset
from kedro_datasets.pandas import CSVDataset as _CSVDataset
from kedro_datasets.pandas import ParquetDataset as _ParquetDataset
from kedro_datasets.text import TextDataset as _TextDataset

from superstar.datasets import previews
from superstar.datasets.whole import Whole


class ParquetDataset(Whole, _ParquetDataset):
    """A table in parquet, whose cells may be lists."""

    @previews.if_made
    def preview(self) -> TablePreview:
        """The first rows."""
        return previews.table(self.load())


class CSVDataset(Whole, _CSVDataset):
    """A table in CSV."""

    @previews.if_made
    def preview(self) -> TablePreview:
        """The first rows."""
        return previews.table(self.load())


class TextDataset(Whole, _TextDataset):
    """A text: Markdown or LaTeX."""

    @previews.if_made
    def preview(self) -> HTMLPreview:
        """The text, typeset if it is Markdown."""
        return previews.markup(self.load(), markdown=self.location.suffix == ".md")


class JSONDataset(Whole, _JSONDataset):
    """A small structure in JSON."""

    @previews.if_made
    def preview(self) -> JSONPreview:
        """All of it."""
        return previews.structure(self.load())


class FigureDataset(Whole, _MatplotlibDataset):
    """A matplotlib figure as PNG (write only)."""

    artifacts = "figures"

    DEFAULT_SAVE_ARGS: dict[str, Any] = {"format": "png", "dpi": 120, "bbox_inches": "tight"}  # noqa: RUF012

    @previews.if_made
    def preview(self) -> ImagePreview:
        """The figure."""
        return super().preview()


UNGROUPED = ("delta.", "mean_delta.")
"""Metrics that MLflow shows before all groups of others."""


def metric_name(name: str) -> str:
    """A number's name in MLflow, which groups metrics by what stands before a slash.

    Its names have no "+", which joins the parts of a composite shift.
    """
    grouped = name if name.startswith(UNGROUPED) else name.replace(".", "/", 1)
    return grouped.replace("+", " and ")


class MetricsDataset(JSONDataset):
    """Named numbers in JSON; each becomes a metric of the MLflow run in progress.

    None stands for a metric that is not defined (and is not logged).
    """

    artifacts = "metrics"

    def save(self, data: dict[str, float | None]) -> None:
        """Write the file, then log every number."""
        super().save(data)
        import mlflow

        if mlflow.active_run() is not None:
            mlflow.log_metrics(
                {
                    metric_name(name): value
                    for name, value in data.items()
                    if value is not None and math.isfinite(value)
                }
            )


class CurvesDataset(ParquetDataset):
    """A training curve: one row a step, one column a quantity, in parquet.

    The index column is the first; the others become metric histories `<prefix>/<column>` of the
    MLflow run in progress, sent in batches (one call a point would cost minutes).
    """

    def __init__(self, *, prefix: str, filepath: str, metadata: dict[str, Any] | None = None):
        super().__init__(filepath=filepath, metadata=metadata)
        self._prefix = prefix

    def save(self, data: pd.DataFrame) -> None:
        """Write the file, then log the histories."""
        super().save(data)
        import mlflow
        from mlflow.entities import Metric

        run = mlflow.active_run()
        if run is None:
            return
        numbers = data.select_dtypes("number")
        steps = numbers.iloc[:, 0].astype(int)
        points = [
            Metric(f"{self._prefix}/{column}", float(value), 0, int(step))
            for column in numbers.columns[1:]
            for step, value in zip(steps, numbers[column], strict=True)
            if math.isfinite(value)
        ]
        client = mlflow.MlflowClient()
        for start in range(0, len(points), 1000):
            client.log_batch(run.info.run_id, metrics=points[start : start + 1000])


class SweepDataset(CSVDataset):
    """A sweep: one row a point, in CSV.

    Each row becomes a run of its own, nested in the MLflow run in progress, so that MLflow's
    views compare them.

    Args:
        filepath: the file.
        name: the column that names the runs.
        parameters: the columns that become their parameters; all other numbers become metrics.
        metadata: for Kedro's plugins.
    """

    def __init__(
        self,
        *,
        filepath: str,
        name: str,
        parameters: list[str],
        metadata: dict[str, Any] | None = None,
    ):
        super().__init__(filepath=filepath, save_args={"index": False}, metadata=metadata)
        self._name = name
        self._parameters = parameters

    def save(self, data: pd.DataFrame) -> None:
        """Write the file, then log every row."""
        super().save(data)
        import mlflow

        run = mlflow.active_run()
        if run is None:
            return
        measures = data.select_dtypes("number").columns.difference(self._parameters)
        for row in data.to_dict("records"):
            with mlflow.start_run(
                experiment_id=run.info.experiment_id, run_name=str(row[self._name]), nested=True
            ):
                mlflow.log_params({name: row[name] for name in self._parameters})
                mlflow.log_metrics(
                    {name: row[name] for name in measures if math.isfinite(row[name])}
                )
