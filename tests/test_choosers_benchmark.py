from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import choosers, sequences
from benchmarks.choosers import Policy, Search
from benchmarks.sequences import Cell, Node
from projects import make_project
from superstar.control.calibrated import Limits
from superstar.control.worth import Worth
from superstar.training import global_seed

HOME = 0.1
CONTROLLER = SimpleNamespace(
    limits=Limits(3, 64, least_fall=0.1, most_rise=0.02, least_gain=0.1),
    worth={name: Worth(0.05, (0.0, 1.0), (0.0, 0.9)) for name in ("first", "second", "harm")},
)


def cell(first, second, shifts=(("a", 1),), pool=0):
    """Each band costs 20 points; a candidate takes its band away; `harm` alone costs 10."""

    def node(bands, left):
        accuracy = 90 - 20 * sum(bands) - 10 * ("harm" not in left)
        after = {}
        if len(left) > 1:
            after = {
                name: node([0.0 if i == place else b for i, b in enumerate(bands)], left - {name})
                for place, name in enumerate(("first", "second", "harm"))
                if name in left
            }
        return Node(np.array(bands), accuracy, 1.0, after)

    return Cell(shifts, pool, node([first, second], {"first", "second", "harm"}))


def cells():
    rng = np.random.default_rng(0)
    shifts = [(("a", 1),), (("b", 1),), (("a", 2), ("b", 2))]
    made = [
        cell(*(rng.uniform(0.5, 1, 2) * on), shifts=shift, pool=pool)
        for on, shift in zip(([1, 0], [0, 1], [1, 1]), shifts, strict=True)
        for pool in (0, 1) * 4
    ]
    return [*made, *(cell(0.01, 0.01, (), pool) for pool in (0, 1))]


def policy_of(margins):
    with global_seed(0):
        policy = Policy(2, ["first", "second", "harm"], margins)
        policy.learn(cells())
    return policy


def test_the_policy_finds_what_helps_and_harms_nothing():
    policy = policy_of(None)
    for first, second in ((0.7, 0.0), (0.0, 0.8), (0.6, 0.9)):
        asked = cell(first, second)
        played = choosers.play(asked, policy, HOME)
        assert played["gain"] == pytest.approx(asked.root.best - asked.root.accuracy)
        assert played["seconds"] == (first > 0) + (second > 0)  # It tries what it takes alone.


def test_search_and_a_policy_with_its_margins_take_what_passes_alone():
    search = Search(CONTROLLER, {"second": CONTROLLER.worth["second"]})
    for chooser in (search, policy_of(search)):
        assert choosers.play(cell(0.7, 0.0), chooser, HOME) == {
            "gain": 0.0,
            "touched": 0.0,
            "seconds": 3.0,
        }
        assert choosers.play(cell(0.7, 0.5), chooser, HOME)["gain"] == pytest.approx(10)


def test_at_home_nothing_is_tried():
    clean = cell(0.05, 0.05)
    assert choosers.play(clean, Search(CONTROLLER, CONTROLLER.worth), HOME)["seconds"] == 0


def test_choosers_are_asked_what_they_did_not_learn(monkeypatch):
    learned = []

    def only(known, controller):
        learned.append(known)
        yield "search", 0, 0.0, Search(controller, controller.worth)

    monkeypatch.setattr(choosers, "choosers", only)
    made = cells()
    found = choosers.compare(made, CONTROLLER, HOME)
    assert [{c.pool for c in known} for known in learned] == [{0}, {1}] * 3
    left_out = [{name for c in known for name, _ in c.shifts} for known in learned]
    assert left_out == [{"a", "b"}] * 2 + [{"b"}] * 2 + [{"a"}] * 2
    assert len(found.query("learned == 'all surrogates learned'")) == len(made)
    row = choosers.summarise(found).iloc[0]
    assert row["% of the best"] == pytest.approx(100)
    assert row["% clean touched"] == 0


def test_a_finished_run_has_the_table(finished_run, monkeypatch, capsys):
    few = [(), (("gamma_increase", 4),), (("uniform_noise", 5),)]
    monkeypatch.setattr(sequences, "surrogate_shifts", lambda *_: few)
    monkeypatch.setattr(choosers, "UPDATES", 2)
    monkeypatch.setattr(choosers, "IMAGES", 20)
    choosers.main(["--project", str(finished_run.root), "--env", "test"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 2 * 4
    assert all(-100 <= float(line.split("|")[3]) <= 100 for line in lines[2:])


def test_without_a_run_it_says_so(tmp_path):
    project = make_project(tmp_path / "project")
    with pytest.raises(SystemExit, match="no finished run"):
        choosers.main(["--project", str(project.root), "--env", "test"])
