"""Kedro datasets of the project: what the catalog's `type` names."""

from superstar.datasets.corruption_arrays import (
    CorruptionArrays,
    CorruptionArraysDataset,
    ExternalArraysDataset,
)
from superstar.datasets.denoiser_images import DenoiserImages, DenoiserImagesDataset
from superstar.datasets.external import ExternalDataset
from superstar.datasets.image_files import (
    ClassFoldersDataset,
    ImageFiles,
    ImageFilesDataset,
    LabelledFiles,
    LabelledFilesDataset,
    list_images,
    read_class_list,
)
from superstar.datasets.image_folders import (
    ExternalFoldersDataset,
    ImageFolders,
    ImageFoldersDataset,
)
from superstar.datasets.image_sets import (
    SEVERITIES,
    ImageSetDataset,
    PartitionedImageSets,
    ShiftedSets,
)
from superstar.datasets.labelled_images import LabelledImages, LabelledImagesDataset
from superstar.datasets.mnist import MnistDataset
from superstar.datasets.models import (
    ActorDataset,
    ActorsDataset,
    BorrowedWorthDataset,
    CalibratedDataset,
    ClassifierDataset,
    ClassifiersDataset,
    CriticDataset,
    DenoiserDataset,
    PointsDataset,
    SupervisorDataset,
    TransferredPoliciesDataset,
    TreeDataset,
)
from superstar.datasets.recovered import (
    FileGroup,
    FolderFiles,
    FolderFilesDataset,
    GivenSupervisorDataset,
    Recovered,
    RecoveredDataset,
)
from superstar.datasets.reference_tables import ReferenceTableDataset
from superstar.datasets.shifted_folders import (
    FolderBenchmark,
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
    "BorrowedWorthDataset",
    "CSVDataset",
    "CalibratedDataset",
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
    "ExternalArraysDataset",
    "ExternalDataset",
    "ExternalFoldersDataset",
    "FigureDataset",
    "FileGroup",
    "FolderBenchmark",
    "FolderFiles",
    "FolderFilesDataset",
    "GivenSupervisorDataset",
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
    "Recovered",
    "RecoveredDataset",
    "ReferenceTableDataset",
    "ShiftedFoldersDataset",
    "ShiftedSets",
    "StageTimesDataset",
    "SupervisorDataset",
    "SweepDataset",
    "TextDataset",
    "TransferredPoliciesDataset",
    "TreeDataset",
    "list_images",
    "read_class_list",
    "same_images",
]
