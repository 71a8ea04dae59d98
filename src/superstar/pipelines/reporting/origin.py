"""What a run's results come from: its classifiers, its configuration, and how long it took."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import yaml

from superstar.parameters import ClassifierTraining, Published


def classifiers_table(
    given: ClassifierTraining, images: int | None, accuracies: Mapping[str, float]
) -> pd.DataFrame:
    """`classifier`, `made` in words, and `clean_accuracy` on test images in percent.

    Args:
        given: how classifiers are trained, or which were published.
        images: on how many those that were trained were trained; None for all there are.
        accuracies: by the classifier's name, in the order of the rows.
    """
    seen = "all training images" if images is None else f"{images:,} images"
    rows = []
    for name, accuracy in accuracies.items():
        if name in given.published:
            entry = given.published[name]
            made = f"published, {entry if isinstance(entry, str) else _checkpoint(entry)}"
        else:
            start = "random weights" if name == "standard" else "the weights of standard"
            epochs = given.trained[name].epochs
            made = f"trained here on {seen} from {start}, epochs: {epochs}"
        rows.append((name, made, accuracy))
    return pd.DataFrame(rows, columns=["classifier", "made", "clean_accuracy"])


def _checkpoint(entry: Published) -> str:
    return f"{entry.layout}: {entry.path}"


def stages_table(times: pd.DataFrame) -> pd.DataFrame:
    """`stage`, `seconds` and `peak_memory_gb`, the stages in their order, then the whole.

    Args:
        times: `stage`, `node`, `seconds`, `peak_memory_gb`, a row a node.
    """
    stages = times.groupby("stage", sort=False).agg(
        seconds=("seconds", "sum"), peak_memory_gb=("peak_memory_gb", "max")
    )
    if len(stages):
        stages.loc["whole run"] = [stages["seconds"].sum(), stages["peak_memory_gb"].max()]
    return stages.reset_index()


def configuration(parameters: Mapping[str, Any]) -> str:
    """The parameters as YAML, in their order."""
    return yaml.safe_dump(
        dict(parameters), sort_keys=False, default_flow_style=None, width=100, allow_unicode=True
    )
