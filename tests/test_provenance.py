from dataclasses import dataclass, field

from superstar.provenance import (
    artifact_fingerprint,
    expected_fingerprints,
    node_fingerprint,
)


@dataclass
class Node:
    name: str
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)


CHAIN = [
    Node("make", ["params:make", "params:execution"], ["made", "table"]),
    Node("use", ["made", "params:use"], ["used"]),
]
PARAMETERS = {"params:make": {"size": 3}, "params:use": 1, "params:execution": {"workers": 2}}


def test_equal_parameters_give_equal_fingerprints():
    again = {"params:use": 1, "params:execution": {"workers": 2}, "params:make": {"size": 3}}
    assert expected_fingerprints(CHAIN, PARAMETERS) == expected_fingerprints(CHAIN, again)


def test_artifacts_of_one_node_differ():
    expected = expected_fingerprints(CHAIN, PARAMETERS)
    assert len(set(expected.values())) == 3


def test_a_parameter_changes_all_that_follows_from_it():
    before = expected_fingerprints(CHAIN, PARAMETERS)
    after = expected_fingerprints(CHAIN, PARAMETERS | {"params:make": {"size": 4}})
    assert all(before[name] != after[name] for name in before)


def test_a_parameter_changes_nothing_that_does_not():
    before = expected_fingerprints(CHAIN, PARAMETERS)
    after = expected_fingerprints(CHAIN, PARAMETERS | {"params:use": 2})
    assert before["made"] == after["made"]
    assert before["used"] != after["used"]


def test_how_a_run_is_executed_changes_nothing():
    before = expected_fingerprints(CHAIN, PARAMETERS)
    after = expected_fingerprints(CHAIN, PARAMETERS | {"params:execution": {"workers": 8}})
    assert before == after


def test_expected_fingerprints_are_those_of_a_run():
    made = node_fingerprint(CHAIN[0], PARAMETERS, {})
    artifact = artifact_fingerprint(made, "made")
    used = node_fingerprint(CHAIN[1], PARAMETERS, {"made": artifact})
    assert expected_fingerprints(CHAIN, PARAMETERS)["used"] == artifact_fingerprint(used, "used")
