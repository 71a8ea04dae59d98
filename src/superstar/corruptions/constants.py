"""The constants behind severities 1 to 5 of every corruption, one row each.

Surrogates: DC4L, appendix "Surrogate Corruptions", for `imagenet`; the values that its authors
used on CIFAR-100 for `cifar`. Benchmark shifts: ImageNet-C and CIFAR-10-C / CIFAR-100-C
(Hendrycks & Dietterich, 2019), which differ from one another.
"""

from collections.abc import Mapping

BENCHMARKS = ("imagenet", "cifar")

Constants = tuple[float, ...]

_GAMMA_INCREASE = (1.4, 1.7, 2.0, 2.5, 3.0)
_GAMMA_DECREASE = (0.9, 0.8, 0.7, 0.6, 0.5)
_SIGMOID_INCREASE = (7.0, 8.0, 9.0, 10.0, 11.0)
_SIGMOID_DECREASE = (7.0, 6.0, 5.0, 4.0, 3.0)

# One strength a severity: half-width, kernel side in pixels, gamma, gain.
STRENGTHS: Mapping[str, Mapping[str, Constants]] = {
    "uniform_noise": {
        # The figures that the paper's authors released for severity 4 were made with 0.50.
        "imagenet": (0.14, 0.22, 0.32, 0.40, 0.90),
        "cifar": (0.07, 0.11, 0.15, 0.20, 0.30),
    },
    "median_blur": {
        "imagenet": (2.0, 3.0, 4.0, 5.0, 6.0),
        "cifar": (1.0, 2.0, 3.0, 4.0, 5.0),
    },
    "gamma_increase": {"imagenet": _GAMMA_INCREASE, "cifar": _GAMMA_INCREASE},
    "gamma_decrease": {"imagenet": _GAMMA_DECREASE, "cifar": _GAMMA_DECREASE},
    "sigmoid_increase": {"imagenet": _SIGMOID_INCREASE, "cifar": _SIGMOID_INCREASE},
    "sigmoid_decrease": {"imagenet": _SIGMOID_DECREASE, "cifar": _SIGMOID_DECREASE},
}

# The arguments of each shift's function, in its order.
SEVERITIES: Mapping[str, Mapping[str, tuple[Constants, ...]]] = {
    # standard deviation
    "gaussian_noise": {
        "imagenet": ((0.08,), (0.12,), (0.18,), (0.26,), (0.38,)),
        "cifar": ((0.04,), (0.06,), (0.08,), (0.09,), (0.10,)),
    },
    # photons at full scale
    "shot_noise": {
        "imagenet": ((60,), (25,), (12,), (5,), (3,)),
        "cifar": ((500,), (250,), (100,), (75,), (50,)),
    },
    # share of values replaced
    "impulse_noise": {
        "imagenet": ((0.03,), (0.06,), (0.09,), (0.17,), (0.27,)),
        "cifar": ((0.01,), (0.02,), (0.03,), (0.05,), (0.07,)),
    },
    # radius, sigma of the antialiasing blur, both in pixels
    "defocus_blur": {
        "imagenet": ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        "cifar": ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    },
    # zoom factors from 1: stop (exclusive), step
    "zoom_blur": {
        "imagenet": ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
        "cifar": ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
    },
    # added to the value of HSV
    "brightness": {
        "imagenet": ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,)),
        "cifar": ((0.05,), (0.1,), (0.15,), (0.2,), (0.3,)),
    },
    # share of the contrast kept
    "contrast": {
        "imagenet": ((0.4,), (0.3,), (0.2,), (0.1,), (0.05,)),
        "cifar": ((0.75,), (0.5,), (0.4,), (0.3,), (0.15,)),
    },
    # side after reduction, as a share of the side before
    "pixelate": {
        "imagenet": ((0.6,), (0.5,), (0.4,), (0.3,), (0.25,)),
        "cifar": ((0.95,), (0.9,), (0.85,), (0.75,), (0.65,)),
    },
    # quality
    "jpeg_compression": {
        "imagenet": ((25,), (18,), (15,), (10,), (7,)),
        "cifar": ((80,), (65,), (58,), (50,), (40,)),
    },
    # standard deviation relative to the value
    "speckle_noise": {
        "imagenet": ((0.15,), (0.2,), (0.35,), (0.45,), (0.6,)),
        "cifar": ((0.06,), (0.1,), (0.12,), (0.16,), (0.2,)),
    },
    # sigma in pixels
    "gaussian_blur": {
        "imagenet": ((1,), (2,), (3,), (4,), (6,)),
        "cifar": ((0.4,), (0.6,), (0.7,), (0.8,), (1,)),
    },
    # factor and offset of the saturation of HSV
    "saturate": {
        "imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
        "cifar": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    },
}
