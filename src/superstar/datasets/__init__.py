"""Kedro datasets of the project: what the catalog's `type` names."""

from superstar.datasets.image_sets import (
    SEVERITIES,
    CorruptionArrays,
    CorruptionArraysDataset,
    ImageSetDataset,
    PartitionedImageSets,
)
from superstar.datasets.mnist import MnistDataset
from superstar.datasets.models import (
    ActorDataset,
    ClassifierDataset,
    CriticDataset,
    DenoiserDataset,
    PointsDataset,
    SupervisorDataset,
    TreeDataset,
)
from superstar.datasets.tables import (
    CSVDataset,
    CurvesDataset,
    FigureDataset,
    JSONDataset,
    MetricsDataset,
    ParquetDataset,
    TextDataset,
)

__all__ = [
    "SEVERITIES",
    "ActorDataset",
    "CSVDataset",
    "ClassifierDataset",
    "CorruptionArrays",
    "CorruptionArraysDataset",
    "CriticDataset",
    "CurvesDataset",
    "DenoiserDataset",
    "FigureDataset",
    "ImageSetDataset",
    "JSONDataset",
    "MetricsDataset",
    "MnistDataset",
    "ParquetDataset",
    "PartitionedImageSets",
    "PointsDataset",
    "SupervisorDataset",
    "TextDataset",
    "TreeDataset",
]
