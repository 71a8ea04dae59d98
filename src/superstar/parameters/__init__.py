"""The parameters of a run: which there are, of what type, and in what range.

One model a pipeline. Values live in `conf/<environment>/`.
"""

from superstar.parameters.denoising import BlindTraining, DenoiserTraining
from superstar.parameters.images import (
    BenchmarkGeneration,
    Corrupt,
    DataPreparation,
    Distance,
    Execution,
    PolicySurrogates,
    Recover,
    SeverityCalibration,
    SurrogateGeneration,
)
from superstar.parameters.learning import (
    Calibration,
    ClassifierTraining,
    DenoiserGate,
    Operability,
    PolicyTraining,
    Published,
    Training,
)
from superstar.parameters.studies import (
    Evaluation,
    Oracle,
    Peers,
    ProjectionStudy,
    Reporting,
    RulerStudy,
    RunTimeSweep,
    TrainingSweep,
)
from superstar.parameters.whole import Parameters, is_text

__all__ = [
    "BenchmarkGeneration",
    "BlindTraining",
    "Calibration",
    "ClassifierTraining",
    "Corrupt",
    "DataPreparation",
    "DenoiserGate",
    "DenoiserTraining",
    "Distance",
    "Evaluation",
    "Execution",
    "Operability",
    "Oracle",
    "Parameters",
    "Peers",
    "PolicySurrogates",
    "PolicyTraining",
    "ProjectionStudy",
    "Published",
    "Recover",
    "Reporting",
    "RulerStudy",
    "RunTimeSweep",
    "SeverityCalibration",
    "SurrogateGeneration",
    "Training",
    "TrainingSweep",
    "is_text",
]
