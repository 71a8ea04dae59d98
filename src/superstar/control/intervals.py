"""How sure a mean gain is: over the draw of images, and over that of batches and the policy."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from superstar.images import stream

KEYS = ["controller", "shift", "classifier"]

DIGITS = 6
COUNTS_AT_ONCE = 2**23
"""Counts that the bootstrap draws together: 64 MB."""


@dataclass(frozen=True)
class Bootstrap:
    """Percentile intervals of means.

    Attributes:
        resamples: of the values, with replacement.
        confidence: of the intervals.
        seed: of the draws.
    """

    resamples: int
    confidence: float
    seed: int

    def interval(self, values: NDArray[np.floating], spread: float = 0.0) -> tuple[float, float]:
        """The interval of the mean of `values` (N,).

        `spread` is a standard error of the mean from elsewhere, normal and independent.
        """
        rng = stream(self.seed, "bootstrap")
        count = len(values)
        # Resampling with replacement is a draw of how often each value occurs. Means of gains are
        # few values over many images, once single precision's rounding is taken off.
        distinct, times = np.unique(values.astype(np.float64).round(DIGITS), return_counts=True)
        block = max(1, COUNTS_AT_ONCE // len(distinct))
        means = np.concatenate(
            [
                rng.multinomial(count, times / count, size=min(block, self.resamples - start))
                @ distinct
                for start in range(0, self.resamples, block)
            ]
        )
        means = means / count + spread * rng.standard_normal(self.resamples)
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(means, [tail, 1 - tail])
        return float(low), float(high)


def weighted_sum(
    results: pd.DataFrame,
    gains: pd.DataFrame,
    weights: Mapping[str, float],
    bootstrap: Bootstrap,
) -> tuple[float, float, float, float]:
    """Accuracies of one classifier with one policy, summed over shifts.

    An image is drawn with its outcomes under all shifts; batches and the policy are independent
    from shift to shift.

    Args:
        results: of that classifier and policy, by trial.
        gains: likewise, by image.
        weights: of each shift.
        bootstrap: of the images.

    Returns:
        Before, after, and the bounds of the difference; shares.
    """
    columns = ["accuracy_shifted", "accuracy_recovered"]
    shifts = list(weights)
    factors = np.array(list(weights.values()))
    accuracies = results.groupby("shift")[columns].mean().loc[shifts].to_numpy()
    spreads = trial_errors(results).droplevel(["controller", "classifier"]).loc[shifts].to_numpy()
    by_shift = dict(list(gains.groupby("shift")))
    by_image = sum(weights[shift] * mean_by_image(by_shift[shift]) for shift in shifts)
    spread = float(np.sqrt(((factors * spreads) ** 2).sum()))
    low, high = bootstrap.interval(np.asarray(by_image), spread)
    shifted, recovered = factors @ accuracies
    return float(shifted), float(recovered), low, high


def trial_errors(results: pd.DataFrame) -> pd.Series:
    """Standard error of the mean gain (a share) over trials, by controller, shift and classifier.

    Trials are drawn independently in every cell. Zero where there is one trial: its spread is
    unknown.
    """
    gain = results["accuracy_recovered"] - results["accuracy_shifted"]
    cells = gain.groupby([results[key] for key in (*KEYS, "severity")], sort=False, dropna=False)
    variances = (cells.var(ddof=1) / cells.size()).fillna(0.0).groupby(KEYS, sort=False)
    return np.sqrt(variances.sum()) / variances.size()


def mean_by_image(gains: pd.DataFrame) -> NDArray[np.floating]:
    """Mean gain of each image."""
    return np.mean(np.stack(gains["gain"].to_list()), axis=0)
