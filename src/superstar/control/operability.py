"""Where the distance can be trusted: labels, tree and its scores (paper, section 5.1, appendix E).

A shift is operable where the distance to the validation set falls as accuracy rises, in a straight
line. Labels come from surrogates; a decision tree on the state features carries them over to
images whose accuracy nobody knows.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from os import PathLike
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import numpy as np
import pandas as pd
import torch
from numpy.lib import format as numpy_format
from numpy.typing import ArrayLike, NDArray
from scipy.stats import linregress
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from superstar.errors import InputError
from superstar.images import check_seed
from superstar.integers import whole
from superstar.measures import FEATURES

TRUSTED_TYPES = ["sklearn.tree._tree.Tree"]
SCHEMA = "schema.json"
ADDRESS = re.compile(r'(?<="__id__": )\d+|\d+(?=\.npy")')
"""By which skops names what lay there in memory."""


@dataclass(frozen=True)
class TreeFit:
    """A fitted operability tree.

    Attributes:
        tree: classes 0 (inoperable) and 1 (operable).
        depth: the depth chosen.
        sweep: one row a depth: `depth`, `accuracy` and `auroc` (None where the hold-out has one
            class only) on the hold-out, `leaves`.
        holdout: bool (n,), the states that the tree was not trained on.
        holdout_groups: the image ids held out, sorted.
    """

    tree: DecisionTreeClassifier
    depth: int
    sweep: pd.DataFrame
    holdout: NDArray[np.bool_]
    holdout_groups: NDArray[np.int64]


def shared_reference(points: Tensor, own: Callable[[int], Tensor], share: float) -> Tensor:
    """Points to measure a shifted set's distance to; some are its own clean images'.

    The authors drew a shifted batch and a clean one from the same images, so on CIFAR-100 a tenth
    stands on both sides. They chose the threshold of R² by such distances. Disjoint sets are
    further apart, the more so the less the shift, and R² is lower.

    Args:
        points: of clean validation images, (N, dimensions).
        own: the points of so many of the shifted set's images before the shift.
        share: of the points that come from `own`, in [0, 1].

    Returns:
        (N, dimensions): the first of `points`, then those of `own`.

    Raises:
        InputError: a share out of its range, or fewer images than it asks for.
    """
    if not 0 <= share <= 1:
        raise InputError(f"the share of images on both sides must lie in [0, 1], not {share}")
    count = round(share * len(points))
    if count == 0:
        return points
    shared = own(count)
    if len(shared) < count:
        raise InputError(
            f"{count} of {len(points)} validation points should be of the shifted images "
            f"themselves, but there are {len(shared)} of these: lower operability.shared_images"
        )
    return torch.cat([points[: len(points) - count], shared])


def regression_labels(fits: pd.DataFrame, r_squared_threshold: float) -> pd.DataFrame:
    """Which surrogates are operable (definition "Operable Set").

    Args:
        fits: one row a surrogate and severity: `surrogate`, `severity`, `accuracy` (in [0, 1]),
            `distance`.
        r_squared_threshold: the R² to exceed, in [0, 1].

    Returns:
        One row a surrogate, in order of appearance: `surrogate`, `slope`, `intercept`, `r_squared`
        of the least-squares line of distance on accuracy, and `operable`: slope < 0 and R² above
        the threshold. Where accuracy does not vary there is no line: slope 0, R² 0, not operable.

    Raises:
        InputError: a missing column, fewer than three severities, values not finite.
    """
    missing = {"surrogate", "severity", "accuracy", "distance"} - set(fits.columns)
    if missing:
        raise InputError(f"the table of fits lacks the columns {', '.join(sorted(missing))}")
    if not 0 <= r_squared_threshold <= 1:
        raise InputError(f"the R² threshold must lie in [0, 1], not {r_squared_threshold}")
    rows = []
    for surrogate, points in fits.groupby("surrogate", sort=False):
        accuracy = points["accuracy"].to_numpy(dtype=np.float64)
        distance = points["distance"].to_numpy(dtype=np.float64)
        if len(points) < 3:
            raise InputError(f"{surrogate} has {len(points)} severities: a line needs three")
        if not (np.isfinite(accuracy).all() and np.isfinite(distance).all()):
            raise InputError(f"{surrogate} has an accuracy or a distance that is not finite")
        slope, intercept, r_squared = 0.0, float(distance.mean()), 0.0
        if np.ptp(accuracy) > 0:
            line = linregress(accuracy, distance)
            slope, intercept = float(line.slope), float(line.intercept)
            r_squared = float(line.rvalue**2) if np.ptp(distance) > 0 else 0.0
        rows.append(
            {
                "surrogate": surrogate,
                "slope": slope,
                "intercept": intercept,
                "r_squared": r_squared,
                "operable": slope < 0 and r_squared > r_squared_threshold,
            }
        )
    return pd.DataFrame(rows)


def fit_tree(
    states: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    depths: Sequence[int] = range(3, 11),
    holdout: float = 0.2,
    seed: int = 0,
) -> TreeFit:
    """Train the operability classifier: a Gini tree, its depth chosen on a hold-out.

    Args:
        states: (n, 3), state features of single images.
        labels: (n,), operable or not.
        groups: (n,), ids of the images that the states were taken from. All states of an image
            fall on the same side of the split: the same picture under two surrogates would
            otherwise tell the tree what it is to be judged on.
        depths: the depths to try, each at least 1.
        holdout: share of the images held out, in (0, 1).
        seed: of the split and the trees.

    Returns:
        The tree of the least depth with the best hold-out accuracy, trained on the rest. Labels of
        one class give a tree that always says that class.

    Raises:
        InputError: shapes that do not match, values not finite, fewer than two images, no depth.
    """
    features = check_states(states)
    seed = check_seed(seed)
    wanted = _zero_or_one(labels)
    owners = np.asarray(groups)
    if wanted.shape != (len(features),) or owners.shape != (len(features),):
        raise InputError(
            f"{len(features)} states need as many labels and image ids, "
            f"not {wanted.shape} and {owners.shape}"
        )
    images = len(np.unique(owners))
    if images < 2:
        raise InputError("the tree needs at least two images: one to learn from, one held out")
    if not 0 < holdout < 1 or ceil(holdout * images) >= images:
        raise InputError(
            f"the share held out must lie in (0, 1) and leave some of the {images} images to "
            f"learn from, not {holdout}"
        )
    wanted_depths = sorted({whole(depth, "a depth to try", 1) for depth in depths})
    if not wanted_depths:
        raise InputError("depths to try: at least one is needed")

    splitter = GroupShuffleSplit(n_splits=1, test_size=holdout, random_state=seed)
    train, test = next(splitter.split(features, wanted, owners))
    trees = {}
    rows = []
    for depth in wanted_depths:
        tree = DecisionTreeClassifier(criterion="gini", max_depth=depth, random_state=seed)
        trees[depth] = tree.fit(features[train], wanted[train])
        rows.append(
            {
                "depth": depth,
                "accuracy": float((tree.predict(features[test]) == wanted[test]).mean()),
                "auroc": auroc(tree, features[test], wanted[test]),
                "leaves": int(tree.get_n_leaves()),
            }
        )
    sweep = pd.DataFrame(rows)
    best = int(sweep["depth"].iloc[int(sweep["accuracy"].to_numpy().argmax())])
    held = np.zeros(len(features), dtype=bool)
    held[test] = True
    return TreeFit(trees[best], best, sweep, held, np.unique(owners[test]))


def auroc(tree: DecisionTreeClassifier, states: ArrayLike, labels: ArrayLike) -> float | None:
    """Area under the tree's ROC curve, in [0, 1]; None where the labels are of one class.

    Args:
        tree: the operability tree.
        states: (n, 3).
        labels: (n,), operable or not.

    Raises:
        InputError: states as `check_states` refuses them, or labels that do not go with them.
    """
    wanted, features = _zero_or_one(labels), check_states(states)
    if wanted.shape != (len(features),):
        raise InputError(f"{len(features)} states need as many labels, not {wanted.shape}")
    if len(np.unique(wanted)) < 2:
        return None
    # A tree that saw one class has a single column of probabilities.
    classes = list(tree.classes_)
    scores = np.zeros(len(features))
    if 1 in classes:
        scores = tree.predict_proba(features)[:, classes.index(1)]
    return float(roc_auc_score(wanted, scores))


def percent_inoperable(tree: DecisionTreeClassifier, states: ArrayLike) -> float:
    """How many of the single images (n, 3) the tree calls inoperable, in percent."""
    return float(100 * (tree.predict(check_states(states)) == 0).mean())


def is_operable(tree: DecisionTreeClassifier, state: ArrayLike) -> bool:
    """What the tree says of one state (3,)."""
    return bool(tree.predict(check_states(np.asarray(state)[None]))[0] == 1)


def save_tree(tree: DecisionTreeClassifier, path: str | PathLike[str]) -> None:
    """Write the tree with skops, which holds data only. Equal trees give equal bytes."""
    import skops.io  # takes a second, which few callers need

    Path(path).write_bytes(_numbered(skops.io.dumps(tree)))


def _numbered(archive: bytes) -> bytes:
    """The archive without times, its parts named by their order rather than by addresses."""
    with ZipFile(BytesIO(archive)) as given:
        parts = {name: given.read(name) for name in given.namelist()}
    numbers: dict[str, str] = {}
    schema = ADDRESS.sub(
        lambda found: numbers.setdefault(found[0], str(len(numbers))), parts.pop(SCHEMA).decode()
    )
    made = BytesIO()
    with ZipFile(made, "w") as whole:
        for name in sorted(parts, key=lambda name: int(numbers[Path(name).stem])):
            whole.writestr(ZipInfo(f"{numbers[Path(name).stem]}.npy"), _zero_padded(parts[name]))
        whole.writestr(ZipInfo(SCHEMA), schema)
    return made.getvalue()


def _zero_padded(file: bytes) -> bytes:
    """An array's file with 0 in the bytes between its fields, which nothing sets."""
    array, made = np.load(BytesIO(file)), BytesIO()
    if array.dtype.names is None:
        return file
    padded = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names:
        padded[field] = array[field]
    # NumPy's own copies leave out what lies between fields, so the bytes are taken as such.
    numpy_format.write_array_header_1_0(made, numpy_format.header_data_from_array_1_0(padded))
    return made.getvalue() + padded.view(np.uint8).tobytes()


def load_tree(path: str | PathLike[str]) -> DecisionTreeClassifier:
    """Read what `save_tree` wrote.

    Raises:
        InputError: no such file, truncated, types beyond a tree's, or not an operability tree.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no operability tree at {path}: train one or correct the path")
    import skops.io

    try:
        tree = skops.io.load(path, trusted=TRUSTED_TYPES)
    except Exception as error:  # damage can surface anywhere in the archive, the JSON or the arrays
        summary = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is damaged or not an operability tree ({summary})") from error
    if (
        not isinstance(tree, DecisionTreeClassifier)
        or getattr(tree, "n_features_in_", None) != len(FEATURES)
        or not hasattr(tree, "tree_")
        or tree.n_outputs_ != 1
        or not np.isin(tree.classes_, (0, 1)).all()
        or not _grows_downwards(tree)
    ):
        raise InputError(f"{path} is not an operability tree on {', '.join(FEATURES)}")
    return tree


def _grows_downwards(tree: DecisionTreeClassifier) -> bool:
    """Whether every path ends: scikit-learn follows the numbers of nodes without looking."""
    inner, count = tree.tree_, tree.tree_.node_count
    if count < 1 or len(inner.children_left) != count or len(inner.children_right) != count:
        return False
    left, right, feature = inner.children_left, inner.children_right, inner.feature
    own, leaf = np.arange(count), inner.children_left == -1
    below = (left > own) & (left < count) & (right > own) & (right < count)
    known = (feature >= 0) & (feature < len(FEATURES))
    return bool(np.where(leaf, right == -1, below & known).all())


def _zero_or_one(labels: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(labels)
    if not np.isin(given, (0, 1)).all():
        raise InputError("labels must be operable (1, True) or not (0, False)")
    return given.astype(np.int64)


def check_states(states: ArrayLike) -> NDArray[np.float32]:
    """State features of images as an array (n, 3).

    Raises:
        InputError: another shape, no state, values not finite.
    """
    features = np.asarray(states, dtype=np.float32)
    if features.ndim != 2 or features.shape[1] != len(FEATURES) or len(features) == 0:
        raise InputError(f"states must have shape (n, {len(FEATURES)}), not {features.shape}")
    if not np.isfinite(features).all():
        raise InputError("states hold NaN or infinite values")
    return features
