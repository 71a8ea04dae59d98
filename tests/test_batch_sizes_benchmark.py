import pytest

from benchmarks import batch_sizes
from projects import make_project


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_finished_run_has_both_tables(finished_run, capsys):
    given = ["--project", str(finished_run.root), "--env", "test", "--draws", "40"]
    batch_sizes.main([*given, "--shifts", "contrast", "--sizes", "10", "20"])
    text = capsys.readouterr().out
    rows = rows_of(text)
    alarms = [row for row in rows if row[0].isdigit()]
    assert [row[0] for row in alarms] == ["1", "10", "25", "50"]  # of 68 test images
    assert all(0 <= float(row[2]) <= 100 for row in alarms)
    (contrast,) = [row for row in rows if row[0] == "contrast"]
    assert len(contrast) == 3
    assert all(-100 <= float(gain) <= 100 for gain in contrast[1:])


def test_without_a_run_it_says_so(tmp_path):
    project = make_project(tmp_path / "project")
    with pytest.raises(SystemExit, match="no finished run"):
        batch_sizes.main(["--project", str(project.root), "--env", "test"])
