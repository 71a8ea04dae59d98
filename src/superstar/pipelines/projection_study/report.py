"""The study as one Markdown page: every number in it comes from the run."""

import pandas as pd

from superstar.parameters import ProjectionStudy
from superstar.pipelines.pages import render
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
    numbers = table.assign(spearman_magnitude=table["spearman"].abs())
    means = numbers.groupby("projection", sort=False)[[*CRITERIA, "loss"]].mean()
    right_from = ["never" if pd.isna(size) else f"{size:.0f}" for size in table["right_from"]]
    shown = table.assign(right_from=right_from).drop(columns="sample_size")
    return render(
        "projection_study.md",
        given=given,
        source=SOURCES[given.source],
        pixels=given.size**2,
        shrunk=1 - given.dimensions**0.5 / given.size,
        perturbations={
            name: {
                "table": rows.drop(columns="perturbation"),
                **_finding(table[table["perturbation"] == name], distances, name),
            }
            for name, rows in shown.groupby("perturbation", sort=False)
        },
        means=means.reset_index(),
        verdicts={criterion: _verdict(means, criterion) for criterion in CRITERIA},
        ceiling=ceiling(distances),
    )


def _finding(
    table: pd.DataFrame, distances: pd.DataFrame, perturbation: object
) -> dict[str, object]:
    """Unprojected distances by strength, and rank correlations within trials."""
    correlations = table.set_index("projection")["spearman_by_trial"]
    full = correlations["none"]
    points = distances[
        (distances["perturbation"] == perturbation)
        & (distances["projection"] == "none")
        & (distances["sample_size"] == distances["sample_size"].max())
    ]
    return {
        "distances": points.groupby("strength")["distance"].mean(),
        "correlation": full,
        "follows": "up" if full >= FOLLOWS else "down" if full <= -FOLLOWS else "not",
        "projected": correlations.drop("none"),
    }


def _verdict(means: pd.DataFrame, criterion: str) -> str:
    values = means[criterion].round(3) * (1 if CRITERIA[criterion] else -1)
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
    return "; ".join(f"{', '.join(kinds)} {verdict}" for verdict, kinds in verdicts.items())
