"""The classifiers whose accuracy is to be recovered."""

from superstar.classifiers.inference import Precision, accuracy, predict
from superstar.classifiers.resnet import SmallResNet
from superstar.classifiers.training import train_augmix, train_standard
from superstar.classifiers.weights import load_classifier, save_classifier

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
    "Precision",
    "SmallResNet",
    "accuracy",
    "load_classifier",
    "predict",
    "save_classifier",
    "train_augmix",
    "train_standard",
]
