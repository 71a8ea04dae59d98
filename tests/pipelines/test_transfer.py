"""Policies of other benchmarks and published ones, evaluated as they are."""

import shutil

import pandas as pd
import pytest
import torch

from projects import make_project
from superstar.control.networks import Actor, Critic, load_actor
from superstar.datasets import TransferredPoliciesDataset
from superstar.digests import Digests
from superstar.errors import InputError


def take_policies(project, *names: str, published: str = "{}") -> None:
    globals_file = project.root / "conf" / "test" / "globals.yml"
    globals_file.write_text(
        f"benchmark: test\npolicies_from: [{', '.join(names)}]\npublished_policies: {published}\n"
    )


def test_equal_policies_from_elsewhere_do_the_same(project_copy):
    actor = project_copy.data("06_models/actor.safetensors")
    place = project_copy.root / "data" / "06_models" / "elsewhere" / "actor.safetensors"
    place.parent.mkdir()
    shutil.copy(actor, place)
    file = project_copy.root / "data" / "01_raw" / "actor_network.pth.tar"
    file.parent.mkdir(exist_ok=True)
    torch.save(load_actor(actor)[0].state_dict(), file)
    # A path of the project, from wherever the command is given.
    take_policies(project_copy, "elsewhere", published=f"{{theirs: data/01_raw/{file.name}}}")
    outcome = project_copy.run("--only-missing-outputs")
    assert outcome.returncode == 0, outcome.stderr
    assert "evaluate done" in outcome.stderr
    assert "train_policy" not in outcome.stderr
    own, other = (
        pd.read_parquet(project_copy.data(f"07_model_output/{name}_results.parquet"))
        for name in ("evaluation", "transfer")
    )
    own = own[own["controller"] == "paper"].reset_index(drop=True)
    assert set(other["policy"]) == {"elsewhere", "theirs"}
    for _, results in other.groupby("policy"):
        results = results.drop(columns="policy").reset_index(drop=True)
        pd.testing.assert_frame_equal(results, own)
    table = pd.read_csv(project_copy.data("08_reporting/transfer_table.csv"))
    assert set(table["shift"]) == set(own["shift"])
    page = project_copy.data("08_reporting/report.md").read_text()
    assert "The policy of `elsewhere` as it is" in page
    assert "The policy of `theirs` as it is" in page


def test_a_benchmark_without_a_policy_is_refused_before_any_work(project_copy):
    take_policies(project_copy, "imagenet")
    outcome = project_copy.run()
    assert outcome.returncode != 0
    assert "globals.policies_from names 'imagenet'" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "prepare_clean_sets" not in outcome.stderr


def test_policies_are_told_apart_by_their_files(finished_run, tmp_path):
    source = finished_run.data("06_models/actor.safetensors")
    shutil.copytree(source.parent, tmp_path / "one", ignore=shutil.ignore_patterns("superv*"))
    dataset = TransferredPoliciesDataset(folder=str(tmp_path), benchmarks=["one"], published={})
    actor, actions = dataset.load()["one"]
    assert actor.n_actions == len(actions)
    known = dataset.identity(Digests())
    (tmp_path / "one" / "actor.safetensors").write_bytes(source.read_bytes()[:-1])
    assert dataset.identity(Digests()) != known
    with pytest.raises(InputError, match="damaged"):
        dataset.check()
    (tmp_path / "one" / "actor.safetensors").unlink()
    assert dataset.identity(Digests()) != known


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"published_policies names 'theirs', but there is no policy \S+: put it there"),
        ({}, "holds no state dict"),
        (Critic().state_dict(), r"linear3.weight is \(1, 256\) instead of \(8, 256\)"),
        (Actor(7).state_dict(), r"linear3.weight is \(7, 256\) instead of \(8, 256\)"),
        (b"<html>not found</html>", "not a checkpoint"),
    ],
)
def test_published_files_without_a_policy_are_refused(content, message, tmp_path):
    file = tmp_path / "actor.pth"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        torch.save(content, file)
    dataset = TransferredPoliciesDataset(
        folder=str(tmp_path), benchmarks=[], published={"theirs": str(file)}
    )
    with pytest.raises(InputError, match=message) as caught:
        dataset.check()
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("published", "message"),
    [
        ("actor.pth", "must give files by name, such as .* not 'actor.pth'"),
        (["actor.pth"], "must give files by name"),
        ({"theirs": {"path": "actor.pth"}}, "must give files by name"),
        ({"photos": "actor.pth"}, "both name 'photos': rename"),
    ],
)
def test_published_policies_have_names_of_their_own(published, message, tmp_path):
    with pytest.raises(InputError, match=message):
        TransferredPoliciesDataset(folder=str(tmp_path), benchmarks=["photos"], published=published)


@pytest.mark.parametrize("benchmarks", [[1], "photos", {"photos": 1}, [None], [""]])
def test_benchmarks_are_a_list_of_names(benchmarks, tmp_path):
    with pytest.raises(InputError, match=r"globals\.policies_from must list names"):
        TransferredPoliciesDataset(folder=str(tmp_path), benchmarks=benchmarks, published={})


def test_null_names_no_policies(tmp_path):
    dataset = TransferredPoliciesDataset(folder=str(tmp_path), benchmarks=None, published=None)
    dataset.check()
    assert dataset.load() == {}


@pytest.mark.parametrize(
    ("benchmarks", "published", "setting"),
    [
        ([1], None, "policies_from"),
        ("photos", None, "policies_from"),
        (None, [1], "published_policies"),
    ],
)
def test_what_names_no_policies_is_refused(benchmarks, published, setting, tmp_path):
    with pytest.raises(InputError, match=rf"globals\.{setting} must "):
        TransferredPoliciesDataset(folder=str(tmp_path), benchmarks=benchmarks, published=published)


def test_what_names_no_policies_is_refused_in_one_line(tmp_path):
    project = make_project(tmp_path / "project")
    globals_ = project.root / "conf" / "test" / "globals.yml"
    globals_.write_text("benchmark: test\npublished_policies: {theirs: 1}\n")
    outcome = project.run()
    assert outcome.returncode != 0
    assert "error: globals.published_policies must " in outcome.stderr
    assert "Traceback" not in outcome.stderr
