"""What a candidate is worth: from accuracies on surrogates, whose labels are known."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from superstar.actions.plan import THEN

FEWEST = 3
"""Cells above a margin, at least, or there is none."""


@dataclass(frozen=True)
class Worth:
    """How much one candidate gains.

    Attributes:
        margin: the fall of the reading that it must exceed.
        falls: as shares of the reading, ascending.
        gains: the shares of the lost accuracy that went with these falls; they never decrease.
    """

    margin: float
    falls: tuple[float, ...]
    gains: tuple[float, ...]

    def gain(self, fall: float) -> float:
        """The share of the lost accuracy that a fall, a share of the reading, promises."""
        return float(np.interp(fall, self.falls, self.gains))


def find_worth(
    trials: pd.DataFrame, *, bound: float, clean_bound: float, confidence: float
) -> dict[str, Worth]:
    """The worth of every candidate that earns a place.

    A candidate that costs clean images more than `clean_bound` is left out. The margin is the
    smallest fall above which the upper confidence bound of the mean loss of accuracy is below
    `bound`, a gain counting as no loss (in the manner of A. N. Angelopoulos et al., "Conformal
    Risk Control", 2022). What a fall promises is an isotonic regression of shares: of the lost
    accuracy on that of the reading, each point lost counting alike, over cells that lost more than
    `bound`. It is the mean of two such curves, the candidate's own and that of all that have a
    margin, since few candidates see every fall on surrogates.

    Args:
        trials: a row a cell and candidate: `shift` (a surrogate, a pair of them, or "none"),
            `candidate`, `reading`, `fall` of it, `accuracy`, `gain` in points of accuracy.
        bound: of the mean loss, in points.
        clean_bound: of the cost on clean images, in points.
        confidence: of the bound, one-sided.

    Returns:
        By name; candidates without a margin are left out.
    """
    costly = costly_on_clean(trials, clean_bound)
    margins = {
        name: margin
        for name, part in trials.groupby("candidate", sort=False)
        if name not in costly and (margin := _margin(part, bound, confidence)) is not None
    }
    lost = trials.loc[trials["shift"] == "none", "accuracy"].mean() - trials["accuracy"]
    some = trials.assign(lost=100 * lost).query("lost > @bound and reading > 0")
    some = some[some["candidate"].isin(margins)]
    if some.empty:
        return {}
    found, shared = {}, _share_given_back(some)
    for name, part in some.groupby("candidate", sort=False):
        own = _share_given_back(part)
        falls = np.union1d(own.X_thresholds_, shared.X_thresholds_)
        gains = (own.predict(falls) + shared.predict(falls)) / 2
        found[str(name)] = Worth(margins[name], tuple(falls.tolist()), tuple(gains.tolist()))
    return found


def _share_given_back(trials: pd.DataFrame) -> IsotonicRegression:
    """Of the lost accuracy, by the share of the reading taken away."""
    curve = IsotonicRegression(out_of_bounds="clip")
    falls, gains = trials["fall"] / trials["reading"], trials["gain"] / trials["lost"]
    return curve.fit(falls, gains, trials["lost"])


def costly_on_clean(trials: pd.DataFrame, bound: float) -> set[str]:
    """Candidates that cost clean images more than `bound` points, which surrogates cannot mend."""
    clean = trials[trials["shift"] == "none"].groupby("candidate")["gain"].mean()
    return set(clean.index[clean.round(6) < -bound])


def lendable(worth: Mapping[str, Worth], own_labels_only: Collection[str]) -> dict[str, Worth]:
    """The candidates whose worth another benchmark may borrow.

    Args:
        worth: by name.
        own_labels_only: corrections that are worth what the network makes of them; no candidate
            with one of them is lent.
    """
    kept = set(own_labels_only)
    return {name: each for name, each in worth.items() if not kept & set(name.split(THEN))}


def uncontradicted(
    borrowed: Mapping[str, Worth], trials: pd.DataFrame, *, veto: float
) -> dict[str, Worth]:
    """The candidates from another benchmark that own labels do not speak against.

    Own labels speak against a candidate if on one of the surrogates, at all severities at which
    the reading falls by more than its margin, more images go from right to wrong than back, and
    chance alone would seldom do that (a sign test). Few labels are enough for that, where margins
    take many. A correction that is left out by mistake costs less than one that harms, so that
    `veto` is large and surrogates are not counted together.

    Args:
        borrowed: by name.
        trials: a row a cell and candidate: `shift`, `candidate`, `fall`, `gain` in points, and in
            how many of the `images` the classifier's being right `changed`.
        veto: the chance, one-sided, up to which a loss leaves a candidate out.
    """
    left = {}
    for name, worth in borrowed.items():
        part = trials[(trials["candidate"] == name) & (trials["shift"] != "none")]
        part = part[part["fall"] > worth.margin]
        if all(_chance_of_loss(shift) > veto for _, shift in part.groupby("shift")):
            left[name] = worth
    return left


def _chance_of_loss(trials: pd.DataFrame) -> float:
    """How likely so many losses are where gains and losses are alike; 1 where nothing changed."""
    changed = int(trials["changed"].sum())
    net = (trials["gain"] * trials["images"] / 100).sum()
    losses = round((changed - net) / 2)
    return float(binom.sf(losses - 1, changed, 0.5)) if changed else 1.0


def _margin(trials: pd.DataFrame, bound: float, confidence: float) -> float | None:
    """Of one candidate; None if none keeps the bound."""
    ordered = trials.sort_values("fall", ascending=False)
    falls, losses = ordered["fall"].to_numpy(), np.maximum(0, -ordered["gain"].to_numpy())
    quantile, margin = NormalDist().inv_cdf(confidence), None
    for count in range(FEWEST, len(falls) + 1):
        if falls[count - 1] <= 0:
            break
        some = losses[:count]
        if some.mean() + quantile * some.std(ddof=1) / sqrt(count) <= bound:
            margin = float(falls[count - 1])
    return margin
