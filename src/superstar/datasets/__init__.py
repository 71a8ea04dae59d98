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
from superstar.datasets.image_sets import (
    SEVERITIES,
    ImageSetDataset,
    PartitionedImageSets,
    ShiftedSets,
)
from superstar.datasets.image_source import (
    DenoiserImages,
    DenoiserImagesDataset,
    ImageFilesDataset,
    LabelledFiles,
    LabelledFilesDataset,
)
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
from superstar.datasets.released_labels import ReleasedLabelsDataset
from superstar.datasets.shifted_folders import (
    FolderBenchmark,
    PublishedFoldersDataset,
    ShiftedFolders,
    ShiftedFoldersDataset,
    same_images,
)
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
    "DenoiserImages",
    "DenoiserImagesDataset",
    "DownloadedArraysDataset",
    "DownloadedFoldersDataset",
    "FigureDataset",
    "FolderBenchmark",
    "ImageFiles",
    "ImageFilesDataset",
    "ImageFolders",
    "ImageFoldersDataset",
    "ImageSetDataset",
    "JSONDataset",
    "LabelledFiles",
    "LabelledFilesDataset",
    "LabelledImages",
    "LabelledImagesDataset",
    "MetricsDataset",
    "MnistDataset",
    "ParquetDataset",
    "PartitionedImageSets",
    "PointsDataset",
    "PublishedFoldersDataset",
    "PublishedSetsDataset",
    "RawDataset",
    "ReferenceTableDataset",
    "ReleasedLabelsDataset",
    "ShiftedFolders",
    "ShiftedFoldersDataset",
    "ShiftedSets",
    "StageTimesDataset",
    "SupervisorDataset",
    "SweepDataset",
    "TextDataset",
    "TransferredPoliciesDataset",
    "TreeDataset",
    "list_images",
    "read_wnids",
    "same_images",
]
