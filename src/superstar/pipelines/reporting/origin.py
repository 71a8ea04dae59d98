"""What a run's results come from: its classifiers, its configuration, and how long it took."""

from collections.abc import Collection, Mapping, Sequence
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


def extent(results: pd.DataFrame, batch_size: int, validation: int) -> str:
    """How much was evaluated, in words.

    Args:
        results: by trial.
        batch_size: images of a trial's batch, where there are as many.
        validation: images of V, with which batches are compared.
    """
    cells = results.drop_duplicates(["shift", "severity"])
    shifts = cells.loc[cells["shift"] != "none", "shift"].nunique()
    severities = ", ".join(map(str, sorted(cells["severity"].dropna().unique())))
    images = sorted(cells["images"].unique())
    trials = results.groupby(["controller", "shift", "severity"], dropna=False)["trial"].nunique()
    return (
        f"Test set: {_span(images)} images (of each class: `clean/summary.csv`). {shifts} shifts "
        f"at severities {severities} and the clean set: {len(cells)} cells, {_span(trials)} trials "
        f"each. A trial draws a batch of {_span([min(batch_size, n) for n in images])} images, "
        f"whose distance is that from the {validation:,} of V. The estimate of the Wasserstein "
        "distance falls as samples grow, so distances compare within a run only."
    )


def _span(numbers: Collection[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def sources(
    policies: Sequence[str],
    labels: pd.DataFrame,
    accuracies: pd.DataFrame,
    inoperable: pd.DataFrame,
) -> list[str]:
    """What came from elsewhere, a sentence each.

    Args:
        policies: names of policies from elsewhere.
        labels: of `reference_tables.read_fits`; empty where labels were measured.
        accuracies: of `reference_tables.read_accuracies`; empty where there is no reference.
        inoperable: of `reference_tables.read_inoperable`, likewise.
    """
    told = {
        "Policies from elsewhere": policies,
        "Accuracies and distances of others behind the operability labels": _files(labels),
        "Reference": _files(accuracies),
        "Reference of % inoperable": _files(inoperable),
    }
    return [
        f"{what}: {', '.join(f'`{name}`' for name in names)}."
        for what, names in told.items()
        if len(names)
    ]


def _files(table: pd.DataFrame) -> list[str]:
    return list(table["file"].unique()) if len(table) else []


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
