"""The study as one Markdown page: every number in it comes from the run."""

import pandas as pd

from superstar.parameters import ProjectionStudy
from superstar.pipelines.projection_study.summary import ORTHONORMAL, RANDOM, ceiling

SOURCES = {"photos": "patches of the embedded photographs", "mnist": "MNIST digits"}
# What each column is good for: whether more of it is better.
CRITERIA = {
    "agreement": True,
    "spearman_magnitude": True,
    "variation": False,
    "ratio_variation": False,
}
FOLLOWS = 0.9
"""A mean rank correlation from which on a distance counts as following the strength."""


def compose(table: pd.DataFrame, distances: pd.DataFrame, given: ProjectionStudy) -> str:
    """The page.

    Args:
        table: one row a perturbation and projection.
        distances: one row a perturbation, strength, projection, sample size and trial.
        given: parameters of the study.
    """
    n, m = given.size**2, given.dimensions
    sizes = ", ".join(map(str, given.sample_sizes))
    parts = [
        "# Projections compared",
        "Written by the pipeline `projection_study` (paper, appendix C).",
        f"Empirical 1-Wasserstein distance between clean and perturbed {SOURCES[given.source]}, "
        f"gray, {given.size}x{given.size} pixels, in levels of gray (white is 1): unprojected, and "
        f"projected from {n} to {m} dimensions. Samples of {sizes} images on either side, "
        f"disjoint; {given.trials} trials, each with images, noise and projections of its own, the "
        "images and noise being the same for all projections. Numbers are for the largest sample.",
        "## By perturbation",
    ]
    for perturbation, rows in table.groupby("perturbation", sort=False):
        right = ["never" if pd.isna(size) else f"{size:.0f}" for size in rows["right_from"]]
        parts += [
            f"### {_words(perturbation)}",
            _finding(rows, distances[distances["perturbation"] == perturbation]),
            _markdown(rows.drop(columns=["perturbation", "sample_size"]).assign(right_from=right)),
        ]
    parts += [
        "## Means over perturbations",
        _markdown(_means(table).reset_index()),
        _verdict(table),
        "## How to read it",
        "- `spearman` is the rank correlation of distance and strength over the points of all "
        f"trials; trials share their strengths, so it can reach {ceiling(distances):.3f} at most. "
        "It falls when the estimate moves more from trial to trial than from strength to strength. "
        "`spearman by trial` is the mean within trials, where all strengths act on the same "
        "images: what a controller sees when it compares one batch before and after an action.\n"
        "- `agreement` is the mean rank correlation, within trials, with the unprojected distance: "
        "whether the projection keeps its order, be it that of the strengths or not (Corollary).\n"
        "- `loss` is 1 − projected / unprojected distance. It is a matter of scale and says "
        "nothing about order: orthonormal rows shrink lengths by √(m/n), which is a loss of "
        f"{1 - (m / n) ** 0.5:.3f} here; Gaussian and sparse ones keep squared lengths in "
        "expectation.\n"
        "- `rise` is distance at the greatest strength / at strength 0 − 1: the contrast with the "
        "floor.\n"
        "- `variation` is standard deviation over trials / mean of the distance, the mean over "
        "strengths; `ratio variation` the same of projected / unprojected distance: how loosely "
        f"the one follows the other. Over {given.trials} trials the last digits are chance.\n"
        "- `right from` is the smallest sample from which on every trial puts all strengths in "
        "order.\n"
        "- `dct` and `uniform_qr` pass mean brightness whole and shrink the rest. They weigh the "
        "brightness of the samples more, which makes them see a shift of brightness (none is among "
        "these perturbations) and moves the estimate with the draw of images.",
    ]
    return "\n\n".join(parts) + "\n"


def _finding(rows: pd.DataFrame, distances: pd.DataFrame) -> str:
    by_projection = rows.set_index("projection")
    full = by_projection.loc["none"]
    points = distances[
        (distances["projection"] == "none")
        & (distances["sample_size"] == distances["sample_size"].max())
    ]
    means = points.groupby("strength")["distance"].mean()
    span = (
        f"Unprojected, the distance goes from {means.iloc[0]:.2f} at strength 0 to "
        f"{means.iloc[-1]:.2f} at {means.index[-1]:g}"
    )
    correlation = full["spearman_by_trial"]
    if correlation >= FOLLOWS:
        reading = "it rises with the strength"
    elif correlation <= -FOLLOWS:
        reading = (
            "it falls as the strength grows, below that of clean images: no guide to this "
            "perturbation, with or without a projection"
        )
    else:
        reading = "it does not follow the strength"
    projected = by_projection["spearman_by_trial"].drop("none")
    return (
        f"{span}: {reading} (rank correlation within trials {correlation:.2f}; projected, from "
        f"{projected.min():.2f} to {projected.max():.2f})."
    )


def _means(table: pd.DataFrame) -> pd.DataFrame:
    numbers = table.assign(spearman_magnitude=table["spearman"].abs())
    means = numbers.groupby("projection", sort=False)[[*CRITERIA, "loss"]]
    return means.mean()


def _verdict(table: pd.DataFrame) -> str:
    means = _means(table).round(3)
    lines = [
        "The paper finds that orthonormal projection preserves distributional information better "
        "than Gaussian and sparse random projection. In this run:"
    ]
    for criterion, more in CRITERIA.items():
        values = means[criterion] if more else -means[criterion]
        best, worst = values[list(RANDOM)].max(), values[list(RANDOM)].min()
        verdicts: dict[str, list[str]] = {}
        for kind in ORTHONORMAL:
            if values[kind] > best:
                verdict = "better than both"
            elif values[kind] == best:
                verdict = "equal to the better of them"
            elif values[kind] >= worst:
                verdict = "between them"
            else:
                verdict = "worse than both"
            verdicts.setdefault(verdict, []).append(kind)
        found = "; ".join(f"{', '.join(kinds)} {verdict}" for verdict, kinds in verdicts.items())
        lines.append(f"- {_words(criterion)}: {found}.")
    return lines[0] + "\n\n" + "\n".join(lines[1:])


def _words(name: object) -> str:
    return str(name).replace("_", " ")


def _markdown(table: pd.DataFrame) -> str:
    return str(table.rename(columns=_words).to_markdown(index=False, floatfmt=".3f"))
