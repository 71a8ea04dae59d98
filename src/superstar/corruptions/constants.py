"""The constants behind severities 1 to 5 of every corruption, one row each.

Surrogates: DC4L, appendix "Surrogate Corruptions", for `imagenet`; the values that its authors
used on CIFAR-100 for `cifar`. Benchmark shifts: ImageNet-C and CIFAR-10-C / CIFAR-100-C
(Hendrycks & Dietterich, 2019), which differ from one another; ImageNet-C̄ and CIFAR-10-C̄ (Mintun,
Kirillov & Xie, 2021), which share five shifts. To the other five of ImageNet-C̄ its authors gave ten
constants for 32×32 pixels, to choose from for CIFAR-10-C̄; `cifar` has every second of those, from
the weakest.
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
    # sigma and reach in pixels, rounds
    "glass_blur": {
        "imagenet": ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        "cifar": ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    },
    # radius and sigma in pixels
    "motion_blur": {
        "imagenet": ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        "cifar": ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
    },
    # zoom factors from 1: stop (exclusive), step
    "zoom_blur": {
        "imagenet": ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
        "cifar": ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
    },
    # mean and standard deviation of the noise, zoom, threshold, radius and sigma of the flakes'
    # trails in pixels, share of the image's colours kept
    "snow": {
        "imagenet": (
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
            (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
            (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
            (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
        ),
        "cifar": (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
    },
    # shares of the image and of the frost, scale of the frost
    "frost": {
        "imagenet": ((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
        "cifar": (
            (1, 0.2, 0.2),
            (1, 0.3, 0.2),
            (0.9, 0.4, 0.2),
            (0.85, 0.4, 0.2),
            (0.75, 0.45, 0.2),
        ),
    },
    # density, decay of the clouds' roughness
    "fog": {
        "imagenet": ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
        "cifar": ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
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
    # height and sigma of the waves, reach of the affine map, all in sides of the image
    "elastic_transform": {
        # The benchmark's code multiplies by 244 where it means 224.
        "imagenet": (
            (2 * 244 / 224, 0.7 * 244 / 224, 0.1 * 244 / 224),
            (2 * 244 / 224, 0.08 * 244 / 224, 0.2 * 244 / 224),
            (0.05 * 244 / 224, 0.01 * 244 / 224, 0.02 * 244 / 224),
            (0.07 * 244 / 224, 0.01 * 244 / 224, 0.02 * 244 / 224),
            (0.12 * 244 / 224, 0.01 * 244 / 224, 0.02 * 244 / 224),
        ),
        "cifar": (
            (0, 0, 0.08),
            (0.05, 0.2, 0.07),
            (0.08, 0.06, 0.06),
            (0.1, 0.04, 0.05),
            (0.1, 0.03, 0.03),
        ),
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
    # mean, standard deviation and smoothing of the noise, threshold, strength, water 0 or mud 1
    "spatter": {
        "imagenet": (
            (0.65, 0.3, 4, 0.69, 0.6, 0),
            (0.65, 0.3, 3, 0.68, 0.6, 0),
            (0.65, 0.3, 2, 0.68, 0.5, 0),
            (0.65, 0.3, 1, 0.65, 1.5, 1),
            (0.67, 0.4, 1, 0.65, 1.5, 1),
        ),
        "cifar": (
            (0.62, 0.1, 0.7, 0.7, 0.5, 0),
            (0.65, 0.1, 0.8, 0.7, 0.5, 0),
            (0.65, 0.3, 1, 0.69, 0.5, 0),
            (0.65, 0.1, 0.7, 0.69, 0.6, 1),
            (0.65, 0.1, 0.5, 0.68, 0.6, 1),
        ),
    },
    # factor and offset of the saturation of HSV
    "saturate": {
        "imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
        "cifar": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    },
    # standard deviations up to which pixels turn black
    "blue_noise_sample": {
        "imagenet": ((-2.26,), (-2.02,), (-1.78,), (-1.3,), (-0.82,)),
        "cifar": ((-2.29,), (-2.08,), (-1.87,), (-1.45,), (-1.24,)),
    },
    # standard deviation
    "brownish_noise": {
        "imagenet": ((6.4 / 255,), (12.8 / 255,), (19.2 / 255,), (25.6 / 255,), (32 / 255,)),
        "cifar": ((16 / 255,), (25.6 / 255,), (35.2 / 255,), (41.6 / 255,), (44.8 / 255,)),
    },
    # depth in sides of the image, light
    "caustic_refraction": {
        "imagenet": ((0.1175, 0.47), (0.16, 0.64), (0.245, 0.98), (0.33, 1.32), (0.4575, 1.83)),
        "cifar": ((0.07, 0.28), (0.11, 0.44), (0.15, 0.6), (0.19, 0.76), (0.23, 0.92)),
    },
    # share of the black fields covered
    "checkerboard_cutout": {
        "imagenet": ((0.2,), (0.3,), (0.4,), (0.5,), (0.6,)),
        "cifar": ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,)),
    },
    # height from trough to crest
    "cocentric_sine_waves": {
        "imagenet": ((38.4 / 255,), (64 / 255,), (102.4 / 255,), (115.2 / 255,), (128 / 255,)),
        "cifar": ((6.4 / 255,), (19.2 / 255,), (32 / 255,), (44.8 / 255,), (57.6 / 255,)),
    },
    # half the power of the distance with which the image fades
    "inverse_sparkles": {
        "imagenet": ((0.13,), (0.26,), (0.52,), (1.17,), (1.3,)),
        "cifar": ((0.13,), (0.195,), (0.325,), (0.585,), (0.65,)),
    },
    # share of the noise
    "perlin_noise": {
        "imagenet": ((0.23,), (0.26,), (0.29,), (0.38,), (0.44,)),
        "cifar": ((0.23,), (0.29,), (0.35,), (0.41,), (0.47,)),
    },
    # share of the noise
    "plasma_noise": {
        "imagenet": ((30.4 / 255,), (44.8 / 255,), (54.4 / 255,), (59.2 / 255,), (64 / 255,)),
        "cifar": ((4.48 / 255,), (13.44 / 255,), (22.4 / 255,), (31.36 / 255,), (40.32 / 255,)),
    },
    # height over the middle
    "single_frequency_greyscale": {
        "imagenet": ((19.6 / 255,), (29.4 / 255,), (39.2 / 255,), (88.2 / 255,), (98 / 255,)),
        "cifar": ((5.88 / 255,), (17.64 / 255,), (29.4 / 255,), (41.16 / 255,), (52.92 / 255,)),
    },
    # radius in sides of the image
    "sparkles": {
        "imagenet": ((0.01,), (0.02,), (0.03,), (0.05,), (0.06,)),
        "cifar": ((0.007,), (0.035,), (0.056,), (0.063,), (0.07,)),
    },
}
