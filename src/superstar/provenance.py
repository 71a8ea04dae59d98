"""Fingerprints: what an artifact was made from.

A node's fingerprint covers the version of the package, the node's name, its parameters, and the
fingerprints of the artifacts it reads; an artifact's, that of the node that wrote it and its own
name. Equal fingerprints mean equal content, since every node is deterministic.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from superstar import __version__

# How a run is executed changes its speed, not its results.
NOT_RESULTS = frozenset({"params:execution"})


class NodeLike(Protocol):
    """What of a Kedro node is needed here."""

    @property
    def name(self) -> str:
        """Unique name."""

    @property
    def inputs(self) -> list[str]:
        """Names of datasets and parameters read."""

    @property
    def outputs(self) -> list[str]:
        """Names of datasets written."""


def node_fingerprint(
    node: NodeLike, parameters: Mapping[str, Any], artifacts: Mapping[str, str | None]
) -> str:
    """Fingerprint of a node, from its parameters' values and its input artifacts' fingerprints."""
    made_from = {
        name: parameters[name] if is_parameter(name) else artifacts.get(name)
        for name in sorted(set(node.inputs) - NOT_RESULTS)
    }
    return _digest({"version": __version__, "node": node.name, "inputs": made_from})


def artifact_fingerprint(node: str, artifact: str) -> str:
    """Fingerprint of an artifact, from that of the node that wrote it."""
    return _digest({"node": node, "artifact": artifact})


def expected_fingerprints(
    nodes: Iterable[NodeLike], parameters: Mapping[str, Any]
) -> dict[str, str | None]:
    """The fingerprint every artifact has once all nodes (in order) ran with these parameters."""
    artifacts: dict[str, str | None] = {}
    for node in nodes:
        made = node_fingerprint(node, parameters, artifacts)
        artifacts |= {name: artifact_fingerprint(made, name) for name in node.outputs}
    return artifacts


def is_parameter(name: str) -> bool:
    """Whether a node's input is a parameter rather than an artifact."""
    return name == "parameters" or name.startswith("params:")


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
