"""SuperStAR: recovery of image classifiers from distribution shift, online and as a black box."""

__version__ = "0.1.0"
