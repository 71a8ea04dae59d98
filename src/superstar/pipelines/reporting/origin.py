"""What a run's results come from: classifiers, denoiser, configuration; how long it took."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from superstar.parameters import ClassifierTraining, DenoiserTraining


def classifiers_table(
    given: ClassifierTraining, images: int | None, metrics: Mapping[str, float]
) -> pd.DataFrame:
    """`classifier`, `made` in words, and `clean_accuracy` on test images in percent.

    Args:
        given: how classifiers are trained, or which were published.
        images: on how many those that were trained were trained; None for all there are.
        metrics: of the run, by name; among them `clean_accuracy.<classifier>` of each.
    """
    seen = "all training images" if images is None else f"{images:,} images"
    rows = []
    for metric, accuracy in metrics.items():
        kind, _, name = metric.partition(".")
        if kind != "clean_accuracy":
            continue
        if name in given.published:
            entry = given.published[name]
            source = entry if isinstance(entry, str) else f"{entry.layout}: {Path(entry.path).name}"
            made = f"not trained here: {source}"
        else:
            start = "random weights" if name == "standard" else "the weights of standard"
            epochs = given.trained[name].epochs
            made = f"trained here on {seen} from {start}, epochs: {epochs}"
        rows.append((name, made, accuracy))
    return pd.DataFrame(rows, columns=["classifier", "made", "clean_accuracy"])


def denoiser(given: DenoiserTraining) -> str:
    """Where the denoiser behind `dncnn` comes from, in words."""
    if given.trained:
        return f"a DnCNN trained here on the clean training images, epochs: {given.epochs}"
    return "the package's own" if given.file is None else f"that of `{Path(given.file).name}`"


def extent(results: pd.DataFrame, batch_size: int, validation: int) -> dict[str, str]:
    """How much was evaluated, as texts; `validation` is the number of images of V."""
    cells = results.drop_duplicates(["shift", "severity"])
    images = cells["images"].unique()
    trials = results.groupby(["controller", "shift", "severity"], dropna=False)["trial"].nunique()
    return {
        "images": _span(images),
        "shifts": str(cells.loc[cells["shift"] != "none", "shift"].nunique()),
        "severities": ", ".join(map(str, sorted(cells["severity"].dropna().unique()))),
        "cells": str(len(cells)),
        "trials": _span(trials),
        "batch": _span([min(batch_size, count) for count in images]),
        "validation": f"{validation:,}",
    }


def _span(numbers: Collection[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def whole_run(times: pd.DataFrame) -> str:
    """How long all nodes took and the memory that they needed, in words."""
    minutes, memory = times["seconds"].sum() / 60, times["peak_memory_gb"].max()
    return f"{minutes:.0f} minutes and at most {memory:.1f} GB" if len(times) else "no time known"


def as_yaml(parameters: Mapping[str, Any]) -> str:
    """The parameters as YAML, in their order."""
    return yaml.safe_dump(
        dict(parameters), sort_keys=False, default_flow_style=None, width=100, allow_unicode=True
    )
