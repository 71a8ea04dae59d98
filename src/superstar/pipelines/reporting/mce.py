"""The mean corruption error (mCE) of ImageNet-C (Hendrycks and Dietterich, ICLR 2019)."""

import pandas as pd

from superstar.corruptions import STANDARD_SHIFTS
from superstar.datasets import SEVERITIES
from superstar.pipelines.reporting.means import NAMES, weighted_sum

ALEXNET_ERRORS = {
    "gaussian_noise": 0.886428,
    "shot_noise": 0.894468,
    "impulse_noise": 0.922640,
    "defocus_blur": 0.819880,
    "glass_blur": 0.826268,
    "motion_blur": 0.785948,
    "zoom_blur": 0.798360,
    "snow": 0.866816,
    "frost": 0.826572,
    "fog": 0.819324,
    "brightness": 0.564592,
    "contrast": 0.853204,
    "elastic_transform": 0.646056,
    "pixelate": 0.717840,
    "jpeg_compression": 0.606500,
    "speckle_noise": 0.845388,
    "gaussian_blur": 0.787108,
    "spatter": 0.717512,
    "saturate": 0.658248,
}
"""Error rates of AlexNet on ImageNet-C, means over the five severities, as its authors publish
them."""

COLUMNS = [*NAMES, "mce_shifted", "mce_recovered", "change", "change_low", "change_high"]


def mce_table(
    results: pd.DataFrame, gains: pd.DataFrame, resamples: int, confidence: float, seed: int
) -> pd.DataFrame:
    """mCE before and after recovery.

    A shift's corruption error is the classifier's error summed over severities, divided by
    AlexNet's; mCE is its mean over the benchmark's 15 shifts, the smaller the better.

    Args:
        results: by trial, with the `policy`.
        gains: by image, likewise.
        resamples: of the bootstrap, paired by image.
        confidence: of its interval.
        seed: of its draws.

    Returns:
        A row a policy, controller and classifier: `mce_shifted` and `mce_recovered` in percent,
        `change` and its interval in points. Empty unless all 15 shifts were evaluated at all five
        severities.
    """
    rows = []
    weights = {shift: 1 / ALEXNET_ERRORS[shift] / len(STANDARD_SHIFTS) for shift in STANDARD_SHIFTS}
    wanted = {(shift, severity) for shift in STANDARD_SHIFTS for severity in SEVERITIES}
    for keys, own in results.groupby(NAMES, sort=False):
        if not wanted <= set(own[["shift", "severity"]].itertuples(index=False, name=None)):
            continue
        images = gains[(gains[NAMES] == list(keys)).all(axis=1)]
        right = weighted_sum(own, images, weights, resamples, confidence, seed)
        whole = sum(weights.values())
        before, after = 100 * (whole - right.shifted), 100 * (whole - right.recovered)
        rows.append((*keys, before, after, after - before, -100 * right.high, -100 * right.low))
    return pd.DataFrame(rows, columns=COLUMNS)
