import os
from dataclasses import dataclass, field

import pytest

from superstar import provenance
from superstar.corruptions import SHIFTS, registry
from superstar.digests import Digests
from superstar.provenance import Stamp


@dataclass
class Node:
    name: str
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)


MAKE = Node("make", ["params:make", "params:execution"], ["made", "table"])
USE = Node("use", ["made", "params:use"], ["used"])
END = Node("end", ["used"], ["report"])
CHAIN = [MAKE, USE, END]
PARAMETERS = {
    "params:make": {"size": 3},
    "params:use": 1,
    "params:execution": {"workers": 2, "threads": 2},
}


def node_fingerprint(node, parameters, contents):
    return provenance.node_fingerprint(node, parameters, contents, Digests())


def outdated(nodes, parameters, stamps, external=None):
    return provenance.outdated(nodes, parameters, stamps, external or {}, Digests())


@pytest.fixture
def stamps():
    """What a whole run leaves."""
    stamps = {}
    for node in CHAIN:
        contents = {name: stamp.content for name, stamp in stamps.items()}
        made = node_fingerprint(node, PARAMETERS, contents)
        stamps |= {name: Stamp(made, f"content of {name}") for name in node.outputs}
    return stamps


def test_after_a_whole_run_nothing_is_outdated(stamps):
    reordered = dict(reversed(PARAMETERS.items()))
    assert outdated(CHAIN, PARAMETERS, stamps) == set()
    assert outdated(CHAIN, reordered, stamps) == set()


def test_what_is_read_from_elsewhere_is_no_artifact_of_a_node(stamps):
    others = {"made": "other images"}
    del stamps["made"]
    assert outdated(CHAIN, PARAMETERS, stamps, others) == {"used", "report"}
    made = node_fingerprint(USE, PARAMETERS, others)
    stamps |= {"used": Stamp(made, "content of used")}
    assert outdated(CHAIN, PARAMETERS, stamps, others) == set()


def test_before_any_run_everything_is():
    assert outdated(CHAIN, PARAMETERS, {}) == {"made", "table", "used", "report"}


def test_a_parameter_outdates_all_that_follows_from_it_and_nothing_else(stamps):
    assert outdated(CHAIN, PARAMETERS | {"params:use": 2}, stamps) == {"used", "report"}


@pytest.mark.parametrize("changed", [{"workers": 8}, {"backend": "dask", "retries": 0}])
def test_where_a_run_computes_outdates_nothing(changed, stamps):
    more = PARAMETERS | {"params:execution": {"workers": 2, "threads": 2} | changed}
    assert outdated(CHAIN, more, stamps) == set()


def test_the_number_of_threads_outdates_what_was_trained(stamps):
    more = PARAMETERS | {"params:execution": {"workers": 2, "threads": 1}}
    assert {"made", "table"} <= outdated(CHAIN, more, stamps)


def test_a_missing_artifact_outdates_what_is_made_from_it(stamps):
    del stamps["used"]
    assert outdated(CHAIN, PARAMETERS, stamps) == {"used", "report"}


def test_other_content_outdates_what_was_made_from_the_former(stamps):
    stamps["made"] = Stamp(stamps["made"].made_from, "content that a changed program gives")
    assert outdated(CHAIN, PARAMETERS, stamps) == {"used", "report"}


def test_equal_content_made_again_keeps_what_was_made_from_it(stamps):
    made = node_fingerprint(MAKE, PARAMETERS | {"params:make": {"size": 4}}, {})
    again = stamps | {n: Stamp(made, stamps[n].content) for n in ("made", "table")}
    assert outdated(CHAIN, PARAMETERS | {"params:make": {"size": 4}}, again) == set()


@pytest.mark.parametrize("parameters", ["params:corrupt", "params:benchmark_generation"])
def test_other_frost_textures_outdate_what_has_frost_alone(monkeypatch, parameters):
    def of_shifts(shifts):
        return node_fingerprint(Node("shift", [parameters]), {parameters: {"shifts": shifts}}, {})

    frosty, clear = of_shifts(["snow+frost"]), of_shifts("fog")
    assert of_shifts("imagenet_c") == of_shifts(["imagenet_c"]) == of_shifts(list(SHIFTS))
    monkeypatch.setattr(registry, "frost_source", lambda: "other photographs")
    assert of_shifts(["snow+frost"]) != frosty
    assert of_shifts("fog") == clear


def test_where_images_lie_and_how_many_are_in_memory_has_no_bearing():
    node = Node("shift", ["params:corrupt"])
    one, other = (
        {"params:corrupt": {"shifts": ["fog"], "crop": 64, "batch_size": n, "output": f"out{n}"}}
        for n in (1, 2)
    )
    assert node_fingerprint(node, one, {}) == node_fingerprint(node, other, {})
    other["params:corrupt"]["crop"] = 65
    assert node_fingerprint(node, one, {}) != node_fingerprint(node, other, {})


def test_external_data_that_changed_makes_what_was_made_of_it_outdated():
    read = Node("read", ["photos"], ["made"])
    stamps = {"made": Stamp(node_fingerprint(read, {}, {"photos": "these"}), "content")}
    assert outdated([read], {}, stamps, {"photos": "these"}) == set()
    assert outdated([read], {}, stamps, {"photos": "others"}) == {"made"}


def test_a_published_checkpoint_is_told_by_what_it_holds(tmp_path):
    def fingerprints(path):
        entry = {"theirs": {"path": str(path), "layout": "augmix"}}
        values = {
            "params:classifier_training": {"augmix": None, "published": entry},
            "params:classifier_training.published": entry,
        }
        return [node_fingerprint(Node("n", [name]), values, {}) for name in values]

    checkpoint = tmp_path / "theirs.pt"
    checkpoint.write_bytes(b"weights")
    before = fingerprints(checkpoint)
    os.utime(checkpoint, (0, 0))
    assert fingerprints(checkpoint) == before
    assert fingerprints(checkpoint.rename(tmp_path / "moved.pt")) == before
    checkpoint.write_bytes(b"WEIGHTS")
    os.utime(checkpoint, (0, 0))
    assert not set(fingerprints(checkpoint)) & set(before)


def test_another_published_denoiser_outdates_what_was_made_with_it(tmp_path):
    node, path = Node("train", ["params:denoiser_training"]), tmp_path / "denoiser.pth"

    def fingerprint(source):
        return node_fingerprint(
            node, {"params:denoiser_training": {"depth": 8, "source": source}}, {}
        )

    path.write_bytes(b"one")
    first = fingerprint(str(path))
    assert first == fingerprint(str(path))
    assert len({first, fingerprint("train"), fingerprint("packaged")}) == 3
    path.write_bytes(b"another")
    assert fingerprint(str(path)) != first


def test_named_classifiers_are_told_apart():
    node = Node("train", ["params:classifier_training"])
    fingerprints = {
        node_fingerprint(node, {node.inputs[0]: {"published": {"standard": name}}}, {})
        for name in ("torchvision:resnet50", "torchvision:resnet18")
    }
    assert len(fingerprints) == 2
