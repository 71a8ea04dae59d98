import dataclasses
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import skops.io
import torch
from control_toys import calibrated, noisy, photographs
from numpy.testing import assert_allclose
from safetensors.torch import save_file
from sklearn.tree import DecisionTreeClassifier

from superstar.actions import ACTIONS, DnCNN, save_denoiser
from superstar.control import Supervisor
from superstar.control.algorithm import Brakes, run_algorithm
from superstar.control.networks import Actor, SampledPolicy, save_actor
from superstar.control.supervisor_files import FILES, POINTS, TREE
from superstar.control.transitions import Transitions
from superstar.errors import InputError
from superstar.images import stream
from superstar.measures import Distance, Projection


def supervisor(actions=ACTIONS, operable: int = 1, **changes) -> Supervisor:
    torch.manual_seed(0)
    projection = Projection.create(
        "dct", n=24 * 32, m=40, seed=3, mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.3)
    )
    parts = {
        "actor": Actor(len(actions)),
        "tree": DecisionTreeClassifier(random_state=0).fit(np.zeros((2, 3)), [operable] * 2),
        "denoiser": DnCNN(depth=3, width=4) if "dncnn" in actions else None,
        "validation_points": projection(photographs(10, 24, 32, seed=9)),
        "projection": projection,
        "alpha": 0.5,
        "beta": 0.999,
        "horizon": 3,
        "actions": actions,
        "image_size": (24, 32),
        "benchmark": "photos",
    }
    return Supervisor(**(parts | changes))


def both(actions=ACTIONS) -> Supervisor:
    """One that holds the calibrated controller too."""
    return supervisor(actions, calibrated=calibrated(24, 32))


def shifted() -> torch.Tensor:
    return noisy(photographs(8, 24, 32), 0.3)


def prefer(name: str) -> Actor:
    actor = Actor(len(ACTIONS))
    with torch.no_grad():
        actor.linear3.weight.zero_()
        actor.linear3.bias.zero_()
        actor.linear3.bias[ACTIONS.index(name)] = 50
    return actor


def test_recovery_is_algorithm_1_with_the_supervisors_parts():
    ours = supervisor(actor=prefer("wavelet_bayes"))
    images = shifted()
    copy = images.clone()
    recovery = ours.recover(images, seed=2)
    transitions = Transitions(
        [images],
        ours.validation_points,
        ours.projection,
        denoiser=ours.denoiser,
        memory_limit=0,
    )
    brakes, rng = Brakes(0.5, 0.999, ours.tree, 3), stream(2, "recover")
    trace = run_algorithm(transitions, 0, SampledPolicy(ours.actor), brakes, rng)
    assert recovery.actions == trace.sequence
    assert "wavelet_bayes" in recovery.actions
    assert recovery.distances == trace.distances
    assert recovery.stopped_by == trace.stop_reason
    assert recovery.operable
    assert len(recovery.steps) == len(trace.steps)
    assert torch.equal(recovery.images, transitions.images(0, trace.prefix))
    assert torch.equal(images, copy)


def test_on_another_device_it_is_a_copy():
    ours = supervisor()
    assert ours.on("cpu") is ours
    there = ours.on("meta")
    assert there.denoiser is not ours.denoiser
    assert next(there.denoiser.parameters()).is_meta
    assert not next(ours.denoiser.parameters()).is_meta
    without = supervisor(("nop", "wavelet_bayes"))
    assert without.on("meta") is without


def test_environment_and_transitions_are_of_its_parts():
    ours = supervisor(("nop", "wavelet_bayes"))
    batches = [shifted(), photographs(8, 24, 32)]
    env = ours.environment(batches, ssim_weight=4.0, ssim_threshold=0.99)
    assert (env.actions, env.horizon, env.alpha) == (ours.actions, 3, 0.5)
    _, info = env.reset(options={"batch": 0})
    transitions = ours.transitions(batches, memory_limit=0)
    assert transitions.actions == ours.actions
    assert transitions.distance_at(0) == info["distance"] == ours.recover(batches[0]).distances[0]


def test_it_abstains_where_it_cannot_help():
    images = shifted()
    recovery = supervisor(operable=0).recover(images)
    assert recovery.actions == ()
    assert not recovery.operable
    assert recovery.stopped_by == "inoperable"
    assert torch.equal(recovery.images, images)


@pytest.mark.parametrize("actions", [ACTIONS, ("nop", "wavelet_bayes", "clahe_2_1")])
def test_a_supervisor_survives_the_disk(tmp_path, actions):
    ours = both(actions)
    path = tmp_path / "deep" / "supervisor"
    ours.save(path)
    written = {entry.name for entry in path.iterdir()}
    assert written == (FILES if "dncnn" in actions else FILES - {"denoiser.safetensors"})
    theirs = Supervisor.load(path)
    for name in ("alpha", "beta", "horizon", "actions", "image_size", "benchmark"):
        assert getattr(theirs, name) == getattr(ours, name)
    assert torch.equal(theirs.validation_points, ours.validation_points)
    images = shifted()
    assert_allclose(theirs.projection(images), ours.projection(images))
    assert theirs.controllers == ours.controllers == ("paper", "calibrated")
    for seed, controller in product(range(3), ours.controllers):
        first, second = (each.recover(images, seed, controller) for each in (ours, theirs))
        assert first.plan == second.plan
        assert first.distances == second.distances
        assert torch.equal(first.images, second.images)


def test_the_distance_is_the_supervisors_own(tmp_path):
    sliced = Distance.create("sliced_wasserstein", p=2, directions=20)
    ours = supervisor(distance=sliced)
    ours.save(tmp_path / "supervisor")
    theirs = Supervisor.load(tmp_path / "supervisor")
    assert theirs.distance == sliced
    images = shifted()
    first = sliced(ours.validation_points, ours.projection(images))
    assert ours.recover(images).distances[0] == theirs.recover(images).distances[0] == first
    assert supervisor(distance="sliced_wasserstein").distance == Distance.of("sliced_wasserstein")


def test_a_folder_that_names_no_distance_has_the_papers(tmp_path, saved):
    older = tmp_path / "older"
    shutil.copytree(saved, older)
    spec = json.loads((saved / "supervisor.json").read_text())
    assert spec.pop("distance") == {"kind": "wasserstein", "p": 1}
    (older / "supervisor.json").write_text(json.dumps(spec))
    assert Supervisor.load(older).distance == Distance.of("wasserstein")


def test_saving_again_replaces_the_folder_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "supervisor"
    supervisor().save(path)
    supervisor(("nop", "bilateral"), beta=0.9).save(path)
    assert Supervisor.load(path).beta == 0.9
    assert not (path / "denoiser.safetensors").exists()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_save_leaves_the_former_supervisor(tmp_path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "supervisor"
    supervisor().save(path)

    def fail(*arguments) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("superstar.control.supervisor_files.save_tree", fail)
    with pytest.raises(OSError, match="disk full"):
        supervisor(beta=0.9).save(path)
    assert Supervisor.load(path).beta == 0.999
    assert list(tmp_path.iterdir()) == [path]


def test_other_peoples_folders_are_not_replaced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        supervisor().save(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        supervisor().save(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_folders_within_a_supervisor_are_not_its_own(tmp_path):
    notes = tmp_path / "actor.safetensors" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    with pytest.raises(InputError, match=r"actor\.safetensors"):
        supervisor().save(tmp_path)
    with pytest.raises(InputError, match=r"notes\.txt is a file"):
        supervisor().save(notes / "below")
    assert notes.read_text() == "mine"


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    supervisor().save(link)
    supervisor(beta=0.9).save(link)
    assert link.is_symlink()
    assert Supervisor.load(target).beta == 0.9


def test_whoever_may_read_one_file_may_read_all(saved):
    assert len({(saved / name).stat().st_mode for name in FILES}) == 1


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("supervisor") / "whole"
    both().save(path)
    return path


@pytest.mark.parametrize("name", sorted(FILES))
def test_damaged_folders_are_refused_by_the_files_name(tmp_path, saved, name: str):
    broken = tmp_path / "broken"
    shutil.copytree(saved, broken)
    content = (saved / name).read_bytes()
    for kept in (content[: len(content) // 2], content[:-3], b"", b"GIF89a"):
        (broken / name).write_bytes(kept)
        with pytest.raises(InputError, match=name) as refusal:
            Supervisor.load(broken)
        assert "\n" not in str(refusal.value)
    (broken / name).unlink()
    with pytest.raises(InputError, match=name):
        Supervisor.load(broken)


def test_parts_of_another_supervisor_are_refused(tmp_path, saved):
    broken = tmp_path / "broken"
    shutil.copytree(saved, broken)
    save_actor(Actor(2), broken / "actor.safetensors", ("nop", "bilateral"))
    with pytest.raises(InputError, match=r"actor\.safetensors was trained for"):
        Supervisor.load(broken)
    shutil.copy(saved / "actor.safetensors", broken)
    save_file({"other": torch.zeros(2, 2)}, broken / "validation_points.safetensors")
    with pytest.raises(InputError, match=r"validation_points\.safetensors"):
        Supervisor.load(broken)
    save_file({"points": torch.zeros(9, 39)}, broken / "validation_points.safetensors")
    with pytest.raises(InputError, match=r"validation_points\.safetensors.*another"):
        Supervisor.load(broken)


def test_networks_and_points_of_other_types_are_refused(tmp_path, saved):
    broken = tmp_path / "broken"
    shutil.copytree(saved, broken)
    save_denoiser(DnCNN(depth=3, width=4).half(), broken / "denoiser.safetensors")
    with pytest.raises(InputError, match=r"denoiser.*is torch\.float16, not torch\.float32"):
        Supervisor.load(broken)
    shutil.copy(saved / "denoiser.safetensors", broken)
    save_file({"points": torch.zeros(9, 40, dtype=torch.int16)}, broken / POINTS)
    with pytest.raises(InputError, match="must be float32 or float64"):
        Supervisor.load(broken)
    shutil.copy(saved / POINTS, broken)
    skops.io.dump(DecisionTreeClassifier(), broken / TREE)
    with pytest.raises(InputError, match=r"tree\.skops is not an operability tree"):
        Supervisor.load(broken)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("beta", 1.5),
        ("horizon", 0),
        ("format", "something"),
        ("version", 3),
        ("image_size", [24]),
        ("image_size", [24, 24]),
        ("projection", {}),
        ("projection", {"kind": "unheard-of"}),
        ("distance", {"kind": "waserstein"}),
        ("distance", {"kind": "wasserstein", "p": 3}),
        ("distance", {}),
        ("distance", {"kind": "aline_d"}),
        ("surprise", 1),
    ],
)
def test_foreign_settings_are_refused(tmp_path, saved, key: str, value):
    broken = tmp_path / "broken"
    shutil.copytree(saved, broken)
    spec = json.loads((saved / "supervisor.json").read_text())
    (broken / "supervisor.json").write_text(json.dumps(spec | {key: value}))
    with pytest.raises(InputError, match=r"supervisor\.json"):
        Supervisor.load(broken)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="no supervisor at"):
        Supervisor.load(tmp_path / "nowhere")


def test_images_of_another_size_are_refused():
    ours = supervisor()
    with pytest.raises(InputError, match="32x24"):
        ours.recover(photographs(2, 32, 24))
    with pytest.raises(InputError, match="float32"):
        ours.recover(shifted().double())
    for seed in (-1, 1.5, None, True):
        with pytest.raises(InputError, match="a seed must be a whole number"):
            ours.recover(shifted(), seed=seed)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beta": 0.0}, "beta"),
        ({"distance": "aline_d"}, "asks classifiers"),
        ({"distance": "waserstein"}, "did you mean 'wasserstein'"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"horizon": float("nan")}, "horizon"),
        ({"alpha": None}, "alpha must be a number"),
        ({"beta": "0.9"}, "beta must be a number"),
        ({"tree": None}, "must be a decision tree"),
        ({"actions": ("nop", "bilateral")}, "8 actions"),
        ({"denoiser": None}, "denoiser"),
        ({"validation_points": torch.zeros(40)}, "validation points"),
        ({"validation_points": torch.zeros(9, 39)}, "validation points"),
        ({"validation_points": torch.full((9, 40), torch.nan)}, "NaN"),
        ({"image_size": (8, 96)}, "image size"),
        ({"image_size": (32, 32)}, "image size"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message: str):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(supervisor(), **changes)


def test_abstaining_hands_out_a_copy():
    inoperable = supervisor(operable=0)
    images = torch.full((4, 3, *inoperable.image_size), 0.5)
    recovery = inoperable.recover(images)
    assert recovery.actions == ()
    assert torch.equal(recovery.images, images)
    assert recovery.images.data_ptr() != images.data_ptr()


def test_the_working_directory_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (".", ".."):
        with pytest.raises(InputError, match="where this process works"):
            supervisor().save(path)
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(InputError, match="link that leads nowhere"):
        supervisor().save("one")
    assert Path.cwd() == tmp_path


def test_threads_that_ask_together_leave_their_number_as_it_was():
    actor, states = Actor(4), torch.zeros(3)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: actor.probabilities(states.numpy()), range(400)))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


# The calibrated controller.


def test_either_controller_corrects_on_demand():
    images, ours = photographs(30, 24, 32) ** 3, both()
    recovery = ours.recover(images, controller="calibrated")
    assert recovery.stopped_by in {"home", "no_gain", "horizon"}
    assert recovery.operable
    assert recovery.p_value == ours.calibrated.gate.smallest_rate
    assert recovery.actions == recovery.plan.names == ("match_tone",)
    assert torch.equal(recovery.images, recovery.plan.apply(images))
    assert ours.recover(images).plan == supervisor().recover(images).plan
    assert supervisor().recover(images).p_value is None


def test_a_controller_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="unknown controller 'calibrated'"):
        supervisor().recover(shifted(), controller="calibrated")


def test_the_controllers_of_one_supervisor_are_for_images_of_one_size():
    with pytest.raises(InputError, match=r"24x32 pixels, those of the controller .* 32x32"):
        supervisor(calibrated=calibrated(32, 32))


def test_clean_images_are_handed_out_in_other_memory():
    clean = photographs(30, 24, 32, seed=4)
    recovery = both().recover(clean, controller="calibrated")
    assert not recovery.operable
    assert recovery.stopped_by == "clean"
    assert torch.equal(recovery.images, clean)
    assert recovery.images.data_ptr() != clean.data_ptr()
