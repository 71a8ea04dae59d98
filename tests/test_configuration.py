"""Paths of configuration start at the project, whoever reads it and from where."""

from pathlib import Path

import pytest

from superstar.configuration import PATHS, ProjectConfigLoader
from superstar.parameters import is_text

BASE = {"base_env": "base", "default_run_env": "test", "merge_strategy": {"parameters": "soft"}}


def loader(root: Path, **runtime_params: object) -> ProjectConfigLoader:
    files = {
        "base/globals.yml": "images: some/images\nmore: {a: x/../y, b: /z}\nnone: null\nhome: ~/x",
        "base/parameters.yml": "seed: 0\ndenoiser_training: {source: packaged}\n"
        "classifier_training: {published: {standard: timm:resnet50}}",
        "base/catalog.yml": "one: ${from_project:${globals:images}}\n"
        "several: ${from_project:${globals:more}}\nnone: ${from_project:${globals:none}}\n"
        "home: ${from_project:${globals:home}}\n"
        "given: ${given_path:${runtime_params:corrupt.input, input}}\n"
        "url: 'sqlite:///${project_url:mlflow.db}'\nplace: '${project_path:data}'",
        "test/parameters.yml": "seed: 3",
    }
    for name, text in files.items():
        path = root / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ProjectConfigLoader(str(root / "conf"), runtime_params=runtime_params, **BASE)


def test_relative_paths_start_at_the_project(tmp_path, monkeypatch):
    read = loader(tmp_path)["catalog"]
    assert read["one"] == f"{tmp_path}/some/images"
    assert read["several"] == {"a": f"{tmp_path}/y", "b": "/z"}
    assert read["none"] is None
    assert read["home"] == str((Path.home() / "x").resolve())
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert loader(tmp_path)["catalog"] == read


def test_those_of_parameters_too(tmp_path):
    read = loader(
        tmp_path,
        denoiser_training={"source": "a.pth"},
        classifier_training={"published": {"augmix": {"path": "../b.pt", "layout": "augmix"}}},
        corrupt={"input": "2024", "output": "~"},
    )
    assert read["catalog"]["given"] == f"{tmp_path}/2024"
    parameters = read["parameters"]
    assert parameters["denoiser_training"]["source"] == f"{tmp_path}/a.pth"
    published = parameters["classifier_training"]["published"]
    assert published["augmix"]["path"] == f"{tmp_path.parent}/b.pt"
    assert published["standard"] == "timm:resnet50"
    assert parameters["corrupt"] == {"input": f"{tmp_path}/2024", "output": str(Path.home())}


def test_a_word_in_the_place_of_a_path_is_none(tmp_path):
    assert loader(tmp_path)["parameters"]["denoiser_training"]["source"] == "packaged"
    given = loader(tmp_path, denoiser_training={"source": "train"}, corrupt={"input": "train"})
    parameters = given["parameters"]
    assert parameters["denoiser_training"]["source"] == "train"
    assert parameters["corrupt"]["input"] == f"{tmp_path}/train"


def test_paths_are_parameters_that_there_are():
    assert all(is_text(path.replace("*", "augmix")) for path in PATHS)


def test_a_path_is_what_it_leads_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    reader = loader(tmp_path)
    assert reader.from_project("new/../link") == str(tmp_path / "folder")
    assert reader.from_project("~no_such_user") == str(tmp_path / "~no_such_user")


def test_projects_of_one_process_do_not_mix(tmp_path):
    first, second = loader(tmp_path / "a"), loader(tmp_path / "b")
    assert second["catalog"]["place"] == f"{tmp_path}/b/data"
    assert first["catalog"]["place"] == f"{tmp_path}/a/data"
    assert first["catalog"]["one"] == f"{tmp_path}/a/some/images"


def test_the_session_names_the_project(tmp_path):
    elsewhere = loader(tmp_path / "a")
    elsewhere.project = tmp_path / "b"
    assert elsewhere["catalog"]["place"] == f"{tmp_path}/b/data"


def test_defaults_are_those_of_the_files(tmp_path):
    reader = loader(tmp_path, seed=5)
    assert reader["parameters"]["seed"] == 5
    assert reader.defaults()["seed"] == 3
    assert reader["parameters"]["seed"] == 5


@pytest.mark.parametrize("name", ["job%2Fx", "a?b", "50%", "a b", "é", "a#b"])
def test_a_store_opens_below_a_folder_of_any_name(name, tmp_path):
    from sqlalchemy import create_engine

    root = tmp_path / name
    with create_engine(loader(root)["catalog"]["url"]).connect() as connection:
        connection.exec_driver_sql("create table t(x)")
    assert (root / "mlflow.db").is_file()
