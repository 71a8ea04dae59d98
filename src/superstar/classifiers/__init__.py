"""The classifiers whose accuracy is to be recovered."""

from superstar.classifiers.augmix import train_augmix
from superstar.classifiers.classifier import Classifier
from superstar.classifiers.inference import AtPrecision, Precision, accuracy, predict
from superstar.classifiers.named import Asked, NamedClassifier, check_named, load_named
from superstar.classifiers.noisymix import train_noisymix
from superstar.classifiers.published import LAYOUTS, load_published
from superstar.classifiers.puzzlemix import train_puzzlemix
from superstar.classifiers.resnet import SmallResNet
from superstar.classifiers.resnet50 import ResNet50
from superstar.classifiers.training import ClassifierSchedule, initialised, train_standard
from superstar.classifiers.weights import load_classifier, save_classifier
from superstar.classifiers.wide_resnet import WideResNet

CLASSIFIERS = (
    "standard",
    "augmix",
    "noisymix",
    "deepaugment",
    "deepaugment_augmix",
    "puzzlemix",
)
"""Names of the classifiers that the paper studies, in the order of its tables."""

__all__ = [
    "CLASSIFIERS",
    "LAYOUTS",
    "Asked",
    "AtPrecision",
    "Classifier",
    "ClassifierSchedule",
    "NamedClassifier",
    "Precision",
    "ResNet50",
    "SmallResNet",
    "WideResNet",
    "accuracy",
    "check_named",
    "initialised",
    "load_classifier",
    "load_named",
    "load_published",
    "predict",
    "save_classifier",
    "train_augmix",
    "train_noisymix",
    "train_puzzlemix",
    "train_standard",
]
