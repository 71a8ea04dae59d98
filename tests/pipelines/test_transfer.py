"""Policies of other benchmarks, evaluated as they are."""

import shutil

import pandas as pd
import pytest

from superstar.datasets import TransferredPoliciesDataset
from superstar.errors import InputError


def take_policies(project, *names: str) -> None:
    globals_file = project.root / "conf" / "test" / "globals.yml"
    globals_file.write_text(f"benchmark: test\npolicies_from: [{', '.join(names)}]\n")


def test_an_equal_policy_from_elsewhere_does_the_same(project_copy):
    actor = project_copy.data("06_models/actor.safetensors")
    place = project_copy.root / "data" / "06_models" / "elsewhere" / "actor.safetensors"
    place.parent.mkdir()
    shutil.copy(actor, place)
    take_policies(project_copy, "elsewhere")
    outcome = project_copy.run("--only-missing-outputs")
    assert outcome.returncode == 0, outcome.stderr
    assert "evaluate done" in outcome.stderr
    assert "train_policy" not in outcome.stderr
    own, other = (
        pd.read_parquet(project_copy.data(f"07_model_output/{name}_results.parquet"))
        for name in ("evaluation", "transfer")
    )
    assert other["policy"].eq("elsewhere").all()
    pd.testing.assert_frame_equal(other.drop(columns="policy"), own)
    table = pd.read_csv(project_copy.data("08_reporting/transfer_table.csv"))
    assert set(table["shift"]) == {*own["shift"], "mean"}
    page = project_copy.data("08_reporting/report.md").read_text()
    assert "## With the policy of elsewhere" in page


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
    dataset = TransferredPoliciesDataset(folder=str(tmp_path), benchmarks=["one"])
    actor, actions = dataset.load()["one"]
    assert actor.n_actions == len(actions)
    known = dataset.identity()
    (tmp_path / "one" / "actor.safetensors").write_bytes(source.read_bytes()[:-1])
    assert dataset.identity() != known
    with pytest.raises(InputError, match="damaged"):
        dataset.check()
    (tmp_path / "one" / "actor.safetensors").unlink()
    assert dataset.identity() != known
