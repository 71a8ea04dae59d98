import pytest

from benchmarks import peers_memory


@pytest.mark.parametrize("name", ["network", "tent", "calibrated"])
def test_each_is_asked_in_turn(finished_run, name):
    peak = peers_memory._peak(name, finished_run.data("06_models"), 32, 4)
    assert peak > 100  # PyTorch alone takes more


def test_a_folder_without_a_supervisor_is_told(tmp_path):
    with pytest.raises(SystemExit, match="kedro run"):
        peers_memory.main([str(tmp_path)])
