import pytest
from kedro.io import DatasetError

from superstar.datasets import StageTimesDataset


def test_nodes_are_added_and_replaced_in_the_order_in_which_they_ended(tmp_path):
    times = StageTimesDataset(filepath=str(tmp_path / "benchmark" / "times.csv"))
    assert times.load().empty
    for row in [("b", "b1", 1.0, 0.5), ("a", "a1", 2.0, 0.7), ("b", "b1", 3.0, 0.6)]:
        times.note(*row)
    assert times.load().to_numpy().tolist() == [["a", "a1", 2.0, 0.7], ["b", "b1", 3.0, 0.6]]
    assert [path.name for path in (tmp_path / "benchmark").iterdir()] == ["times.csv"]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "\xff\xfe"])
def test_a_damaged_table_is_begun_anew(tmp_path, content):
    (tmp_path / "times.csv").write_bytes(content.encode("latin-1"))
    times = StageTimesDataset(filepath=str(tmp_path / "times.csv"))
    assert times.load().empty
    times.note("a", "a1", 1.0, 0.5)
    assert times.load().to_numpy().tolist() == [["a", "a1", 1.0, 0.5]]


def test_no_node_may_make_it(tmp_path):
    with pytest.raises(DatasetError, match="noted by a hook"):
        StageTimesDataset(filepath=str(tmp_path / "times.csv")).save("anything")
