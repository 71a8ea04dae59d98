import pytest

from benchmarks import batch_sizes
from projects import make_project


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_finished_run_has_the_tables_and_the_figure(finished_run, capsys, tmp_path):
    given = ["--project", str(finished_run.root), "--env", "test", "--draws", "40"]
    figure = tmp_path / "sizes.png"
    wanted = ["--shifts", "contrast", "--sizes", "10", "20", "--figure", str(figure)]
    batch_sizes.main([*given, *wanted])
    assert figure.read_bytes()[:4] == b"\x89PNG"
    text = capsys.readouterr().out
    rows = rows_of(text)
    alarms = [row for row in rows if row[0].isdigit()]
    assert [row[0] for row in alarms] == ["1", "10", "25", "50"]  # of 68 test images
    assert all(0 <= float(row[2]) <= 100 for row in alarms)
    both = {"paper", "calibrated"}
    by_size = [row for row in rows if row[0] in both and len(row) == 4]
    assert {(row[0], row[1]) for row in by_size} == {
        (controller, shift) for controller in both for shift in ("none", "contrast")
    }
    assert all(-100 <= float(gain) <= 100 for row in by_size for gain in row[2:])
    halves = [row for row in rows if row[0] in both and len(row) == 5]
    assert {(row[0], row[1], row[2]) for row in halves} == {
        (controller, "none", "contrast") for controller in both
    }


def test_without_a_run_it_says_so(tmp_path):
    project = make_project(tmp_path / "project")
    with pytest.raises(SystemExit, match="no finished run"):
        batch_sizes.main(["--project", str(project.root), "--env", "test"])
