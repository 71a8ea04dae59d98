"""Where the distance can be trusted (paper, Minimum Condition for Operability, appendix E)."""

import logging
from collections.abc import Callable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor, nn

from superstar.classifiers import accuracy
from superstar.control.operability import (
    auroc,
    fit_tree,
    percent_inoperable,
    regression_labels,
    shared_reference,
)
from superstar.images import ImageSet
from superstar.measures import FEATURES, Distance, Projection, state_features
from superstar.parameters import Execution, Operability
from superstar.pipelines.operability import figures
from superstar.weights import on_device

logger = logging.getLogger(__name__)

COLUMNS = list(FEATURES)
LABELLED_SEVERITY = 5


def measure_surrogates(
    surrogates: dict[str, Callable[[], ImageSet]],
    strengths: dict[str, list[float]],
    clean: ImageSet,
    points: Tensor,
    projection: dict[str, Any],
    measure: dict[str, Any],
    shared_images: float,
    classifier: nn.Module,
    external: pd.DataFrame,
    execution: dict[str, Any],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy and distance of each surrogate set, and the state of each of its images.

    A share of the points that distances are measured to are those of the surrogates' own clean
    images. Accuracies and distances of others take the place of measured ones.
    """
    run, project = Execution.model_validate(execution), Projection.from_dict(projection)
    distance, classifier = Distance.from_dict(measure), on_device(classifier, run.device)
    reference = shared_reference(
        points, lambda count: project(clean.batch(slice(count))), shared_images
    )
    fits, states = [], []
    for surrogate, levels in strengths.items():
        for severity in range(1, len(levels) + 1):
            shifted = surrogates[f"{surrogate}/{severity}"]()
            images = shifted.batch()
            if external.empty:
                fits.append(
                    {
                        "surrogate": surrogate,
                        "severity": severity,
                        "accuracy": accuracy(
                            classifier, images, shifted.labels, run.batch_size, run.device
                        ),
                        "distance": distance(reference, project(images)),
                    }
                )
            table = pd.DataFrame(state_features(images).numpy(), columns=COLUMNS)
            table.insert(0, "image", range(len(images)))
            states.append(table.assign(surrogate=surrogate, severity=severity))
    taken = pd.DataFrame(fits) if external.empty else _in_order(external, list(strengths))
    return taken, pd.concat(states, ignore_index=True)


def _in_order(fits: pd.DataFrame, surrogates: list[str]) -> pd.DataFrame:
    parts = [fits[fits["surrogate"] == name] for name in surrogates]
    return pd.concat(parts, ignore_index=True)


def fit_operability(
    fits: pd.DataFrame, states: pd.DataFrame, parameters: dict[str, Any], seed: int
) -> tuple[DecisionTreeClassifier, pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The tree, the labels it learned, the depth sweep, % inoperable by surrogate, and metrics.

    The tree sees images at the strongest severity; it is judged on images held out, at all five.
    """
    given = Operability.model_validate(parameters)
    labels = regression_labels(fits, given.r_squared)
    operable = labels.set_index("surrogate")["operable"]
    if not operable.any():
        logger.warning(
            "no surrogate is operable (a slope below 0 and R² above %g): the tree will forbid "
            "every correction",
            given.r_squared,
        )
    for name, accuracies in fits.groupby("surrogate", sort=False)["accuracy"]:
        if accuracies.nunique() == 1:
            logger.warning(
                "%s: accuracy is the same at every severity, so it counts as inoperable: more "
                "images (data_preparation.validation) would tell",
                name,
            )
    strongest = states[states["severity"] == LABELLED_SEVERITY]
    fit = fit_tree(
        strongest[COLUMNS],
        strongest["surrogate"].map(operable),
        strongest["image"],
        depths=given.depths,
        holdout=given.holdout,
        seed=seed,
    )
    held_out = states[states["image"].isin(fit.holdout_groups)]
    inoperable = pd.DataFrame(
        {"surrogate": name, "percent_inoperable": percent_inoperable(fit.tree, part[COLUMNS])}
        for name, part in held_out.groupby("surrogate", sort=False)
    )
    share = float(strongest["surrogate"].map(operable)[fit.holdout].mean())
    metrics = {
        "operability.auroc": auroc(
            fit.tree, held_out[COLUMNS], held_out["surrogate"].map(operable)
        ),
        "operability.depth": float(fit.tree.get_depth()),
        "operability.leaves": float(fit.tree.get_n_leaves()),
        "operability.accuracy": float(fit.sweep["accuracy"].max()),
        "operability.commonest": max(share, 1 - share),
        "operability.images": float(strongest["image"].nunique()),
        "operability.operable_surrogates": float(operable.sum()),
    }
    return fit.tree, labels, fit.sweep, inoperable, metrics


def draw_tree(
    tree: DecisionTreeClassifier, sweep: pd.DataFrame, metrics: dict[str, float]
) -> tuple[Figure, Figure]:
    """The tree, and the sweep that chose its depth."""
    commonest = metrics["operability.commonest"]
    return figures.tree_figure(tree), figures.depths_figure(sweep, tree.max_depth, commonest)
