import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from superstar.pipelines.operability.figures import (
    SHOWN_LEAVES,
    deciding_splits,
    depths_figure,
    tree_figure,
)


def grown(depth, labels=None, count=600):
    rng = np.random.default_rng(0)
    states = rng.random((count, 3)) * [2, 0.5, 5]
    wanted = rng.integers(0, 2, count) if labels is None else labels
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(states, wanted)


def boxes(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_a_small_tree_is_drawn_as_far_as_it_decides():
    tree = grown(2)
    drawn, splits = boxes(tree_figure(tree)), len(deciding_splits(tree, SHOWN_LEAVES - 1))
    assert len(drawn) == 1 + 2 * splits
    assert sum("≤" in text for text in drawn) == splits == 2


def test_a_deep_tree_is_cut_to_what_decides_and_says_so():
    tree = grown(8)
    figure = tree_figure(tree)
    assert sum("≤" not in text for text in boxes(figure)) == SHOWN_LEAVES
    title = figure.axes[0].get_title()
    assert f"depth {tree.get_depth()} with {tree.get_n_leaves()} leaves" in title
    assert f"the {SHOWN_LEAVES - 1} splits that decide most" in title


def test_splits_that_decide_hang_together_and_change_the_verdict():
    inner = grown(8).tree_
    split = deciding_splits(grown(8), 5)
    assert 0 in split
    above = {
        int(child): node
        for node in range(inner.node_count)
        for child in (inner.children_left[node], inner.children_right[node])
    }
    assert all(above[node] in split for node in split - {0})
    # Below the root all is one verdict, though shares differ.
    states = np.column_stack([np.zeros(90), np.zeros(90), np.repeat([1.0, 2.0, 3.0], 30)])
    labels = np.concatenate([np.repeat([1, 0], [25, 5]), np.repeat([1, 0], [20, 10]), np.ones(30)])
    assert deciding_splits(DecisionTreeClassifier(max_depth=2).fit(states, labels), 5) == set()


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
