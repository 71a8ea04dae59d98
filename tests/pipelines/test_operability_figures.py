import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from superstar.pipelines.operability.figures import SHOWN_DEPTH, depths_figure, tree_figure


def grown(depth, labels=None, count=600):
    rng = np.random.default_rng(0)
    states = rng.random((count, 3)) * [2, 0.5, 5]
    wanted = rng.integers(0, 2, count) if labels is None else labels
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(states, wanted)


def boxes(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_node_of_a_small_tree_is_drawn():
    tree = grown(3)
    drawn = boxes(tree_figure(tree))
    assert len(drawn) == tree.tree_.node_count
    assert sum("≤" in text for text in drawn) == tree.tree_.node_count - tree.get_n_leaves()
    assert not any("…" in text for text in drawn)


def test_a_deep_tree_is_cut_and_says_so():
    tree = grown(SHOWN_DEPTH + 3)
    figure = tree_figure(tree)
    drawn = boxes(figure)
    assert any("…" in text for text in drawn)
    assert len(drawn) < tree.tree_.node_count
    title = figure.axes[0].get_title()
    assert f"depth {tree.get_depth()} with {tree.get_n_leaves()} leaves" in title
    assert f"drawn to depth {SHOWN_DEPTH}" in title


@pytest.mark.parametrize(("label", "share"), [(0, "0%"), (1, "100%")])
def test_a_tree_that_knows_one_class_is_one_box(label, share):
    (text,) = boxes(tree_figure(grown(3, np.full(600, label))))
    assert text == f"{share} operable of 600"


def test_boxes_hold_their_nodes_shares():
    states = np.column_stack([np.zeros(100), np.zeros(100), np.repeat([1.0, 3.0], [40, 60])])
    labels = np.repeat([0, 1], [40, 60])
    drawn = boxes(tree_figure(DecisionTreeClassifier(max_depth=2).fit(states, labels)))
    assert sorted(drawn) == [
        "0% operable of 40",
        "100% operable of 60",
        "entropy ≤ 2 bits\n60% operable of 100",
    ]


def test_the_sweep_is_drawn_where_auroc_is_not_defined():
    sweep = pd.DataFrame({"depth": [3, 4], "accuracy": [0.8, 0.9], "auroc": [None, None]})
    (axis,) = depths_figure(sweep, 4, 0.7).axes
    assert axis.lines[0].get_label() == "chosen: 4"
    assert list(axis.lines[0].get_xdata()) == [4, 4]
    np.testing.assert_array_equal(axis.lines[1].get_ydata(), [0.8, 0.9])
    assert np.isnan(axis.lines[2].get_ydata()).all()
