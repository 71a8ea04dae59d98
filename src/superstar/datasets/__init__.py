"""Kedro datasets of the project: what the catalog's `type` names."""

from superstar.datasets.checkpoints import CheckpointDataset
from superstar.datasets.corruption_arrays import CorruptionArrays, CorruptionArraysDataset
from superstar.datasets.downloads import (
    ClassFoldersDataset,
    DownloadedArraysDataset,
    DownloadedFoldersDataset,
    PublishedSetsDataset,
)
from superstar.datasets.image_folders import (
    ImageFiles,
    ImageFolders,
    ImageFoldersDataset,
    list_images,
    read_wnids,
)
from superstar.datasets.image_sets import SEVERITIES, ImageSetDataset, PartitionedImageSets
from superstar.datasets.labelled_images import LabelledImages, LabelledImagesDataset
from superstar.datasets.mnist import MnistDataset
from superstar.datasets.models import (
    ActorDataset,
    ActorsDataset,
    ClassifierDataset,
    ClassifiersDataset,
    CriticDataset,
    DenoiserDataset,
    PointsDataset,
    SupervisorDataset,
    TransferredPoliciesDataset,
    TreeDataset,
)
from superstar.datasets.raw import RawDataset, ReferenceTableDataset
from superstar.datasets.stage_times import StageTimesDataset
from superstar.datasets.tables import (
    CSVDataset,
    CurvesDataset,
    FigureDataset,
    JSONDataset,
    MetricsDataset,
    ParquetDataset,
    SweepDataset,
    TextDataset,
)

__all__ = [
    "SEVERITIES",
    "ActorDataset",
    "ActorsDataset",
    "CSVDataset",
    "CheckpointDataset",
    "ClassFoldersDataset",
    "ClassifierDataset",
    "ClassifiersDataset",
    "CorruptionArrays",
    "CorruptionArraysDataset",
    "CriticDataset",
    "CurvesDataset",
    "DenoiserDataset",
    "DownloadedArraysDataset",
    "DownloadedFoldersDataset",
    "FigureDataset",
    "ImageFiles",
    "ImageFolders",
    "ImageFoldersDataset",
    "ImageSetDataset",
    "JSONDataset",
    "LabelledImages",
    "LabelledImagesDataset",
    "MetricsDataset",
    "MnistDataset",
    "ParquetDataset",
    "PartitionedImageSets",
    "PointsDataset",
    "PublishedSetsDataset",
    "RawDataset",
    "ReferenceTableDataset",
    "StageTimesDataset",
    "SupervisorDataset",
    "SweepDataset",
    "TextDataset",
    "TransferredPoliciesDataset",
    "TreeDataset",
    "list_images",
    "read_wnids",
]
