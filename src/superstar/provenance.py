"""What an artifact was made from: which outputs of a run can be kept.

A node's fingerprint covers the version of the package, the node's name, the values of its
parameters, the content of the artifacts it reads and, where there is frost, the source of its
textures. An artifact's stamp holds the fingerprint of the node that wrote it and a digest of its
own content, so a chain of stamps tells whether what lies on disk is what these parameters would
give.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from superstar import __version__
from superstar.actions.denoiser import PACKAGED_SHA256
from superstar.classifiers.named import file_of
from superstar.corruptions import frost_of, spell_out
from superstar.decoding import user_path
from superstar.digests import Digests

# These change where and how fast a run computes, not its results.
SPEED_ALONE = {
    "params:execution": frozenset({"workers", "batch_size", "backend", "address", "retries"}),
    "params:policy_training": frozenset({"checkpoint_episodes", "memory_limit_mb"}),
    "params:benchmark_generation": frozenset({"batch_size"}),
    # Where images come from and go to: their own digests tell what they are.
    "params:corrupt": frozenset({"batch_size", "input", "output"}),
    "params:recover": frozenset({"input", "output", "supervisor"}),
}
# These name shifts, and frost depends on what is installed.
SHIFTING = ("params:corrupt", "params:benchmark_generation")


@dataclass(frozen=True)
class Stamp:
    """What is recorded of a finished artifact.

    Attributes:
        made_from: fingerprint of the node that wrote it.
        content: digest of its content.
    """

    made_from: str
    content: str


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
    node: NodeLike,
    parameters: Mapping[str, Any],
    contents: Mapping[str, str],
    digests: Digests,
) -> str:
    """Fingerprint of a node from its parameters' values and its inputs' digests.

    Args:
        node: of a pipeline.
        parameters: values of all parameters that it reads.
        contents: digests of the artifacts and other data that it reads, as far as they can tell.
        digests: for files that parameters name.
    """
    made_from = {
        name: _results_of(name, parameters[name], digests)
        if is_parameter(name)
        else contents.get(name)
        for name in sorted(set(node.inputs))
    }
    text = json.dumps(
        {"version": __version__, "node": node.name, "inputs": made_from},
        sort_keys=True,
        default=str,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _results_of(name: str, value: Any, digests: Digests) -> Any:
    """The part of a parameter's value that decides results, with the files that it names."""
    if name in SPEED_ALONE:
        value = {key: part for key, part in value.items() if key not in SPEED_ALONE[name]}
    if name == "params:classifier_training":
        value = value | {"published": _files_of(value["published"], digests)}
    if name == "params:classifier_training.published":
        value = _files_of(value, digests)
    if name == "params:denoiser_training":
        value = value | {"source": _denoiser_of(value["source"], digests)}
    if name in SHIFTING:
        shifts = spell_out(value["shifts"])
        value = value | {"shifts": shifts, "frost": frost_of(shifts)}
    return value


def _files_of(published: Mapping[str, Any], digests: Digests) -> dict[str, Any]:
    """Published classifiers; those that are files by what these hold."""
    return {
        name: _named_file(entry, digests)
        if isinstance(entry, str)
        else {**entry, "path": digests.of_file(user_path(entry["path"]))}
        for name, entry in published.items()
    }


def _named_file(name: str, digests: Digests) -> str:
    file = file_of(name)
    return name if file is None else digests.of_file(file)


def _denoiser_of(source: str, digests: Digests) -> str:
    """Where a denoiser comes from: a digest of its weights, unless the run trains it."""
    if source == "packaged":
        return PACKAGED_SHA256
    return source if source == "train" else digests.of_file(user_path(source))


def outdated(
    nodes: Iterable[NodeLike],
    parameters: Mapping[str, Any],
    stamps: Mapping[str, Stamp],
    external: Mapping[str, str],
    digests: Digests,
) -> set[str]:
    """The artifacts that are missing or that these parameters would not give.

    Args:
        nodes: in an order in which they can run.
        parameters: values of all parameters that the nodes read.
        stamps: of the artifacts that are there, whole.
        external: digests of what else the nodes read, where there are any. An environment may
            take from there what a node makes in another one.
        digests: for files that parameters name.
    """
    stale: set[str] = set()
    contents = {name: stamp.content for name, stamp in stamps.items()} | dict(external)
    for node in nodes:
        made = node_fingerprint(node, parameters, contents, digests)
        fed_by_stale = bool(stale & set(node.inputs))
        stale |= {
            name
            for name in node.outputs
            if name not in external
            and (fed_by_stale or name not in stamps or stamps[name].made_from != made)
        }
    return stale


def is_parameter(name: str) -> bool:
    """Whether a node's input is a parameter rather than an artifact."""
    return name == "parameters" or name.startswith("params:")
